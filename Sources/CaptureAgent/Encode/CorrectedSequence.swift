import Bitstream

/// The sequence parameter set that a driver wrote itself, with what it left out: Mesa 22 tags no colours,
/// and its pictures may be held back. None of that changes how slices are decoded.
@safe
final class CorrectedSequence {
  private let bytes: UnsafeMutableRawBufferPointer

  /// More than any parameter set without scaling lists.
  private static let capacity = 256

  init() {
    unsafe bytes = .allocate(byteCount: Self.capacity, alignment: 1)
  }

  deinit { unsafe bytes.deallocate() }

  /// What `set` has to be to say of colour and order what the pictures are; nil where it says so.
  static func corrected(
    _ set: SequenceParameterSet, colour: VideoUsability.Colour
  ) -> SequenceParameterSet? {
    var corrected = set
    var vui = set.vui ?? VideoUsability(colour: nil, timing: nil, restriction: nil)
    vui.colour = colour
    vui.restriction = VideoUsability.Restriction(
      maxReorderFrames: 0, maxDecodedFrames: set.maxRefFrameCount)
    corrected.vui = vui
    return corrected == set ? nil : corrected
  }

  /// The access unit with `unit`, a NAL unit without start code, in the place of its bytes `range`.
  /// `unit` lies here until the next call; nil when it does not fit.
  func put(_ unit: [UInt8], in range: Range<Int>, of access: AccessUnit) -> AccessUnit? {
    guard unit.count <= Self.capacity else { return nil }
    unsafe bytes.copyBytes(from: unit)
    return unsafe access.replacing(
      range, by: UnsafeRawBufferPointer(rebasing: bytes[..<unit.count]))
  }
}
