import Bitstream
import VAAPI

/// The headers that we write ourselves, and the same values in the driver's words, so that both
/// say one thing.
struct H264Headers {
  let sequenceSet: SequenceParameterSet
  let pictureSet: PictureParameterSet
  /// Both offsets of keyframes' deblocking, in the slice header's halves.
  let keyframeDeblocking: Int8
  private var bits = BitWriter(capacity: 64)

  /// The longest time between two keyframes that anyone may count on; here only a hint to drivers.
  private static let idrPeriod = 65_535

  init(
    configuration: EncoderConfiguration, profile: Profile, bitsPerSecond: Int,
    keyframeDeblocking: Int8 = 0
  ) throws(EncoderError) {
    let width = configuration.codedWidth / 16
    let height = configuration.codedHeight / 16
    guard
      let level = H264Level.lowest(
        widthInMacroblocks: width, heightInMacroblocks: height,
        framesPerSecond: configuration.framesPerSecond, bitsPerSecond: bitsPerSecond)
    else {
      throw .unavailable(
        "no level of H.264 allows \(configuration.width)x\(configuration.height) at "
          + "\(configuration.framesPerSecond) frames and \(bitsPerSecond) bits a second")
    }
    // constraint_set0 and 1: what we write, decoders of Baseline and of Main understand.
    let (profileIDC, constraints): (UInt8, UInt8) =
      switch profile {
      case .constrainedBaseline: (66, 0xc0)
      case .main: (77, 0x40)
      case .high: (100, 0)
      }
    var set = SequenceParameterSet(
      profileIDC: profileIDC, constraintFlags: constraints, levelIDC: level.idc,
      widthInMacroblocks: UInt32(width), heightInMacroblocks: UInt32(height))
    set.cropRight = UInt32(configuration.codedWidth - configuration.displayWidth)
    set.cropBottom = UInt32(configuration.codedHeight - configuration.displayHeight)
    // Frames come when the screen changes, so none of them lasts a fixed time.
    set.vui = VideoUsability(
      colour: configuration.colour.tags,
      timing: VideoUsability.Timing(
        unitsInTick: 1, timeScale: UInt32(configuration.framesPerSecond * 2), isFixed: false),
      restriction: VideoUsability.Restriction(maxReorderFrames: 0, maxDecodedFrames: 1))
    sequenceSet = set
    var pictureSet = PictureParameterSet(initialQP: Int32(RateControl.constantQP))
    pictureSet.usesCABAC = profile != .constrainedBaseline
    self.pictureSet = pictureSet
    self.keyframeDeblocking = keyframeDeblocking
  }

  /// SPS and PPS with start codes.
  var parameterSets: [UInt8] {
    AnnexB.unit(
      NALUnitHeader(type: .sequenceParameterSet, refIDC: 3), rbsp: sequenceSet.rbsp())
      + AnnexB.unit(NALUnitHeader(type: .pictureParameterSet, refIDC: 3), rbsp: pictureSet.rbsp())
  }

  /// Level times ten.
  var level: UInt8 { sequenceSet.levelIDC }

  /// MaxFrameNum: frame_num is counted modulo this.
  var maxFrameNum: Int32 { 1 << Int32(sequenceSet.log2MaxFrameNum) }

  var macroblockCount: Int {
    Int(sequenceSet.widthInMacroblocks * sequenceSet.heightInMacroblocks)
  }

  func sequence(framesPerSecond: Int, bitsPerSecond: Int) -> H264Sequence {
    H264Sequence(
      levelIDC: level, widthInMacroblocks: Int(sequenceSet.widthInMacroblocks),
      heightInMacroblocks: Int(sequenceSet.heightInMacroblocks),
      log2MaxFrameNum: Int(sequenceSet.log2MaxFrameNum), cropRight: Int(sequenceSet.cropRight),
      cropBottom: Int(sequenceSet.cropBottom), idrPeriod: Self.idrPeriod,
      framesPerSecond: framesPerSecond, bitsPerSecond: bitsPerSecond)
  }

  /// Adds the slice header of `picture`, from its start code to where slice data begins.
  mutating func addSliceHeader(
    of picture: H264Picture, to parameters: inout ParameterBuffers
  ) throws(VAError) {
    let unit = NALUnitHeader(
      type: picture.isIDR ? .sliceIDR : .slice, refIDC: picture.isIDR ? 3 : 2)
    var header = SliceHeader(
      type: picture.isIDR ? .i : .p, frameNum: UInt32(picture.frameNum),
      qpDelta: Int32(picture.qpDelta))
    header.idrPictureID = UInt32(picture.idrPictureID)
    header.alphaOffsetDiv2 = Int32(picture.deblockingOffset)
    header.betaOffsetDiv2 = Int32(picture.deblockingOffset)
    bits.reset()
    bits.put(1, bits: 32)  // the start code
    bits.put(UInt32(unit.byte), bits: 8)
    header.write(to: &bits, nal: unit, sequence: sequenceSet, picture: pictureSet)
    // Slice data in CABAC begins at a byte, behind ones; the length counts them, as ffmpeg's does.
    if pictureSet.usesCABAC { bits.alignWithOnes() }
    let bitLength = bits.bitCount
    bits.alignWithZeros()
    // The bytes never hold what has to be escaped: first_mb_in_slice, slice_qp_delta and the
    // deblocking control each set a bit, and frame_num between them has eight.
    try parameters.addPackedSlice(bits.bytes.span, bitLength: bitLength)
  }
}
