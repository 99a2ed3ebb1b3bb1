import CVA

/// A configuration and the encoder made from it.
package struct EncodeContext: ~Copyable {
  let display: Display
  let id: VAContextID
  private let config: VAConfigID

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
    var config: VAConfigID = 0
    try unsafe check(
      vaCreateConfig(
        display.handle, capability.profile.value, capability.entrypoint.value, &attributes,
        Int32(attributes.count), &config),
      "vaCreateConfig")
    var id: VAContextID = 0
    let status = unsafe vaCreateContext(
      display.handle, config, Int32(width), Int32(height), VA_PROGRESSIVE, nil, 0, &id)
    if status != VA_STATUS_SUCCESS {
      unsafe vaDestroyConfig(display.handle, config)
      throw .failed(call: "vaCreateContext", status: status)
    }
    self.display = display
    self.id = id
    self.config = config
  }

  deinit {
    unsafe vaDestroyContext(display.handle, id)
    unsafe vaDestroyConfig(display.handle, config)
  }

  /// Gives one picture to the driver: `input` is encoded as `parameters` say. Returns before the
  /// work is done; `parameters` may go at once.
  package borrowing func encode(
    _ input: borrowing Surface, parameters: consuming ParameterBuffers
  ) throws(VAError) {
    try unsafe check(vaBeginPicture(display.handle, id, input.id), "vaBeginPicture")
    var parameters = parameters
    let rendered = unsafe parameters.withIDs { ids, count in
      unsafe vaRenderPicture(display.handle, id, ids, count)
    }
    // A picture that was begun is ended also when a buffer was refused, or the next cannot begin.
    let ended = unsafe vaEndPicture(display.handle, id)
    try check(rendered, "vaRenderPicture")
    try check(ended, "vaEndPicture")
  }
}
