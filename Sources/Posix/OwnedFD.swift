internal import Glibc

/// A file descriptor that is closed when its owner goes.
package struct OwnedFD: ~Copyable, Sendable {
  /// Valid while this value lives.
  package let raw: Int32

  /// Takes over `raw`, which nobody else may close.
  package init(_ raw: Int32) {
    precondition(raw >= 0, "a descriptor is not negative")
    self.raw = raw
  }

  deinit { close(raw) }

  /// Gives the descriptor away unclosed.
  package consuming func release() -> Int32 {
    let raw = raw
    discard self
    return raw
  }
}
