import CSystemd
import Glibc

/// A D-Bus value, as far as the portal speaks: what we send, and what we read of a reply.
indirect enum BusValue: Equatable, Sendable {
  case string(String)
  case path(String)
  case uint32(UInt32)
  case bool(Bool)
  /// These three only to send.
  case int32(Int32)
  case byte(UInt8)
  case strings([String])
  /// Any other number, a descriptor's included; that one is the message's.
  case number(Int64)
  /// An array or a struct.
  case list([BusValue])
  /// `a{sv}`.
  case options([String: BusValue])

  var text: String? {
    switch self {
    case .string(let text), .path(let text): text
    default: nil
    }
  }

  var unsigned: UInt32? {
    if case .uint32(let number) = self { number } else { nil }
  }

  var truth: Bool? {
    if case .bool(let flag) = self { flag } else { nil }
  }

  /// Of numbers that are kept as such, which `unsigned` ones are not.
  var integer: Int64? {
    if case .number(let number) = self { number } else { nil }
  }

  subscript(key: String) -> BusValue? {
    if case .options(let entries) = self { entries[key] } else { nil }
  }

  subscript(index: Int) -> BusValue? {
    if case .list(let values) = self, values.indices.contains(index) { values[index] } else { nil }
  }
}

/// A D-Bus call that failed; `name` is the D-Bus error's, or libsystemd's function.
struct BusError: Error, Equatable, CustomStringConvertible {
  let name: String
  let message: String

  init(name: String, message: String) {
    self.name = name
    self.message = message
  }

  /// For a negative errno of libsystemd.
  init(_ call: String, _ result: Int32) {
    self.init(name: call, message: unsafe String(cString: strerror(-result)))
  }

  var description: String { "\(name): \(message)" }
}

@discardableResult
func check(_ result: Int32, bus call: String) throws(BusError) -> Int32 {
  guard result >= 0 else { throw BusError(call, result) }
  return result
}

extension BusValue {
  /// Adds the value to a message that is being built.
  func append(to message: OpaquePointer) throws(BusError) {
    switch self {
    case .string(let text): try unsafe appendText(text, "s", to: message)
    case .path(let text): try unsafe appendText(text, "o", to: message)
    case .uint32(var number): try unsafe append("u", &number, to: message)
    case .bool(let flag):
      var wide: Int32 = flag ? 1 : 0
      try unsafe append("b", &wide, to: message)
    case .int32(var number): try unsafe append("i", &number, to: message)
    case .byte(var number): try unsafe append("y", &number, to: message)
    case .strings(let texts):
      try unsafe container("a", "s", in: message) { () throws(BusError) in
        for text in texts { try unsafe appendText(text, "s", to: message) }
      }
    case .options(let entries):
      try unsafe container("a", "{sv}", in: message) { () throws(BusError) in
        for (key, value) in entries {
          try unsafe container("e", "sv", in: message) { () throws(BusError) in
            try unsafe appendText(key, "s", to: message)
            try unsafe container("v", value.signature, in: message) { () throws(BusError) in
              try unsafe value.append(to: message)
            }
          }
        }
      }
    case .number, .list: preconditionFailure("nothing that we call takes such an argument")
    }
  }

  /// Reads the next value of a message; nil at the end of a container.
  static func read(from message: OpaquePointer) throws(BusError) -> BusValue? {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    let found = unsafe sd_bus_message_peek_type(message, &type, &contents)
    guard try check(found, bus: "sd_bus_message_peek_type") > 0 else { return nil }
    let kind = UnicodeScalar(UInt8(bitPattern: type))
    switch kind {
    case "s", "o", "g":
      var text: UnsafePointer<CChar>?
      try check(unsafe sd_bus_message_read_basic(message, type, &text), bus: "read")
      let string = unsafe text.map { unsafe String(cString: $0) } ?? ""
      return kind == "o" ? .path(string) : .string(string)
    case "u":
      var number: UInt32 = 0
      try check(unsafe sd_bus_message_read_basic(message, type, &number), bus: "read")
      return .uint32(number)
    case "b":
      var flag: Int32 = 0
      try check(unsafe sd_bus_message_read_basic(message, type, &flag), bus: "read")
      return .bool(flag != 0)
    case "a", "r", "e", "v":
      try check(unsafe sd_bus_message_enter_container(message, type, contents), bus: "read")
      var values: [BusValue] = []
      while let value = try unsafe read(from: message) { values.append(value) }
      try check(unsafe sd_bus_message_exit_container(message), bus: "read")
      if kind == "v" { return values.first }
      let isOptions =
        unsafe kind == "a" && contents.map { unsafe $0[0] } == CChar(UInt8(ascii: "{"))
      return isOptions ? .options(entries(values)) : .list(values)
    default:
      // Every other basic type is a number of eight bytes at most; x86-64 and arm64 have its low
      // bytes first.
      var number: Int64 = 0
      try check(unsafe sd_bus_message_read_basic(message, type, &number), bus: "read")
      return .number(number)
    }
  }

  private static func entries(_ pairs: [BusValue]) -> [String: BusValue] {
    var entries: [String: BusValue] = [:]
    for pair in pairs {
      if let key = pair[0]?.text, let value = pair[1] { entries[key] = value }
    }
    return entries
  }

  private var signature: String {
    switch self {
    case .string: "s"
    case .path: "o"
    case .uint32: "u"
    case .bool: "b"
    case .int32: "i"
    case .byte: "y"
    case .strings: "as"
    case .options: "a{sv}"
    case .number, .list: preconditionFailure("nothing that we call takes such an argument")
    }
  }

  private func append(
    _ type: UnicodeScalar, _ value: UnsafeRawPointer, to message: OpaquePointer
  ) throws(BusError) {
    let result = unsafe sd_bus_message_append_basic(message, CChar(type.value), value)
    try check(result, bus: "sd_bus_message_append_basic")
  }

  private func appendText(
    _ text: String, _ type: UnicodeScalar, to message: OpaquePointer
  ) throws(BusError) {
    let result = unsafe text.withCString {
      unsafe sd_bus_message_append_basic(message, CChar(type.value), $0)
    }
    try check(result, bus: "sd_bus_message_append_basic")
  }

  private func container(
    _ type: UnicodeScalar, _ contents: String, in message: OpaquePointer,
    _ body: () throws(BusError) -> Void
  ) throws(BusError) {
    let opened = unsafe sd_bus_message_open_container(message, CChar(type.value), contents)
    try check(opened, bus: "sd_bus_message_open_container")
    try body()
    try check(
      unsafe sd_bus_message_close_container(message), bus: "sd_bus_message_close_container")
  }
}
