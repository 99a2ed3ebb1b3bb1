/// How well a picture is to be coded, and what it may cost.
struct PicturePlan {
  /// QP of macroblocks whose source changed; grows when the picture comes out too long.
  private(set) var qp: Int
  /// The fidelity that macroblocks whose source did not change are brought to, and the one that those are
  /// brought to first which are hard to read.
  let stillQP: Int
  let readableQP: Int
  /// Bits left for bringing them there.
  var refinementBits: Int
  /// Coarse macroblocks that stand still and have not been come to.
  private var coarseLeft: Int
  /// What the changed macroblocks should cost at most.
  private let limitBits: Int
  /// What the whole picture may take, or the decoder's buffer runs dry.
  let hardBits: Int
  /// Where the bits of the whole picture end, less what one macroblock may take.
  private var endBits = Int.max
  private let largestQP: Int
  /// What there is to code in the picture, and of it so far, with its bits.
  private let load: PictureLoad
  private var coded = PictureLoad()
  private var codedBits = 0
  /// How far the picture was when it was judged last.
  private var judged = (detail: 0, bits: 0)
  private let firstQP: Int
  private var qpSum = 0

  /// One QP for everything, whatever it costs.
  init(constantQP qp: Int) {
    self.init(
      qp: qp, stillQP: qp, readableQP: qp, refinementBits: .max, limitBits: .max, hardBits: .max,
      largestQP: qp,
      load: PictureLoad())
  }

  init(
    qp: Int, stillQP: Int, readableQP: Int, refinementBits: Int, limitBits: Int, hardBits: Int,
    largestQP: Int, load: PictureLoad
  ) {
    self.qp = qp
    firstQP = qp
    self.stillQP = stillQP
    self.readableQP = readableQP
    self.refinementBits = refinementBits
    coarseLeft = load.coarseCount
    self.limitBits = limitBits
    self.hardBits = hardBits
    self.largestQP = largestQP
    self.load = load
  }

  /// The slice's data begins behind so many bits.
  mutating func begin(at bits: Int) {
    if hardBits < .max { endBits = bits + hardBits - PictureEncoder.largestMacroblockBits }
  }

  /// Whether nothing more may be coded when so many bits are.
  func isFull(at bits: Int) -> Bool { bits >= endBits }

  /// About what it takes to bring nearer a macroblock that stands still, one that is hard to read or another.
  static let coarseBits = 150.0
  static let blurredBits = 60.0

  /// Whether one that stands still is brought nearer: those that are hard to read before the others.
  mutating func mayRefine(isCoarse: Bool) -> Bool {
    if isCoarse { coarseLeft &-= 1 }
    return refinementBits > (isCoarse ? 0 : coarseLeft &* Int(Self.coarseBits))
  }

  mutating func noteChanged(bits: Int, detail: Int32) {
    coded.changedCount &+= 1
    coded.detail &+= Int(detail)
    codedBits &+= bits
    qpSum &+= qp
  }

  /// What the changed macroblocks took.
  var changedBits: Int { codedBits }

  /// Over the changed macroblocks; the plan's when none changed.
  var meanQP: Double {
    coded.changedCount == 0 ? Double(qp) : Double(qpSum) / Double(coded.changedCount)
  }

  /// Called between rows: coarsens the rest when the picture is on its way past the limit, and takes
  /// that back when it turns out to have been too much.
  mutating func adapt() {
    let detail = coded.detail - judged.detail
    // A thirtieth of the picture's detail says enough to judge the rest by.
    guard limitBits < .max, detail > load.detail / 30 else { return }
    let recent = Double(codedBits - judged.bits) / Double(detail)
    let expected = Double(codedBits) + recent * Double(load.detail - coded.detail)
    if expected > Double(limitBits) {
      qp = min(qp + 1, largestQP)
    } else if expected < 0.8 * Double(limitBits) {
      qp = max(qp - 1, firstQP)
    }
    judged = (coded.detail, codedBits)
  }

  /// The plan for coding the picture once more after it did not fit, six QP coarser.
  func coarser() -> PicturePlan? {
    guard qp < 51 else { return nil }
    return PicturePlan(
      qp: min(qp + 6, 51), stillQP: min(stillQP + 6, 51), readableQP: min(readableQP + 6, 51),
      refinementBits: 0, limitBits: limitBits, hardBits: hardBits, largestQP: 51, load: load)
  }
}
