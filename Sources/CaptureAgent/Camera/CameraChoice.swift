import PipeWire

/// Which of a camera's modes is asked for: the rule that docs/camera.md states.
///
/// A size that was asked for goes first, else a rate that is reached. Of sizes the wanted one, else the
/// smallest that covers it, else the largest. Of rates the wanted one, else the next faster, else the
/// fastest. Of formats those that need the least work: JPEGs last.
struct CameraChoice: Comparable {
  // From the best: half the bytes of what comes behind, and nothing to convert but range.
  private static let formats: [PixelFormat] = [.nv12, .i420, .yuy2]
  // 30000/1001 is meant by whoever says 30: a rate that is so near, in parts of a thousand, is reached.
  private static let nearness = 5
  private static let largestSide = 16_384

  let format: CameraFormat
  private let ranks: [Int]

  static func < (one: CameraChoice, other: CameraChoice) -> Bool {
    one.ranks.lexicographicallyPrecedes(other.ranks)
  }

  static func == (one: CameraChoice, other: CameraChoice) -> Bool { one.ranks == other.ranks }

  /// Those that can be read here, the best for `wish` first.
  static func ranked(_ modes: [CameraMode], for wish: CameraWish) -> [CameraFormat] {
    var formats: [CameraFormat] = []
    for choice in modes.flatMap({ choices(in: $0, for: wish) }).sorted()
    where !formats.contains(choice.format) {
      formats.append(choice.format)
    }
    return formats
  }

  /// What there is, in one line, for who can read none of it.
  static func list(_ modes: [CameraMode]) -> String {
    let names = modes.map { mode in
      let picture =
        switch mode.picture {
        case .read(.mjpeg): "MJPEG"
        case .read(let format): "\(format)"
        case .other(let name): name
        }
      let sizes =
        switch mode.sizes {
        case .these(let sizes): sizes.map { "\($0)" }.joined(separator: "/")
        case .range(let least, let most, _): "\(least) to \(most)"
        }
      return "\(picture) \(sizes)"
    }
    var listed: [String] = []
    for name in names where !listed.contains(name) { listed.append(name) }
    return listed.isEmpty ? "nothing" : listed.prefix(8).joined(separator: ", ")
  }

  private static func choices(in mode: CameraMode, for wish: CameraWish) -> [CameraChoice] {
    guard case .read(let pixel) = mode.picture else { return [] }
    let sizes =
      switch mode.sizes {
      case .these(let sizes): sizes
      case .range(let least, let most, let step): [nearest(wish.size, least, most, step)]
      }
    let wanted = FrameRate(wish.framesPerSecond)
    let rates =
      switch mode.rates {
      case .these(let rates): rates
      case .range(let least, let most, _):
        [wanted.isAtMost(least) ? least : wanted.isAtMost(most) ? wanted : most]
      }
    return sizes.filter { isPossible($0) }.flatMap { size in
      rates.map { rate in
        CameraChoice(CameraFormat(pixel: pixel, size: size, rate: rate), for: wish)
      }
    }
  }

  private init(_ format: CameraFormat, for wish: CameraWish) {
    self.format = format
    let area = format.size.width * format.size.height
    let covers = format.size.width >= wish.size.width && format.size.height >= wish.size.height
    let size = format.size == wish.size ? [0, 0] : covers ? [1, area] : [2, -area]
    let rate = Self.rank(of: format.rate, for: wish.framesPerSecond)
    let kind =
      Self.formats.firstIndex(of: format.pixel)
      ?? (format.pixel == .mjpeg ? Self.formats.count + 1 : Self.formats.count)
    let reaches = rate[0] == 2 ? 1 : 0
    ranks = (wish.isSizeAsked ? [0] : [reaches]) + size + rate + [kind]
  }

  /// The wanted rate, or any; then faster ones, the slowest first; then slower ones, the fastest first.
  private static func rank(of rate: FrameRate, for wanted: Int) -> [Int] {
    if rate.isAny { return [0, 0] }
    // In thousandths of a frame a second, for the order alone.
    let speed = rate.numerator * 1000 / rate.denominator
    // |n/d - w| <= w * nearness / 1000, in whole numbers.
    let distance = abs(rate.numerator - wanted * rate.denominator)
    if distance * 1000 <= wanted * rate.denominator * nearness { return [0, distance] }
    return rate.numerator > wanted * rate.denominator ? [1, speed] : [2, -speed]
  }

  private static func isPossible(_ size: FrameSize) -> Bool {
    (1...largestSide).contains(size.width) && (1...largestSide).contains(size.height)
  }

  /// Of a range: the wanted size, or the next larger step, within the range.
  private static func nearest(
    _ wanted: FrameSize, _ least: FrameSize, _ most: FrameSize, _ step: FrameSize?
  ) -> FrameSize {
    func side(_ wanted: Int, _ least: Int, _ most: Int, _ step: Int) -> Int {
      let steps = max(0, wanted - least + step - 1) / step
      return min(least + steps * step, least + max(0, most - least) / step * step)
    }
    return FrameSize(
      side(wanted.width, least.width, most.width, max(1, step?.width ?? 1)),
      side(wanted.height, least.height, most.height, max(1, step?.height ?? 1)))
  }
}
