import Glibc
package import Posix

/// A buffer of a compositor's device, one to four planes of it, kept open. Any thread may use it.
package final class DMABuf: Sendable {
  /// Which memory it is, whatever the descriptor's number.
  package struct Identity: Hashable, Sendable {
    let device: UInt
    let inode: UInt
  }

  package static let planeLimit = 4

  package let identity: Identity
  /// DRM_FORMAT_MOD_*.
  package let modifier: UInt64
  /// Of each plane; closed with this object.
  private let fds: [Int32]

  /// Duplicates the descriptors, which stay the caller's; there is at least one.
  package init(fds: [Int32], modifier: UInt64) throws(PosixError) {
    var copies: [Int32] = []
    do throws(PosixError) {
      var status = stat()
      for fd in fds {
        copies.append(try Posix.check(fcntl(fd, F_DUPFD_CLOEXEC, 3), "F_DUPFD_CLOEXEC"))
      }
      guard let first = copies.first else { throw PosixError("add_buffer", code: EINVAL) }
      try Posix.check(unsafe fstat(first, &status), "fstat")
      identity = Identity(device: UInt(status.st_dev), inode: UInt(status.st_ino))
    } catch {
      for fd in copies { close(fd) }
      throw error
    }
    self.fds = copies
    self.modifier = modifier
  }

  deinit {
    for fd in fds { close(fd) }
  }

  /// The first plane's memory, which holds all of a picture that is not tiled; this object's own.
  package var fd: Int32 { fds[0] }

  /// The descriptor of plane `index`, this object's own; nil where there is none.
  package func fd(ofPlane index: Int) -> Int32? {
    fds.indices.contains(index) ? fds[index] : nil
  }

  /// Waits until whoever writes to it is done: an import does not, and not every driver looks at the
  /// fences that a buffer brings along. False when that took too long.
  package func waitUntilWritten(milliseconds: Int32) -> Bool {
    for fd in fds {
      var fence = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&fence, 1, milliseconds) == 0 { return false }
    }
    return true
  }
}
