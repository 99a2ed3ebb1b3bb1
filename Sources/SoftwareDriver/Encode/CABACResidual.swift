/// The kinds of residual block, as ctxBlockCat numbers them (table 9-42).
enum BlockCategory: Int {
  case lumaDC, lumaAC, luma, chromaDC, chromaAC

  /// What table 9-40 adds to where the contexts of an element begin: coded_block_flag,
  @inline(__always) var flagOffset: Int { 4 &* rawValue }

  /// significant_coeff_flag and last_significant_coeff_flag,
  @inline(__always) var mapOffset: Int {
    switch self {
    case .lumaDC: 0
    case .lumaAC: 15
    case .luma: 29
    case .chromaDC: 44
    case .chromaAC: 47
    }
  }

  /// and coeff_abs_level_minus1.
  @inline(__always) var magnitudeOffset: Int { self == .chromaAC ? 39 : 10 &* rawValue }
}

extension CABACEncoder {
  /// residual_block_cabac(), clause 7.3.5.3.3, behind coded_block_flag: a block that has levels.
  mutating func put(
    _ block: ResidualBlock, _ category: BlockCategory, into sink: inout BitSink
  ) {
    var interval = self.interval
    let end = 31 &- block.mask.leadingZeroBitCount
    let significance = CABACContexts.significance &+ category.mapOffset
    let last = CABACContexts.last &+ category.mapOffset
    var position = 0
    // The last place of all needs no words: it is what is left.
    while position <= end, position < block.size &- 1 {
      let hasLevel = Int(block.mask &>> UInt32(position) & 1)
      put(hasLevel, significance &+ position, &interval, into: &sink)
      if hasLevel == 1 {
        put(position == end ? 1 : 0, last &+ position, &interval, into: &sink)
      }
      position &+= 1
    }
    putLevels(of: block, category, &interval, into: &sink)
    self.interval = interval
  }

  /// Magnitudes and signs, highest frequency first.
  @inline(__always) private mutating func putLevels(
    of block: ResidualBlock, _ category: BlockCategory, _ interval: inout CodingInterval,
    into sink: inout BitSink
  ) {
    let first = CABACContexts.magnitude &+ category.magnitudeOffset
    let mostGreater = category == .chromaDC ? 3 : 4
    var ones = 0
    var greater = 0
    var left = block.mask
    while left != 0 {
      let position = 31 &- left.leadingZeroBitCount
      left &= ~(1 &<< UInt32(position))
      let level = block.level(at: position)
      let rest = abs(level) &- 1
      let context = first &+ (greater > 0 ? 0 : min(4, 1 &+ ones))
      put(rest > 0 ? 1 : 0, context, &interval, into: &sink)
      if rest == 0 {
        ones &+= 1
      } else {
        putRest(rest, first &+ 5 &+ min(mostGreater, greater), &interval, into: &sink)
        greater &+= 1
      }
      putBypass(level < 0 ? 1 : 0, count: 1, &interval, into: &sink)
    }
  }

  /// What a magnitude has above 1: unary up to 14 in all, then Exp-Golomb.
  @inline(__always) private mutating func putRest(
    _ rest: Int, _ context: Int, _ interval: inout CodingInterval, into sink: inout BitSink
  ) {
    for _ in 1..<min(rest, 14) { put(1, context, &interval, into: &sink) }
    if rest < 14 {
      put(0, context, &interval, into: &sink)
    } else {
      putSuffix(rest &- 14, order: 0, &interval, into: &sink)
    }
  }

  /// One part of mvd_l0, in UEG3; `neighbours` is the sum of its magnitudes at the left and above.
  mutating func putMotion(
    _ difference: Int, _ first: Int, neighbours: Int, into sink: inout BitSink
  ) {
    var interval = self.interval
    let magnitude = abs(difference)
    let context = first &+ (neighbours < 3 ? 0 : neighbours > 32 ? 2 : 1)
    put(magnitude > 0 ? 1 : 0, context, &interval, into: &sink)
    if magnitude > 0 {
      for bin in 1..<min(magnitude, 9) {
        put(1, first &+ min(bin &+ 2, 6), &interval, into: &sink)
      }
      if magnitude < 9 {
        put(0, first &+ min(magnitude &+ 2, 6), &interval, into: &sink)
      } else {
        putSuffix(magnitude &- 9, order: 3, &interval, into: &sink)
      }
      putBypass(difference < 0 ? 1 : 0, count: 1, &interval, into: &sink)
    }
    self.interval = interval
  }
}
