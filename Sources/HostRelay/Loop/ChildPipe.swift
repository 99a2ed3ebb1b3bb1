import CLinux
import Glibc
import Posix

/// A pipe between this process and a child: our end never blocks, the child's does.
final class ChildPipe {
  enum Direction {
    case toChild
    case fromChild
  }

  /// Open while this object lives.
  var ours: Int32 { own.raw }
  /// What the child is given; nil once it has it.
  var childs: Int32? { other?.raw }

  private let own: OwnedFD
  private var other: OwnedFD?

  init(_ direction: Direction) throws(PosixError) {
    var ends: [Int32] = [-1, -1]
    try check(
      unsafe ends.withUnsafeMutableBufferPointer { unsafe pipe2($0.baseAddress, O_CLOEXEC) },
      "pipe2")
    own = OwnedFD(direction == .toChild ? ends[1] : ends[0])
    other = OwnedFD(direction == .toChild ? ends[0] : ends[1])
    try check(fcntl(own.raw, F_SETFL, O_NONBLOCK), "fcntl")
  }

  /// The child has its end: ours of it is closed, so that the pipe's end is seen.
  func given() { other = nil }
}
