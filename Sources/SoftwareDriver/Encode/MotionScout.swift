internal import CPixelKernels

/// Motion vectors that much of a picture shares: a scrolled page, a dragged window.
///
/// A few changed macroblocks with much detail are looked for far and wide; where one is found, every
/// macroblock of the picture gets its vector to try.
struct MotionScout {
  /// Vectors to try, those of the picture before among them until nobody wants them.
  let motions: Table<Motion>
  private(set) var count = 0
  private var patience = Self.failureCounts.first

  private static let capacity = 6
  /// Macroblocks looked for in a picture.
  private static let sampleCount = 16
  /// After so many that were found nowhere the picture is taken for new: the first time, and while
  /// that goes on.
  private static let failureCounts = (first: 4, next: 1)
  /// Samples to each side that are searched both ways at once; along one axis all are.
  private static let nearRange = 48
  /// Less detail than this, six a sample, could be found anywhere.
  private static let leastDetail = 1536

  init() throws(DriverError) { motions = try Table(count: Self.capacity) }

  mutating func forget() {
    count = 0
    patience = Self.failureCounts.first
  }

  /// A macroblock to look for, and the pixels to look among.
  struct Sample {
    let column: Int
    let row: Int
    let columns: Int
    let rows: Int
    let detail: Int
    let source: PictureView
    let reference: PictureView
  }

  /// Which of the picture's changed macroblocks are looked for: each `step`th.
  static func step(changedCount: Int) -> Int { max(1, changedCount / (2 * sampleCount)) }

  /// Looks for the samples that `next` brings until it brings no more.
  mutating func search(_ next: () -> Sample?) {
    var wanted: UInt32 = 0
    var looked = 0
    var failed = 0
    while looked < Self.sampleCount, failed < patience, let sample = next() {
      guard sample.detail >= Self.leastDetail else { continue }
      looked += 1
      if let known = firstMatch(of: sample) {
        wanted |= 1 << UInt32(known)
      } else if let found = lookAround(sample) {
        if count < Self.capacity {
          motions[count] = found
          wanted |= 1 << UInt32(count)
          count += 1
        }
      } else {
        failed += 1
      }
    }
    keep(wanted)
    patience = failed < patience ? Self.failureCounts.first : Self.failureCounts.next
  }

  private mutating func keep(_ wanted: UInt32) {
    var kept = 0
    for index in 0..<count where wanted >> UInt32(index) & 1 == 1 {
      motions[kept] = motions[index]
      kept += 1
    }
    count = kept
  }

  private func isMatch(_ sad: UInt32, _ sample: Sample) -> Bool { Int(sad) < sample.detail / 3 }

  private func firstMatch(of sample: Sample) -> Int? {
    (0..<count).first { index in
      let motion = motions[index]
      let x = sample.column * 16 + Int(motion.x)
      let y = sample.row * 16 + Int(motion.y)
      guard x >= 0, y >= 0, x <= sample.columns * 16 - 16, y <= sample.rows * 16 - 16 else {
        return false
      }
      let sad = unsafe porthole_sad_16x16(
        sample.source.luma(x: sample.column * 16, y: sample.row * 16), sample.source.stride,
        sample.reference.luma(x: x, y: y), sample.reference.stride)
      return isMatch(sad, sample)
    }
  }

  /// Up and down, to both sides, and all around nearby, in this order.
  private func lookAround(_ sample: Sample) -> Motion? {
    let x = sample.column * 16
    let y = sample.row * 16
    let lastX = sample.columns * 16 - 16
    let lastY = sample.rows * 16 - 16
    let top = max(0, y - Motion.verticalRange)
    let bottom = min(lastY, y + Motion.verticalRange - 1)
    let near = Self.nearRange
    return search(sample, x...x, top...bottom) ?? search(sample, 0...lastX, y...y)
      ?? search(
        sample, max(0, x - near)...min(lastX, x + near), max(0, y - near)...min(lastY, y + near))
  }

  private func search(
    _ sample: Sample, _ xs: ClosedRange<Int>, _ ys: ClosedRange<Int>
  ) -> Motion? {
    var foundX: Int32 = 0
    var foundY: Int32 = 0
    let sad = unsafe porthole_search_16x16(
      sample.source.luma(x: sample.column * 16, y: sample.row * 16), sample.source.stride,
      sample.reference.luma(x: xs.lowerBound, y: ys.lowerBound), sample.reference.stride,
      Int32(xs.count), Int32(ys.count), &foundX, &foundY)
    guard isMatch(sad, sample) else { return nil }
    return Motion(
      x: xs.lowerBound + Int(foundX) - sample.column * 16,
      y: ys.lowerBound + Int(foundY) - sample.row * 16)
  }
}

extension PictureEncoder {
  /// Looks for the motion that the picture's changed macroblocks share.
  func scoutMotion(_ job: borrowing PictureJob, _ load: PictureLoad) {
    guard let reference = job.reference, load.changedCount > 1 else {
      scout.forget()
      return
    }
    let step = MotionScout.step(changedCount: load.changedCount)
    var index = -1
    var seen = 0
    var scout = self.scout
    scout.search {
      while index + 1 < columns * rows {
        index += 1
        guard job.memory.hashes[index] != reference.memory.hashes[index] else { continue }
        seen += 1
        guard seen % step == 0 else { continue }
        let column = index % columns
        let row = index / columns
        let job = job.around(row: row)
        guard let view = job.reference?.view else { return nil }
        return MotionScout.Sample(
          column: column, row: row, columns: columns, rows: rows,
          detail: detail(job, column: column, row: row), source: job.source, reference: view)
      }
      return nil
    }
    self.scout = scout
  }
}
