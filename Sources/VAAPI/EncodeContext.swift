import CVA

/// A driver's encoder for pictures of one size.
package struct EncodeContext: ~Copyable {
  private let context: Context

  /// `rateControl` is one mode and `packedHeaders` a part of what `capability` offers; `width` and
  /// `height` are the coded size.
  package init(
    on display: Display, capability: EncodeCapability, rateControl: RateControlModes,
    packedHeaders: PackedHeaders, width: Int, height: Int
  ) throws(VAError) {
    // These and no others: Intel's driver refuses unknown values. Slices stay one a picture, for its
    // low-power encoder has corrupted pictures of several; and there is no intra refresh, which only
    // it offers, for late viewers want a keyframe.
    var attributes = [
      VAConfigAttrib(type: VAConfigAttribRTFormat, value: UInt32(VA_RT_FORMAT_YUV420))
    ]
    if capability.namesRateControl {
      attributes.append(
        VAConfigAttrib(type: VAConfigAttribRateControl, value: rateControl.rawValue))
    }
    // Drivers without packed headers refuse the attribute even when it asks for none.
    if !packedHeaders.isEmpty {
      attributes.append(
        VAConfigAttrib(type: VAConfigAttribEncPackedHeaders, value: packedHeaders.rawValue))
    }
    context = try Context(
      on: display, profile: capability.profile.value, entrypoint: capability.entrypoint.value,
      attributes: attributes, width: width, height: height)
  }

  var display: Display { context.display }
  var id: VAContextID { context.id }

  /// Gives one picture to the driver: `input` is encoded as `parameters` say. Returns before the
  /// work is done; `parameters` may go at once.
  package borrowing func encode(
    _ input: borrowing Surface, parameters: consuming ParameterBuffers
  ) throws(VAError) {
    var parameters = parameters
    try unsafe parameters.withIDs { (ids, count) throws(VAError) in
      try unsafe context.render(ids, count: count, on: input.id)
    }
  }
}
