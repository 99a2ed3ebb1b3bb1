import CVA

/// A driver's context, and the configuration that it was made from; both are given back with it.
struct Context: ~Copyable {
  let display: Display
  let id: VAContextID
  private let config: VAConfigID

  /// `width` and `height` are those of the pictures that come out.
  init(
    on display: Display, profile: VAProfile, entrypoint: VAEntrypoint,
    attributes: [VAConfigAttrib] = [], width: Int, height: Int
  ) throws(VAError) {
    var attributes = attributes
    var config: VAConfigID = 0
    try unsafe check(
      vaCreateConfig(
        display.handle, profile, entrypoint, &attributes, Int32(attributes.count), &config),
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

  /// Gives one picture to the driver: `target`, and the buffers that say what becomes of it. Returns before
  /// the work is done; the buffers may go at once.
  borrowing func render(
    _ buffers: UnsafeMutablePointer<VABufferID>?, count: Int32, on target: VASurfaceID
  ) throws(VAError) {
    try unsafe check(vaBeginPicture(display.handle, id, target), "vaBeginPicture")
    let rendered = unsafe vaRenderPicture(display.handle, id, buffers, count)
    // A picture that was begun is ended also when a buffer was refused, or the next cannot begin.
    let ended = unsafe vaEndPicture(display.handle, id)
    try check(rendered, "vaRenderPicture")
    try check(ended, "vaEndPicture")
  }
}
