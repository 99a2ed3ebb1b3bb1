internal import CLinux
internal import Glibc

/// Sends datagrams to one Unix socket, and never waits for who reads there.
package final class DatagramSocket {
  private let socket: OwnedFD
  private let name: [UInt8]

  /// `name` is a path, or behind `@` a name that is in no file system; nil for what is neither or is
  /// longer than the kernel takes (107 bytes), and where no socket can be had.
  package init?(to name: String) {
    guard name.hasPrefix("/") || name.hasPrefix("@"), (2...107).contains(name.utf8.count) else {
      return nil
    }
    let type = SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let fd = Glibc.socket(AF_UNIX, Int32(type), 0)
    guard fd >= 0 else { return nil }
    socket = OwnedFD(fd)
    let first = name.hasPrefix("@") ? 0 : UInt8(ascii: "/")
    self.name = [first] + Array(name.utf8.dropFirst())
  }

  /// One datagram; it is lost where there is nobody, or no room.
  package func send(_ bytes: [UInt8]) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    // Without a zero behind it, which would belong to a name that is no path.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    unsafe withUnsafePointer(to: &address) { address in
      let address = unsafe UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self)
      _ = unsafe bytes.withUnsafeBytes {
        unsafe sendto(
          socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }
}
