import VAAPI

/// Everything that an encoder holds for one picture size, given back together: the context first,
/// then what was made for it.
final class EncoderPictures {
  let context: EncodeContext
  /// One, for a picture is encoded before the next one is loaded.
  let input: Surface
  /// Two, by turns: the picture being decoded along, and the one before it as its reference.
  let reconstructions: InlineArray<2, Surface>
  /// One, for an access unit is sent, or queued, before the next picture is encoded.
  let coded: CodedBuffer

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
    coded = try CodedBuffer(for: context, byteCount: configuration.codedBufferByteCount)
  }
}
