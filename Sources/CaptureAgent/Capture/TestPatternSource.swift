import CLinux
import Glibc
import PipeWire
import Posix
import Report

/// A numbered pattern made in the process, for tests and for a machine without a desktop.
///
/// Its frames lie in memfds and walk the way of a screen's frames, leases and stripes included.
final class TestPatternSource: ScreenSource {
  // One being read, one waiting in the slot, one to draw.
  private static let bufferCount = 3

  private let loop: Loop
  private let slot: FrameSlot
  private let onEvent: (SourceEvent) -> Void
  private let pattern: TestPattern
  private let interval: Duration
  private var buffers: [PatternBuffer] = []
  private var timer: TimerSource?
  private var returned: EventSource?
  private var number = 0
  private var skippedCount = 0

  init(
    loop: Loop, slot: FrameSlot, width: Int, height: Int, framesPerSecond: Int,
    onEvent: @escaping (SourceEvent) -> Void
  ) {
    self.loop = loop
    self.slot = slot
    self.onEvent = onEvent
    pattern = TestPattern(width: width, height: height)
    interval = .nanoseconds(1_000_000_000 / framesPerSecond)
  }

  deinit { stop() }

  var isAlive: Bool { timer != nil }

  var counts: FrameCounts { FrameCounts(taken: number, rejected: skippedCount) }

  func start() {
    do {
      let event = try loop.addEvent { [weak self] in self?.collect() }
      returned = event
      for _ in 0..<Self.bufferCount {
        buffers.append(try PatternBuffer(for: pattern, returned: event))
      }
      let ticks = try loop.addTimer { [weak self] in self?.tick() }
      ticks.arm(after: .zero, every: interval)
      timer = ticks
      onEvent(.format(SourceFormat(width: pattern.width, height: pattern.height)))
    } catch {
      stop()
      onEvent(.ended(SourceEnd(code: .bug, text: "test pattern: \(error)")))
    }
  }

  func stop() {
    timer = nil
    returned?.remove()
    returned = nil
    buffers = []
  }

  private func collect() {
    for buffer in buffers where buffer.shared.collect() { buffer.isLent = false }
  }

  private func tick() {
    guard let buffer = buffers.first(where: { !$0.isLent }) else {
      skippedCount += 1
      return
    }
    do {
      try buffer.draw(pattern, number: number)
    } catch {
      stop()
      onEvent(.ended(SourceEnd(code: .bug, text: "test pattern: \(error)")))
      return
    }
    number += 1
    buffer.isLent = true
    if let frame = Frame(
      lease: buffer.shared.lend(), offset: 0, format: .bgrx, width: pattern.width,
      height: pattern.height, stride: pattern.width * PixelFormat.Plane.pixels.byteCount,
      pts: MonotonicClock.now())
    {
      slot.put(frame)
    }
  }
}

/// One buffer of the pattern's own. Loop thread only, but for `shared`.
private final class PatternBuffer {
  let shared: SharedBuffer
  var isLent = false
  private let file: OwnedFD
  private let stride: Int
  /// Whether all its rows were drawn once.
  private var hasGround = false

  init(for pattern: TestPattern, returned: EventSource) throws(PosixError) {
    stride = pattern.width * PixelFormat.Plane.pixels.byteCount
    let byteCount = stride * pattern.height
    file = OwnedFD(
      try check(unsafe memfd_create("porthole-pattern", UInt32(MFD_CLOEXEC)), "memfd_create"))
    try check(ftruncate(file.raw, byteCount), "ftruncate")
    shared = try SharedBuffer(fd: file.raw, offset: 0, byteCount: byteCount, returned: returned)
  }

  /// Brings the buffer up to frame `number`.
  func draw(_ pattern: TestPattern, number: Int) throws(PosixError) {
    if !hasGround { try draw(pattern, number: number, all: 0..<pattern.height) }
    for rows in pattern.movingRows where hasGround {
      try draw(pattern, number: number, all: rows)
    }
    hasGround = true
  }

  /// Draws stripe by stripe, for mappings count against the limit.
  private func draw(
    _ pattern: TestPattern, number: Int, all rows: Range<Int>
  ) throws(PosixError) {
    let stripe = FrameConverter.stripeByteCount(width: pattern.width) / stride
    var first = rows.lowerBound
    while first < rows.upperBound {
      let end = min(first + stripe, rows.upperBound)
      try draw(pattern, number: number, rows: first..<end)
      first = end
    }
  }

  private func draw(
    _ pattern: TestPattern, number: Int, rows: Range<Int>
  ) throws(PosixError) {
    let page = sysconf(Int32(_SC_PAGESIZE))
    let start = rows.lowerBound * stride / page * page
    let length = rows.upperBound * stride - start
    let map = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, start)
    guard let map = unsafe map, unsafe map != MAP_FAILED else { throw PosixError("mmap") }
    defer { unsafe munmap(map, length) }
    for y in rows {
      let row = unsafe (map + (y * stride - start)).assumingMemoryBound(to: UInt32.self)
      var pixels = unsafe MutableSpan(_unsafeStart: row, count: pattern.width)
      pattern.drawRow(y, of: number, into: &pixels)
    }
  }
}
