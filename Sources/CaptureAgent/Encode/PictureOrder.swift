import Bitstream
import VAAPI

/// Numbers pictures as H.264 wants them: one reference, no reordering, IDR at any time.
struct PictureOrder {
  private var orderIndex: Int32 = 0
  private var idrCount: UInt16 = 0
  /// An IDR picture comes before the count of pictures since the last one runs out of its bits.
  private static let maxOrderIndex: Int32 = 1 << 28

  /// Whether the next picture has nothing to refer to, or may not.
  private(set) var needsIDR = true

  /// Which of the two reconstructions the next picture is decoded into; the other is its reference.
  private(set) var reconstruction = 0
  var reference: Int { 1 - reconstruction }

  /// The numbers of the next picture. Nothing is counted before `advance`.
  func next(keyframe: Bool, headers: H264Headers, qpDelta: Int8) -> H264Picture {
    let isIDR = keyframe || needsIDR
    let order = isIDR ? 0 : orderIndex
    return H264Picture(
      isIDR: isIDR, frameNum: UInt16(order % headers.maxFrameNum), orderIndex: order,
      idrPictureID: isIDR ? idrCount & 1 : 0,
      initialQP: UInt8(RateControl.constantQP), qpDelta: qpDelta,
      macroblockCount: headers.macroblockCount, usesCABAC: headers.pictureSet.usesCABAC,
      deblockingOffset: isIDR ? headers.keyframeDeblocking : 0)
  }

  /// `picture` was encoded.
  mutating func advance(past picture: H264Picture) {
    orderIndex = picture.orderIndex + 1
    if picture.isIDR { idrCount &+= 1 }
    needsIDR = orderIndex == Self.maxOrderIndex
    reconstruction = reference
  }

  /// The last picture was lost, so no picture may refer to it.
  mutating func lose() { needsIDR = true }
}
