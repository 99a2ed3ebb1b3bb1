/// Bytes written once, then shared by every consumer that sends them: nobody copies.
///
/// `headRoom` bytes in front belong to whoever sends (libwebsockets writes frame headers there);
/// the relay has one thread, so a header is always written and sent in one go.
@safe final class SharedBytes {
  /// At least LWS_PRE, and a multiple of 16: a misaligned start doubles the kernel's copy.
  static let headRoom = 32

  let count: Int
  private let memory: UnsafeMutableRawBufferPointer

  /// A copy of `bytes`, the only one on the way from socket to sockets.
  init(_ bytes: [UInt8]) {
    count = bytes.count
    unsafe memory = .allocate(byteCount: Self.headRoom + count, alignment: 64)
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Self.headRoom...])
      .copyBytes(from: bytes)
  }

  /// The bytes; valid while this object lives.
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(writable) }

  /// The same for C calls that ask for a mutable pointer; only the head-room may change.
  var writable: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[Self.headRoom...])
  }

  deinit {
    unsafe memory.deallocate()
  }
}
