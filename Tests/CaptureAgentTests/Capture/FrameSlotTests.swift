import CLinux
import Glibc
import PipeWire
import Posix
import Testing

@testable import CaptureAgent

/// One place between two threads: the newest frame wins, and no buffer is lost on the way.
@Suite struct FrameSlotTests {
  private let loop: Loop
  private let slot = FrameSlot()
  private let buffer: SharedBuffer

  init() throws {
    loop = try Loop()
    let file = OwnedFD(try check(memfd_create("frames", UInt32(MFD_CLOEXEC)), "memfd_create"))
    try check(ftruncate(file.raw, 10 * 16), "ftruncate")
    try check(pwrite(file.raw, Array(0..<160).map(UInt8.init), 160, 0), "pwrite")
    buffer = try SharedBuffer(
      fd: file.raw, offset: 0, byteCount: 160, returned: loop.addEvent {})
  }

  @Test func `a newer frame takes the place of one that nobody took, which goes back`() throws {
    slot.put(try frame(pts: 1))
    #expect(!buffer.collect())
    slot.put(try frame(pts: 2))
    #expect(buffer.collect())
    #expect(slot.take()?.pts == 2)
    #expect(slot.take()?.pts == nil)
    #expect(slot.replacedCount == 1)
  }

  @Test func `a replaced frame's damage is not lost`() throws {
    slot.put(try frame(damage: Rectangle(x: 0, y: 0, width: 1, height: 1)))
    slot.put(try frame(damage: Rectangle(x: 2, y: 3, width: 1, height: 2)))
    #expect(slot.take()?.damage == Rectangle(x: 0, y: 0, width: 3, height: 5))
  }

  @Test func `after a frame of unknown damage anything may have changed`() throws {
    slot.put(try frame(damage: nil))
    slot.put(try frame(damage: Rectangle(x: 2, y: 3, width: 1, height: 2)))
    guard let taken = slot.take() else { throw SharedBufferError.outOfBounds }
    #expect(taken.damage == nil)
  }

  @Test func `a wait ends at its deadline, at once when woken, and with a frame`() throws {
    let deadline = MonotonicClock.now() + 20_000_000
    #expect(slot.take(waitingUntil: deadline)?.pts == nil)
    #expect(MonotonicClock.now() >= deadline)
    slot.wake()
    #expect(slot.take(waitingUntil: .max)?.pts == nil)
    slot.put(try frame(pts: 7))
    #expect(slot.take(waitingUntil: .max)?.pts == 7)
  }

  @Test func `a taker that wants none leaves the frame`() throws {
    slot.put(try frame(pts: 7))
    #expect(
      slot.take(waitingUntil: MonotonicClock.now() + 1_000_000, turn: nil)?.pts == nil)
    #expect(slot.take()?.pts == 7)
  }

  @Test func `a frame that comes before its turn waits for it, unless a newer one comes`() throws {
    let now = MonotonicClock.now()
    let turn = FramePace.Turn(first: now + 20_000_000, last: now + 60_000_000)
    slot.put(try frame(pts: 1))
    #expect(slot.take(waitingUntil: now + 30_000_000, turn: turn)?.pts == nil)
    slot.put(try frame(pts: 2))
    #expect(slot.take(waitingUntil: .max, turn: turn)?.pts == 2)
    #expect(MonotonicClock.now() < turn.last)
    slot.put(try frame(pts: 3))
    let later = FramePace.Turn(first: .max, last: MonotonicClock.now() + 20_000_000)
    #expect(slot.take(waitingUntil: .max, turn: later)?.pts == 3)
    #expect(MonotonicClock.now() >= later.last)
  }

  @Test func `rows end with the last pixel, not with the stride`() throws {
    let frame = try frame()
    var bytes: [UInt8] = []
    try frame.withRows(9..<10) { bytes = Array($0) }
    #expect(bytes == Array(144..<156))
    try frame.withRows(1..<3) { bytes = Array($0) }
    #expect(bytes.first == 16)
    #expect(bytes.count == 16 + 12)
  }

  @Test func `rows that do not fit into the buffer make no frame, and it goes back`() {
    let misfit = Frame(
      lease: buffer.lend(), offset: 8, format: .bgrx, width: 3, height: 10, stride: 16, pts: 0)
    if let misfit { Issue.record("a frame of \(misfit.height) rows") }
    #expect(buffer.collect())
  }

  @Test func `a file too short for its buffer is refused`() throws {
    let file = OwnedFD(try check(memfd_create("short", UInt32(MFD_CLOEXEC)), "memfd_create"))
    try check(ftruncate(file.raw, 100), "ftruncate")
    #expect(throws: PosixError.self) {
      try SharedBuffer(fd: file.raw, offset: 0, byteCount: 101, returned: loop.addEvent {})
    }
  }

  /// Ten rows of three pixels and a gap.
  private func frame(pts: Int64 = 0, damage: Rectangle? = nil) throws -> Frame {
    let made = Frame(
      lease: buffer.lend(), offset: 0, format: .bgrx, width: 3, height: 10, stride: 16, pts: pts,
      damage: damage)
    guard let frame = made else { throw SharedBufferError.outOfBounds }
    return frame
  }
}
