import CaptureSupport
import Pixels
import Posix
import TestSupport

@testable import CaptureAgent
@testable import PipeWire

/// A source under test on a loop that the test turns, and what came of it.
final class CaptureScene {
  /// A frame as the test looks at it: read, and given back.
  struct Seen {
    let width: Int
    let height: Int
    let pts: Int64
    let damage: Rectangle?
    let orientation: Orientation
    let format: PixelFormat
    /// nil when it does not lie in a dma-buf.
    let modifier: UInt64?
    /// The first pixel of each row, of four bytes.
    let column: [UInt32]
  }

  let loop: Loop
  let slot = FrameSlot()
  private(set) var events: [SourceEvent] = []
  private(set) var seen: [Seen] = []
  /// Whether the next frame goes into `kept`, instead of being looked at.
  var keepsFrame = false
  private(set) var kept: Frame?
  private(set) var source: (any ScreenSource)?

  init() throws { loop = try Loop() }

  /// Makes and starts the source.
  func start(_ make: (Loop, FrameSlot, @escaping (SourceEvent) -> Void) -> any ScreenSource) {
    let made = make(loop, slot) { [unowned self] event in events.append(event) }
    source = made
    made.start()
  }

  /// Starts a source for the daemon's node once the daemon shows it.
  func start(node: String, of daemon: PipeWireDaemon, modifiers: [UInt64] = []) throws {
    try waitForNode(node, of: daemon)
    try startAtOnce(node: node, of: daemon, modifiers: modifiers)
  }

  /// Turns the loop until the daemon shows the node.
  func waitForNode(_ node: String, of daemon: PipeWireDaemon) throws {
    let watcher = try Connection(loop: loop, fd: daemon.connect())
    try run(until: "node \(node)") { watcher.nodes.contains { $0.name == node } }
  }

  /// Starts it whether the node is there or not.
  func startAtOnce(node: String, of daemon: PipeWireDaemon, modifiers: [UInt64] = []) throws {
    try startAtOnce(.nameOrSerial(node), of: daemon, modifiers: modifiers)
  }

  func startAtOnce(
    _ target: PipeWireSource.Target, of daemon: PipeWireDaemon, modifiers: [UInt64] = []
  ) throws {
    let remote = try daemon.connect()
    let made = PipeWireSource(
      loop: loop, slot: slot, target: target, remote: remote, frameRate: 30,
      modifiers: modifiers
    ) { [unowned self] event in events.append(event) }
    source = made
    made.start()
  }

  func stop() { source?.stop() }

  func takeKept() -> Frame? { kept.take() }

  var counts: FrameCounts { source?.counts ?? FrameCounts() }

  var isAlive: Bool { source?.isAlive ?? false }

  var end: SourceEnd? {
    for case .ended(let end) in events { return end }
    return nil
  }

  var sizes: [[Int]] {
    events.compactMap {
      if case .format(let format) = $0 { [format.width, format.height] } else { nil }
    }
  }

  /// Turns the loop, takes what comes and calls `step`, until the claim holds.
  func run(
    until what: String, within limit: Duration = .seconds(10), step: () -> Void = {},
    _ claim: () -> Bool
  ) throws {
    let clock = ContinuousClock.now + limit
    let turn = try loop.addTimer { [unowned self] in loop.quit() }
    while !claim() {
      guard ContinuousClock.now < clock else {
        throw ProcessFailure(description: "no \(what) in \(limit); events: \(events)")
      }
      turn.arm(after: .milliseconds(5))
      loop.run()
      step()
      guard let frame = slot.take() else { continue }
      if keepsFrame {
        kept = consume frame
        keepsFrame = false
      } else {
        look(frame)
      }
    }
  }

  private func look(_ frame: consuming Frame) {
    var column: [UInt32] = []
    let stride = frame.stride()
    // Reads of an odd number of rows, so that stripes begin anywhere in a page.
    for first in Swift.stride(from: 0, to: frame.height, by: 7) {
      let rows = first..<min(first + 7, frame.height)
      try? frame.withRows(rows) { bytes in
        for row in 0..<rows.count {
          column.append(bytes.loadUnaligned(fromByteOffset: row * stride, as: UInt32.self))
        }
      }
    }
    seen.append(
      Seen(
        width: frame.width, height: frame.height, pts: frame.pts, damage: frame.damage,
        orientation: frame.orientation, format: frame.format,
        modifier: frame.dmaBuf?.buffer.modifier, column: column))
  }
}
