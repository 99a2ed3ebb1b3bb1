import Glibc
import Synchronization

/// A TCP port of 127.0.0.1 that nobody listens on: each once, and below those that the kernel gives to
/// connections. (Two of 2,000 pairs once met on one port of the kernel's choice.)
package func freePort() -> UInt16 {
  while true {
    let number = nextPort.add(1, ordering: .relaxed).newValue
    let port = UInt16(20_000 + number % 12_000)
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = loopback(port)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == 0 { return port }
  }
}

/// Processes whose numbers are near each other begin at least 400 ports apart: tests that run side by side met
/// on one when they were 64 a number.
private let nextPort = Atomic(Int(getpid()) * 7417)

/// 127.0.0.1 with a port.
package func loopback(_ port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  address.sin_port = port.bigEndian
  return address
}
