import PipeWire
import Pixels

/// What comes from the screen's source, as far as pictures depend on it.
struct FrameShape: Equatable, Sendable {
  /// Of the part to show, in pixels.
  var width: Int
  var height: Int
  /// What shows it upright.
  var orientation = Orientation.upright
}

/// What a user wants of the pictures, whatever the frames are like.
struct PictureWish: Equatable, Sendable {
  /// nil leaves the frames' own size.
  var width: Int?
  var height: Int?
  /// Beside what shows the frames upright.
  var turn = Orientation.upright

  func geometry(of frame: FrameShape, isHalved: Bool) -> PictureGeometry {
    let size = width.flatMap { width in height.map { (width, $0) } }
    return PictureGeometry(frame: frame, size: size, turn: turn, isHalved: isHalved)
  }
}

/// Where a frame stands in a picture: turned upright, scaled, and in the middle of black bars where a
/// size is given that has other proportions.
struct PictureGeometry: Equatable, Sendable {
  let frame: FrameShape
  /// From the frame to the picture.
  let orientation: Orientation
  /// Of the pictures, in pixels.
  let width: Int
  let height: Int
  /// The frame's place in the picture; its corner is even, for chroma has half the samples.
  let content: Rectangle

  /// Pictures of `size`, or as large as the frame; halved ones are half as wide and high, where that is
  /// not too small. `turn` is wanted beside what shows the frame upright.
  init(
    frame: FrameShape, size: (width: Int, height: Int)? = nil, turn: Orientation = .upright,
    isHalved: Bool = false
  ) {
    self.frame = frame
    orientation = frame.orientation.followed(by: turn)
    let upright =
      orientation.isTransposed ? (frame.height, frame.width) : (frame.width, frame.height)
    let wanted = size.map { ($0.width, $0.height) } ?? upright
    let divisor = isHalved && min(wanted.0, wanted.1) >= Self.leastHalvedSide ? 2 : 1
    width = wanted.0 / divisor
    height = wanted.1 / divisor
    content = Self.fit(upright, into: (width, height))
  }

  private static let leastHalvedSide = 64

  /// The frame's size in the picture, but not turned yet.
  var scaled: (width: Int, height: Int) {
    orientation.isTransposed
      ? (content.height, content.width) : (content.width, content.height)
  }

  var isScaled: Bool { scaled != (frame.width, frame.height) }
  var hasBars: Bool { (content.width, content.height) != (width, height) }

  /// Where a part of the frame comes to stand in the picture, whole chroma samples, and what scaling
  /// smears it over.
  func place(of part: Rectangle) -> Rectangle {
    let (width, height) = scaled
    let columns = Self.spread(
      part.x, part.x + part.width, of: frame.width, to: width,
      isReversed: orientation.reversesColumns)
    let rows = Self.spread(
      part.y, part.y + part.height, of: frame.height, to: height,
      isReversed: orientation.reversesRows)
    let (across, down) = orientation.isTransposed ? (rows, columns) : (columns, rows)
    return Rectangle(
      x: content.x + across.lowerBound, y: content.y + down.lowerBound, width: across.count,
      height: down.count)
  }

  /// From `low` to `high` of `side` pixels, in `scaled` pixels: grown to even borders, or to the end.
  private static func spread(
    _ low: Int, _ high: Int, of side: Int, to scaled: Int, isReversed: Bool
  ) -> Range<Int> {
    var low = min(max(low, 0), side)
    var high = min(max(high, low), side)
    guard low < high else { return 0..<0 }
    if side != scaled {
      // A pixel between two is made of both.
      low = max(0, low * scaled / side - 1 - scaled / side)
      high = min(scaled, (high * scaled + side - 1) / side + 1 + scaled / side)
    }
    if isReversed { (low, high) = (scaled - high, scaled - low) }
    return low / 2 * 2..<min((high + 1) / 2 * 2, scaled)
  }

  /// The largest rectangle of `size`'s proportions in the middle of `box`.
  private static func fit(
    _ size: (width: Int, height: Int), into box: (width: Int, height: Int)
  ) -> Rectangle {
    var width = box.width
    var height = box.height
    if size.width * box.height > size.height * box.width {
      height = evened(size.height * box.width, by: size.width, within: box.height)
    } else if size.width * box.height < size.height * box.width {
      width = evened(size.width * box.height, by: size.height, within: box.width)
    }
    return Rectangle(
      x: (box.width - width) / 4 * 2, y: (box.height - height) / 4 * 2, width: width,
      height: height)
  }

  /// The even number nearest to the quotient; all of `limit` where only a line would be left of it.
  private static func evened(_ dividend: Int, by divisor: Int, within limit: Int) -> Int {
    let side = max(2, (dividend + divisor) / (2 * divisor) * 2)
    return limit - side < 2 ? limit : side
  }
}
