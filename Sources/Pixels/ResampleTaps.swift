/// Of which pixels each scaled pixel is made along one axis: a smaller picture's of all that it covers,
/// a larger one's of the two nearest.
package struct ResampleTaps {
  /// Pixels for each scaled one, one after the other.
  package let count: Int
  /// The first of them, for each scaled pixel.
  package let first: [UInt32]
  /// `count` weights for each scaled pixel, which sum to 256.
  package let weights: [UInt16]

  /// From `side` to `scaled` pixels.
  package init(from side: Int, to scaled: Int) {
    let ratio = Double(side) / Double(scaled)
    count = min(side, side > scaled ? Int(ratio.rounded(.up)) + 1 : side < scaled ? 2 : 1)
    var first: [UInt32] = []
    var weights: [UInt16] = []
    first.reserveCapacity(scaled)
    weights.reserveCapacity(scaled * count)
    for index in 0..<scaled {
      let middle = (Double(index) + 0.5) * ratio
      let reach = max(1, ratio) / 2
      // The first may lie further ahead than needed, so that all taps lie within the side.
      let start = max(0, min(Int((middle - reach).rounded(.down)), side - count))
      first.append(UInt32(start))
      var sum = 0.0
      var given = 0
      let shares = (start..<start + count).map { pixel in
        let overlap =
          min(middle + reach, Double(pixel) + 1) - max(middle - reach, Double(pixel))
        return max(0, overlap)
      }
      let whole = shares.reduce(0, +)
      // Rounded as a running sum, so that they make 256 exactly.
      for share in shares {
        sum += share
        let upTo = Int((sum / whole * 256).rounded())
        weights.append(UInt16(upTo - given))
        given = upTo
      }
    }
    self.first = first
    self.weights = weights
  }

  /// The pixels that the scaled ones of `range` are made of.
  package func sources(of range: Range<Int>) -> Range<Int> {
    Int(first[range.lowerBound])..<Int(first[range.upperBound - 1]) + count
  }
}
