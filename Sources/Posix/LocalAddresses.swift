internal import Glibc

/// What this machine calls itself, and where it can be reached.
package enum LocalAddresses {
  /// The host's name in lower case, as others may write it in a URL.
  package static var hostName: String {
    var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
    guard unsafe gethostname(&name, name.count) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      .lowercased()
  }

  /// The addresses under which a listener on `address` is reached, loopback first: `address`
  /// itself, or all of the interfaces for a wildcard. IPv6 link-local ones are left out, since no
  /// browser takes their scope.
  package static func reaching(_ address: SocketAddress) -> [SocketAddress] {
    guard address.isWildcard else { return [address] }
    var found = [SocketAddress(bytes: [127, 0, 0, 1], port: address.port)]
    for var other in interfaceAddresses where address.isIPv6 || !other.isIPv6 {
      other.port = address.port
      if !other.isLoopback, !other.isLinkLocal, !found.contains(other) { found.append(other) }
    }
    return found
  }

  private static var interfaceAddresses: [SocketAddress] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&list) == 0 else { return [] }
    defer { unsafe freeifaddrs(list) }
    var found: [SocketAddress] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let address = unsafe entry.pointee.ifa_addr.flatMap({ unsafe SocketAddress($0) }) {
        found.append(address)
      }
      unsafe next = entry.pointee.ifa_next
    }
    return found
  }
}
