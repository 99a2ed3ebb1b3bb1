import CLinux
import Glibc
import PipeWire

/// A numbered pattern made in the process, for tests and for a machine without a desktop.
///
/// Its frames lie in memfds and walk the way of a screen's frames, leases and stripes included.
final class TestPatternSource: ScreenSource {
  // One being read, one waiting in the slot, one to draw.
  private static let bufferCount = 3
  // Rows drawn at a time: half a megabyte at 1080p, for mappings count against the limit.
  private static let stripeRows = 64

  private let loop: Loop
  private let slot: FrameSlot
  private let onEvent: (SourceEvent) -> Void
  private let pattern: TestPattern
  private let interval: Duration
  private var buffers: [Buffer] = []
  private var timer: TimerSource?
  private var returned: EventSource?
  private var number = 0

  /// Frames that could not be drawn, because every buffer was still being read.
  private(set) var skippedCount = 0

  /// One buffer of the pattern's own.
  private struct Buffer {
    let fd: Int32
    let shared: SharedBuffer
    var isLent = false
    /// Whether all its rows were drawn once.
    var hasGround = false
  }

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

  func start() {
    do {
      let event = try loop.addEvent { [weak self] in self?.collect() }
      returned = event
      for _ in 0..<Self.bufferCount { try addBuffer(returned: event) }
      let ticks = try loop.addTimer { [weak self] in self?.tick() }
      ticks.arm(after: .zero, every: interval)
      timer = ticks
      onEvent(.format(width: pattern.width, height: pattern.height))
    } catch {
      stop()
      onEvent(.ended(SourceEnd(cause: .failed, text: "test pattern: \(error)")))
    }
  }

  func stop() {
    timer = nil
    returned?.remove()
    returned = nil
    for buffer in buffers { close(buffer.fd) }
    buffers = []
  }

  private var stride: Int { pattern.width * FrameFormat.bytesPerPixel }

  private func addBuffer(returned: EventSource) throws(PipeWireError) {
    let fd = unsafe memfd_create("porthole-pattern", UInt32(MFD_CLOEXEC))
    guard fd >= 0 else { throw PipeWireError(call: "memfd_create", code: errno) }
    let byteCount = stride * pattern.height
    guard ftruncate(fd, byteCount) == 0 else {
      let code = errno
      close(fd)
      throw PipeWireError(call: "ftruncate", code: code)
    }
    let shared: SharedBuffer
    do {
      shared = try SharedBuffer(fd: fd, offset: 0, byteCount: byteCount, returned: returned)
    } catch {
      close(fd)
      throw error
    }
    buffers.append(Buffer(fd: fd, shared: shared))
  }

  private func collect() {
    for index in buffers.indices where buffers[index].shared.collect() {
      buffers[index].isLent = false
    }
  }

  private func tick() {
    guard let index = buffers.firstIndex(where: { !$0.isLent }) else {
      skippedCount += 1
      return
    }
    do {
      if buffers[index].hasGround {
        for rows in pattern.movingRows { try draw(rows, in: buffers[index].fd) }
      } else {
        try draw(0..<pattern.height, in: buffers[index].fd)
        buffers[index].hasGround = true
      }
    } catch {
      stop()
      onEvent(.ended(SourceEnd(cause: .failed, text: "test pattern: \(error)")))
      return
    }
    number += 1
    buffers[index].isLent = true
    if let frame = Frame(
      lease: buffers[index].shared.lend(), offset: 0, format: .bgrx, width: pattern.width,
      height: pattern.height, stride: stride, pts: now())
    {
      slot.put(frame)
    }
  }

  private func draw(_ rows: Range<Int>, in fd: Int32) throws(PipeWireError) {
    for first in Swift.stride(from: rows.lowerBound, to: rows.upperBound, by: Self.stripeRows) {
      let stripe = first..<min(first + Self.stripeRows, rows.upperBound)
      let page = sysconf(Int32(_SC_PAGESIZE))
      let start = stripe.lowerBound * stride / page * page
      let length = stripe.upperBound * stride - start
      let map = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start)
      guard let map = unsafe map, unsafe map != MAP_FAILED else {
        throw PipeWireError(call: "mmap", code: errno)
      }
      defer { unsafe munmap(map, length) }
      for y in stripe {
        let row = unsafe (map + (y * stride - start)).assumingMemoryBound(to: UInt32.self)
        var pixels = unsafe MutableSpan(_unsafeStart: row, count: pattern.width)
        pattern.drawRow(y, of: number, into: &pixels)
      }
    }
  }

  private func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
