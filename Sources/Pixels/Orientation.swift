/// How a picture is turned: by quarter turns clockwise, and then mirrored left to right or not.
package struct Orientation: Equatable, Sendable {
  /// 0 to 3.
  package let quarterTurns: Int
  package let isMirrored: Bool

  package static let upright = Orientation(quarterTurns: 0, isMirrored: false)

  /// Any number of turns, also negative ones.
  package init(quarterTurns: Int, isMirrored: Bool) {
    self.quarterTurns = quarterTurns & 3
    self.isMirrored = isMirrored
  }

  /// What shows a frame upright that its producer calls turned by `SPA_META_TRANSFORMATION_*`: it says
  /// that the content was mirrored left to right (4 and above) and then turned counter-clockwise. Any
  /// other number stands for upright.
  package init(undoing transformation: UInt32) {
    let isKnown = transformation < 8
    self.init(
      quarterTurns: isKnown ? Int(transformation & 3) : 0,
      isMirrored: isKnown && transformation >= 4)
  }

  /// Whether width and height change places.
  package var isTransposed: Bool { quarterTurns & 1 == 1 }

  /// This, and then `next`.
  package func followed(by next: Orientation) -> Orientation {
    // To turn what is mirrored is to mirror what is turned the other way.
    Orientation(
      quarterTurns: quarterTurns + (isMirrored ? -next.quarterTurns : next.quarterTurns),
      isMirrored: isMirrored != next.isMirrored)
  }

  /// Whether rows of the source, from its first one, become rows (or, when transposed, columns) of the
  /// picture from its last one.
  package var reversesRows: Bool {
    isTransposed ? (quarterTurns == 1) != isMirrored : quarterTurns == 2
  }

  /// The same for the source's columns.
  package var reversesColumns: Bool {
    isTransposed ? quarterTurns == 3 : (quarterTurns == 2) != isMirrored
  }
}
