internal import CLinux
internal import Glibc

/// The listening sockets that a service manager opened for this process: sd_listen_fds(3)'s protocol.
package struct PassedSockets: ~Copyable {
  private struct Entry {
    let fd: Int32
    let name: String
    let address: SocketAddress
  }

  private var entries: [Entry] = []

  // The first of them, after the standard three.
  private static let firstDescriptor: Int32 = 3
  // More than any unit of ours has; what lies behind it is no descriptor of this protocol.
  private static let mostDescriptors: Int32 = 16

  /// Takes over what was passed, if it was passed to this process, and the variables out of the
  /// environment. Throws where one of them is no TCP socket that listens. Call it before another thread
  /// is made.
  package init() throws(PosixError) {
    let pid = Environment.take("LISTEN_PID").flatMap { pid_t($0) }
    let count = Environment.take("LISTEN_FDS").flatMap { Int32($0) } ?? 0
    let names = (Environment.take("LISTEN_FDNAMES") ?? "").split(
      separator: ":", omittingEmptySubsequences: false)
    guard pid == getpid(), count > 0 else { return }
    guard count <= Self.mostDescriptors else {
      throw PosixError("LISTEN_FDS=\(count)", code: E2BIG)
    }
    for index in 0..<count {
      let fd = Self.firstDescriptor + index
      let name = Int(index) < names.count ? String(names[Int(index)]) : ""
      let address = try TCPSocket.adoptListener(fd)
      entries.append(Entry(fd: fd, name: name, address: address))
    }
  }

  deinit { for entry in entries { close(entry.fd) } }

  /// The one that is called `name`, or else is bound to the port of `address`; nil when there is none.
  package mutating func take(_ name: String, for address: SocketAddress) -> OwnedFD? {
    let index =
      entries.firstIndex { $0.name == name }
      ?? entries.firstIndex { $0.address.port == address.port }
    return index.map { OwnedFD(entries.remove(at: $0).fd) }
  }

  /// What nobody took, for a complaint.
  package var rest: [String] { entries.map { "\($0.address) (\($0.name))" } }
}
