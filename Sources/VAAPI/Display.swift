import CVA

/// An initialised libva display. Everything made on it holds it, so it outlives its surfaces and
/// contexts. libva locks nothing: one thread at a time uses a display and what was made on it.
@safe
package final class Display {
  let handle: VADisplay
  /// What the driver calls itself; our own says there that it is software.
  package let vendor: String
  /// Whether a coded buffer can be waited for alone (vaSyncBuffer, VA-API 1.9 and a driver with it).
  let canSyncBuffers: Bool
  private let messages: Messages
  /// Held as long as the display: libva does not own the descriptor of a render node.
  private let node: RenderNode?

  /// Initialises `handle`, which is terminated whether or not that works.
  init(taking handle: VADisplay, node: consuming RenderNode? = nil) throws(VAError) {
    let messages = Messages()
    unsafe messages.take(from: handle)
    var major: Int32 = 0
    var minor: Int32 = 0
    let status = unsafe vaInitialize(handle, &major, &minor)
    if status != VA_STATUS_SUCCESS {
      unsafe vaTerminate(handle)
      throw .unavailable(messages.explained(.failed(call: "vaInitialize", status: status)))
    }
    unsafe self.handle = handle
    self.messages = messages
    self.node = node
    vendor =
      unsafe vaQueryVendorString(handle).map { unsafe String(cString: $0) } ?? "unknown driver"
    canSyncBuffers =
      unsafe vaSyncBuffer(handle, VA_INVALID_ID, 0) != VA_STATUS_ERROR_UNIMPLEMENTED
  }

  deinit {
    unsafe vaTerminate(handle)
  }

  /// The error with what the driver said about it, in one line.
  package func explained(_ error: VAError) -> String { messages.explained(error) }

  /// Opens what `choice` names. `driverFolder` is where the software driver's module lies.
  package static func open(
    _ choice: DisplayChoice, driverFolder: String
  ) throws(VAError) -> Display {
    switch choice {
    case .none: return try softwareDisplay(driverFolder: driverFolder)
    case .drm(let path?): return try namedRenderNode(path: path)
    case .drm(nil): return try firstRenderNode { _ in true }
    case .auto: return try firstRenderNode { display in display.firstH264Encoder() != nil }
    case .x11, .wayland:
      throw .unavailable("this build opens no X11 or Wayland display: use drm, auto or none")
    }
  }
}
