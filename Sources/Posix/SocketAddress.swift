internal import Glibc

/// An IPv4 or IPv6 address with a port, as `127.0.0.1:13579` or `[::1]:13579`.
package struct SocketAddress: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// Four or sixteen bytes in network order.
  package let bytes: [UInt8]
  package var port: UInt16

  package init(bytes: [UInt8], port: UInt16) {
    precondition(bytes.count == 4 || bytes.count == 16, "an address has 4 or 16 bytes")
    self.bytes = bytes
    self.port = port
  }

  /// nil when `text` is no numeric address with a port.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
      var address = in6_addr()
      guard unsafe inet_pton(AF_INET6, host, &address) == 1 else { return nil }
      bytes = unsafe withUnsafeBytes(of: &address) { unsafe Array($0) }
    } else {
      var address = in_addr()
      guard unsafe inet_pton(AF_INET, host, &address) == 1 else { return nil }
      bytes = unsafe withUnsafeBytes(of: &address) { unsafe Array($0) }
    }
    self.port = port
  }

  package var isIPv6: Bool { bytes.count == 16 }

  /// 127.0.0.0/8 and ::1, and the former mapped into IPv6.
  package var isLoopback: Bool {
    if !isIPv6 { return bytes[0] == 127 }
    if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] == 1 }
    return Array(bytes[..<12]) == Self.mappedPrefix && bytes[12] == 127
  }

  /// 0.0.0.0 or ::, which stand for all addresses of the machine.
  package var isWildcard: Bool { bytes.allSatisfy { $0 == 0 } }

  /// fe80::/10, good only together with an interface.
  var isLinkLocal: Bool { isIPv6 && bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 }

  private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

  /// The address without its port.
  package var host: String {
    if !isIPv6 { return bytes.map(String.init).joined(separator: ".") }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let written = unsafe bytes.withUnsafeBytes { address in
      unsafe inet_ntop(AF_INET6, address.baseAddress, &text, socklen_t(text.count)) != nil
    }
    precondition(written, "sixteen bytes are an IPv6 address")
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }

  /// The address without its port, as a URL has it.
  package var urlHost: String { isIPv6 ? "[\(host)]" : host }

  package var description: String { "\(urlHost):\(port)" }

  /// Calls `body` with the C form, valid during the call.
  func withSockaddr<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var storage = sockaddr_storage()
    return unsafe withUnsafeMutableBytes(of: &storage) { raw in
      let length: Int
      if isIPv6 {
        let address = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self)
        unsafe address[0].sin6_family = sa_family_t(AF_INET6)
        unsafe address[0].sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address[0].sin6_addr) {
          unsafe $0.copyBytes(from: bytes)
        }
        length = MemoryLayout<sockaddr_in6>.size
      } else {
        let address = unsafe raw.assumingMemoryBound(to: sockaddr_in.self)
        unsafe address[0].sin_family = sa_family_t(AF_INET)
        unsafe address[0].sin_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address[0].sin_addr) { unsafe $0.copyBytes(from: bytes) }
        length = MemoryLayout<sockaddr_in>.size
      }
      return unsafe body(
        raw.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t(length))
    }
  }

  /// What `fill` (getsockname, getpeername) writes; nil for other families or a failure.
  private static func read(
    _ fill: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutableBytes(of: &storage) { raw in
      let address = unsafe raw.assumingMemoryBound(to: sockaddr.self).baseAddress!
      guard unsafe fill(address, &length) == 0 else { return nil }
      return unsafe SocketAddress(address)
    }
  }

  /// From the C form, which must be as long as its family says; nil for other families.
  init?(_ address: UnsafePointer<sockaddr>) {
    let raw = unsafe UnsafeRawPointer(address)
    switch Int32(unsafe address.pointee.sa_family) {
    case AF_INET:
      var address = unsafe raw.loadUnaligned(as: sockaddr_in.self)
      bytes = unsafe withUnsafeBytes(of: &address.sin_addr) { unsafe Array($0) }
      port = UInt16(bigEndian: address.sin_port)
    case AF_INET6:
      var address = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
      bytes = unsafe withUnsafeBytes(of: &address.sin6_addr) { unsafe Array($0) }
      port = UInt16(bigEndian: address.sin6_port)
    default: return nil
    }
  }

  /// Our end of the connected or bound socket `fd`.
  package static func local(of fd: Int32) -> SocketAddress? {
    unsafe read { unsafe getsockname(fd, $0, &$1) }
  }

  /// The other end of the connected socket `fd`.
  package static func peer(of fd: Int32) -> SocketAddress? {
    unsafe read { unsafe getpeername(fd, $0, &$1) }
  }
}
