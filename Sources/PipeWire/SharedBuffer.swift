import Glibc
package import Posix
import Synchronization

/// Why the bytes of a buffer cannot be read.
package enum SharedBufferError: Error, Equatable, CustomStringConvertible {
  /// Its owner took the buffer away.
  case revoked
  /// The range lies outside the buffer.
  case outOfBounds
  /// mmap failed with this errno.
  case cannotMap(Int32)

  package var description: String {
    switch self {
    case .revoked: "its source took the buffer back"
    case .outOfBounds: "it does not lie in its buffer"
    case .cannotMap(let code): "\(PosixError("mmap", code: code))"
    }
  }
}

/// One buffer of pixels in shared memory, seen read-only; any thread may read it.
package final class SharedBuffer: Sendable {
  /// nil when the buffer is files, or memory, of its owner's processor.
  package let dmaBuf: DMABuf?
  /// At least one, and a plane of pixels lies in one of them whole.
  private let blocks: [MemoryBlock]
  private let isRevoked = Mutex(false)
  private let isReturned = Atomic(false)
  private let returned: EventSource?

  /// `returned` is signalled by each lease that ends.
  init(_ blocks: [MemoryBlock], returned: EventSource?) {
    self.blocks = blocks
    self.returned = returned
    dmaBuf = nil
  }

  /// One block; duplicates `fd`, which stays the caller's. Where `returned` is nil nobody waits for leases.
  package convenience init(
    fd: Int32, offset: Int, byteCount: Int, returned: EventSource?
  ) throws(PosixError) {
    self.init([try MemoryBlock(fd: fd, offset: offset, byteCount: byteCount)], returned: returned)
  }

  /// A buffer that a device reads; what of it lies in rows can be read here too.
  package init(_ dmaBuf: DMABuf, returned: EventSource) throws(PosixError) {
    blocks = [try MemoryBlock(dmaBuf: dmaBuf.fd)]
    self.dmaBuf = dmaBuf
    self.returned = returned
  }

  /// The pieces of memory that its planes lie in; `PlaneLayout.block` counts them from 0.
  package var blockCount: Int { blocks.count }

  /// What stays mapped of it, whoever reads.
  var standingByteCount: Int {
    blocks.reduce(0) { $0 + ($1.isOthersMapping ? $1.byteCount : 0) }
  }

  /// What a reader maps at a time at least.
  var wholeByteCount: Int { blocks.reduce(0) { max($0, $1.isDevices ? $1.byteCount : 0) } }

  /// How long that block is, whatever of it a picture fills.
  package func byteCount(ofBlock index: Int) -> Int { blocks[index].byteCount }

  /// Lends the buffer to one reader; the lease may end on any thread.
  package func lend() -> BufferLease { BufferLease(self) }

  /// Whether a lease has ended since the last call.
  package func collect() -> Bool { isReturned.exchange(false, ordering: .acquiring) }

  /// Waits for a reader of mapped memory to leave it, and lets no other in.
  func revoke() { isRevoked.withLock { $0 = true } }

  fileprivate var isTakenAway: Bool { isRevoked.withLock { $0 } }

  fileprivate func giveBack() {
    isReturned.store(true, ordering: .releasing)
    returned?.signal()
  }

  fileprivate func withBytes(
    _ range: Range<Int>, ofBlock index: Int, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    let block = blocks[index]
    guard block.isOthersMapping else { return try unsafe block.withBytes(range, body) }
    var failure: SharedBufferError? = .revoked
    isRevoked.withLock { isRevoked in
      guard !isRevoked else { return }
      failure = nil
      do throws(SharedBufferError) { try unsafe block.withBytes(range, body) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Whether so much could be mapped now; it is tried.
  package static func canMap(_ byteCount: Int) -> Bool {
    guard byteCount > 0 else { return true }
    let pages = unsafe mmap(nil, byteCount, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { return false }
    unsafe munmap(pages, byteCount)
    return true
  }

  /// The most that was mapped of such buffers at a time, but for what libpipewire maps itself.
  package static var mappedPeakByteCount: Int { MemoryBlock.mappedPeakByteCount }
}

/// The right to read one buffer, which goes back to its owner when the lease ends.
package struct BufferLease: ~Copyable, Sendable {
  private let buffer: SharedBuffer

  fileprivate init(_ buffer: SharedBuffer) { self.buffer = buffer }

  deinit { buffer.giveBack() }

  /// As the buffer has them.
  package var blockCount: Int { buffer.blockCount }

  /// How long that block is, whatever of it a picture fills.
  package func byteCount(ofBlock index: Int) -> Int { buffer.byteCount(ofBlock: index) }

  /// Its owner took the buffer away.
  package var isRevoked: Bool { buffer.isTakenAway }

  /// The buffer as a device reads it, if it can.
  package var dmaBuf: DMABuf? { buffer.dmaBuf }

  /// Maps these bytes of a block for the time of the call, on any thread. The producer may write to them
  /// meanwhile: nothing that is read twice need be the same.
  package borrowing func withBytes(
    _ range: Range<Int>, ofBlock index: Int = 0, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(SharedBufferError) {
    try unsafe buffer.withBytes(range, ofBlock: index, body)
  }
}
