import Glibc

/// The socket of a service manager, which a test plays: sd_notify(3)'s far end.
package final class NotifySocket {
  private let fd: Int32
  /// Each datagram's lines, and when they came.
  package private(set) var heard: [(line: String, at: ContinuousClock.Instant)] = []

  /// Binds to `name`: a path, or behind `@` a name that is in no file system.
  package init(_ name: String) throws {
    fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, length) }
    }
    guard result == 0 else {
      throw ProcessFailure(description: "bind \(name): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(fd) }

  /// Waits for a line that `claim` is true of, among all that came.
  package func wait(
    for what: String, within limit: Duration = .seconds(10), _ claim: (String) -> Bool
  ) throws {
    do {
      try waitUntil(
        what, within: limit,
        isTrue: {
          read()
          return heard.contains { claim($0.line) }
        })
    } catch { throw ProcessFailure(description: "\(error), only \(heard.map(\.line))") }
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while case let count = recv(fd, &bytes, bytes.count, Int32(MSG_DONTWAIT)), count > 0 {
      for line in bytes[..<count].split(separator: UInt8(ascii: "\n")) {
        heard.append((String(decoding: line, as: UTF8.self), .now))
      }
    }
  }
}
