import VAAPI
import Wire

/// Everything that an encoder holds for one picture size, given back together: the context first,
/// then what was made for it.
final class EncoderPictures {
  private(set) var context: EncodeContext
  /// One, for a picture is encoded before the next one is loaded.
  let input: Surface
  /// Two, by turns: the picture being decoded along, and the one before it as its reference.
  let reconstructions: InlineArray<2, Surface>
  /// One, for an access unit is sent, or queued, before the next picture is encoded.
  private(set) var coded: CodedBuffer
  private(set) var codedByteCount: Int
  private let display: Display
  private let choice: EncoderChoice
  private let size: (width: Int, height: Int)

  /// The largest coded buffer that is of use: no message carries more.
  static let largestCodedByteCount = WireLimits.payload

  init(
    on display: Display, choice: EncoderChoice, configuration: EncoderConfiguration
  ) throws(VAError) {
    let width = configuration.codedWidth
    let height = configuration.codedHeight
    context = try EncodeContext(
      on: display, capability: choice.capability, rateControl: choice.rateControl,
      packedHeaders: choice.packedHeaders, width: width, height: height)
    input = try Surface(on: display, width: width, height: height)
    reconstructions = try InlineArray { (_) throws(VAError) in
      try Surface(on: display, width: width, height: height)
    }
    codedByteCount = configuration.codedBufferByteCount
    coded = try CodedBuffer(for: context, byteCount: codedByteCount)
    self.display = display
    self.choice = choice
    size = (width, height)
  }

  /// Takes as large a coded buffer as is of use. No access unit may be mapped.
  func enlargeCoded() throws(VAError) {
    try coded.remake(for: context, byteCount: Self.largestCodedByteCount)
    codedByteCount = Self.largestCodedByteCount
  }

  /// Begins with another context, whose first picture is an IDR picture; the input stays as it is.
  func remakeContext() throws(VAError) {
    context = try EncodeContext(
      on: display, capability: choice.capability, rateControl: choice.rateControl,
      packedHeaders: choice.packedHeaders, width: size.width, height: size.height)
    try coded.remake(for: context, byteCount: codedByteCount)
  }
}
