/// How logs and the status write a session's id, on either side of the link: 16 hexadecimal digits.
package enum SessionName {
  package static func of(_ id: UInt64) -> String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
