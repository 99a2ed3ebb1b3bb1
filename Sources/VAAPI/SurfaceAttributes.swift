import CVA

/// What a driver says of the surfaces that a configuration works on. It need not be all: Intel's drivers
/// before the twelfth generation leave out memory types that work, so a type is tried and not looked up.
struct SurfaceAttributes {
  /// nil where the driver says nothing.
  private(set) var minWidth: Int?
  private(set) var minHeight: Int?
  private(set) var maxWidth: Int?
  private(set) var maxHeight: Int?

  /// Everything unknown.
  init() {}

  /// Asks twice, as libva wants it: how many there are, and then for them.
  init(of config: VAConfigID, on display: Display) {
    var count: UInt32 = 0
    guard unsafe vaQuerySurfaceAttributes(display.handle, config, nil, &count) == VA_STATUS_SUCCESS
    else { return }
    var attributes = unsafe [VASurfaceAttrib](repeating: VASurfaceAttrib(), count: Int(count))
    guard
      unsafe vaQuerySurfaceAttributes(display.handle, config, &attributes, &count)
        == VA_STATUS_SUCCESS
    else { return }
    for index in 0..<min(Int(count), unsafe attributes.count) {
      let value = unsafe Int(attributes[index].value.value.i)
      switch unsafe attributes[index].type {
      case VASurfaceAttribMinWidth: minWidth = value
      case VASurfaceAttribMinHeight: minHeight = value
      case VASurfaceAttribMaxWidth: maxWidth = value
      case VASurfaceAttribMaxHeight: maxHeight = value
      default: break
      }
    }
  }
}
