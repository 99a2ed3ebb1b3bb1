import PipeWire
import Posix
import TestSupport
import Testing

@testable import CaptureAgent

/// The numbered picture, and the source that sends it.
@Suite struct TestPatternTests {
  @Test(arguments: [(1920, 1080), (896, 128), (320, 240), (64, 64), (1920, 17), (4096, 64)])
  func `the number is read back from its row of squares`(_ width: Int, _ height: Int) {
    let pattern = TestPattern(width: width, height: height)
    for number in [0, 1, 0x5555, 65_535, 65_537] {
      let rows = pattern.movingRows[0]
      let row = draw((rows.lowerBound + rows.upperBound) / 2, of: number, pattern)
      #expect(Self.number(in: row, cell: pattern.cell) == number & 0xffff)
    }
  }

  // Squares that did not fit were drawn beside the picture, which ended the process.
  @Test(arguments: [1, 2, 3, 16, 17, 25, 26, 27, 64, 1080, 16_384], [1, 2, 3, 8, 17, 64, 16_384])
  func `every size is drawn whole`(_ width: Int, _ height: Int) {
    let pattern = TestPattern(width: width, height: height)
    let rows = pattern.movingRows.flatMap { [$0.lowerBound, $0.upperBound - 1] } + [0, height - 1]
    for y in rows where (0..<height).contains(y) {
      #expect(draw(y, of: 3, pattern).allSatisfy { $0 != 0 })
    }
    for rows in pattern.movingRows {
      #expect(rows.lowerBound >= 0 && rows.upperBound <= height)
    }
  }

  @Test func `two frames differ in the moving rows alone`() {
    let pattern = TestPattern(width: 320, height: 240)
    for y in 0..<240 where !pattern.movingRows.contains(where: { $0.contains(y) }) {
      #expect(draw(y, of: 1, pattern) == draw(y, of: 7, pattern))
    }
    for rows in pattern.movingRows {
      #expect(draw(rows.lowerBound, of: 1, pattern) != draw(rows.lowerBound, of: 7, pattern))
    }
  }

  @Test func `frames come in order, each in a buffer that was drawn whole`() throws {
    let loop = try Loop()
    let slot = FrameSlot()
    var events: [SourceEvent] = []
    let source = TestPatternSource(
      loop: loop, slot: slot, width: 320, height: 240, framesPerSecond: 200
    ) { events.append($0) }
    source.start()
    let pattern = TestPattern(width: 320, height: 240)
    var numbers: [Int] = []
    let look = try loop.addTimer {
      guard let frame = slot.take() else { return }
      var rows: [[UInt32]] = []
      for y in 0..<frame.height {
        try? frame.withRows(y..<y + 1) { rows.append(Array($0.bindMemory(to: UInt32.self))) }
      }
      guard
        let number = Self.number(in: rows[pattern.movingRows[0].lowerBound], cell: pattern.cell)
      else {
        Issue.record("a torn number")
        return loop.quit()
      }
      #expect(rows == (0..<240).map { draw($0, of: number, pattern) })
      numbers.append(number)
      if numbers.count == 10 { loop.quit() }
    }
    look.arm(after: .milliseconds(1), every: .milliseconds(1))
    let deadline = try loop.addTimer { loop.quit() }
    deadline.arm(after: .seconds(10))
    loop.run()
    #expect(numbers.count == 10)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    guard case .format(SourceFormat(width: 320, height: 240)) = events.first else {
      Issue.record("\(events)")
      return
    }
    source.stop()
    #expect(!source.isAlive)
  }

  @Test func `a reader that keeps its frame costs frames, and no buffer of its own`() throws {
    let loop = try Loop()
    let slot = FrameSlot()
    let source = TestPatternSource(
      loop: loop, slot: slot, width: 64, height: 64, framesPerSecond: 1000
    ) { _ in }
    source.start()
    // All three buffers are away: one kept here, one here, one in the slot.
    var first: Frame?
    var second: Frame?
    let look = try loop.addTimer {
      if first == nil { first = slot.take() } else if second == nil { second = slot.take() }
      if source.counts.rejected >= 5 { loop.quit() }
    }
    look.arm(after: .milliseconds(1), every: .milliseconds(1))
    let deadline = try loop.addTimer { loop.quit() }
    deadline.arm(after: .seconds(10))
    loop.run()
    #expect(source.counts.taken - slot.replacedCount == 3)
    #expect(source.counts.rejected >= 5)
    #expect(first?.pts != second?.pts)
  }

  private func draw(_ y: Int, of number: Int, _ pattern: TestPattern) -> [UInt32] {
    var row = [UInt32](repeating: 0, count: pattern.width)
    var span = row.mutableSpan
    pattern.drawRow(y, of: number, into: &span)
    return row
  }

  /// Reads the cells' centres, as a reader at the far end does; nil when the check bits disagree.
  private static func number(in row: [UInt32], cell: Int) -> Int? {
    let bits = (0..<TestPattern.cellCount).map { row[(2 + $0) * cell + cell / 2] == 0xffff_ffff }
    func value(_ range: Range<Int>) -> Int { bits[range].reduce(0) { $0 << 1 | ($1 ? 1 : 0) } }
    guard bits[0], !bits[1], value(18..<24) == value(2..<18) % 61 else { return nil }
    return value(2..<18)
  }
}
