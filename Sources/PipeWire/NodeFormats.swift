import CPipeWire

/// Asks a node in which modes it gives its pictures. Loop thread only; once, and until it is dropped,
/// which is not inside `onDone`.
@safe
package final class NodeFormats {
  private let raw: OpaquePointer
  private var listener: Listener<pw_node_events>?
  private var modes: [CameraMode] = []

  // What a node may say; a webcam has a hundred modes or so.
  private static let modeLimit = 1024

  /// nil when the connection shows no nodes. `onDone` is called from the loop, inside a callback of the
  /// connection's, with what the node said; with nothing where it says nothing.
  package init?(
    of node: Connection.Node, on connection: Connection,
    onDone: @escaping ([CameraMode]) -> Void
  ) {
    guard let registry = unsafe connection.registry,
      let bound = unsafe ph_registry_bind_node(registry, node.id)
    else { return nil }
    unsafe raw = bound
    let listener = Listener(Self.events)
    self.listener = listener
    unsafe ph_node_add_listener(
      raw, listener.hook, listener.events, Unmanaged.passUnretained(self).toOpaque())
    unsafe ph_node_enum_formats(raw)
    // The daemon passes the question on to the node's own process and answers us meanwhile: that process
    // is asked once more behind it.
    connection.roundTrip { [weak self] in
      guard let self else { return }
      unsafe ph_node_enum_formats(raw)
      connection.roundTrip { [weak self] in if let self { onDone(modes) } }
    }
  }

  deinit {
    listener = nil
    unsafe ph_node_destroy(raw)
  }

  private static var events: pw_node_events {
    var events = pw_node_events()
    events.version = UInt32(PW_VERSION_NODE_EVENTS)
    unsafe events.param = { context, _, id, _, _, param in
      guard id == SPA_PARAM_EnumFormat.rawValue, let param = unsafe param else { return }
      let formats = unsafe Unmanaged<NodeFormats>.fromOpaque(context!).takeUnretainedValue()
      for mode in unsafe CameraMode.all(in: param) where formats.modes.count < NodeFormats.modeLimit
      {
        if !formats.modes.contains(mode) { formats.modes.append(mode) }
      }
    }
    return events
  }
}

extension CameraMode {
  // In one parameter, of each property.
  private static let valueLimit = 256

  /// Those of one `EnumFormat` parameter; none when it is not of video, or says no size.
  fileprivate static func all(in param: UnsafePointer<spa_pod>) -> [CameraMode] {
    var type: UInt32 = 0
    var subtype: UInt32 = 0
    guard unsafe spa_format_parse(param, &type, &subtype) >= 0,
      type == SPA_MEDIA_TYPE_video.rawValue,
      let sizes: Choice<FrameSize> = unsafe choice(
        SPA_FORMAT_VIDEO_size, in: param, SPA_TYPE_Rectangle,
        { (size: spa_rectangle) in FrameSize(Int(size.width), Int(size.height)) })
    else { return [] }
    let rates: Choice<FrameRate>? = unsafe choice(
      SPA_FORMAT_VIDEO_framerate, in: param, SPA_TYPE_Fraction,
      { (rate: spa_fraction) in FrameRate(Int(rate.num), Int(rate.denom)) })
    var pictures: [Picture] = []
    if subtype == SPA_MEDIA_SUBTYPE_raw.rawValue {
      let numbers = unsafe values(SPA_FORMAT_VIDEO_format, in: param, SPA_TYPE_Id, UInt32.self)
      for number in numbers?.values ?? [] {
        let picture: Picture =
          PixelFormat(spa: number).map { .read($0) } ?? .other("format \(number)")
        if !pictures.contains(picture) { pictures.append(picture) }
      }
    } else {
      let picture: Picture =
        switch subtype {
        case SPA_MEDIA_SUBTYPE_mjpg.rawValue: .read(.mjpeg)
        case SPA_MEDIA_SUBTYPE_h264.rawValue: .other("H.264")
        default: .other("coding \(subtype)")
        }
      pictures = [picture]
    }
    return pictures.map { CameraMode(picture: $0, sizes: sizes, rates: rates ?? .these([.any])) }
  }

  /// Of a property with a choice the default comes first, and once more among the others.
  private static func choice<Raw, Value>(
    _ key: spa_format, in param: UnsafePointer<spa_pod>, _ type: Int, _ make: (Raw) -> Value
  ) -> Choice<Value>? {
    guard let (kind, raw) = unsafe values(key, in: param, type, Raw.self) else { return nil }
    let values = raw.map(make)
    switch kind {
    case SPA_CHOICE_Range.rawValue where values.count >= 3:
      return .range(values[1], values[2], step: nil)
    case SPA_CHOICE_Step.rawValue where values.count >= 4:
      return .range(values[1], values[2], step: values[3])
    case SPA_CHOICE_Enum.rawValue where values.count > 1: return .these(Array(values.dropFirst()))
    default: return .these([values[0]])
    }
  }

  private static func values<Raw>(
    _ key: spa_format, in param: UnsafePointer<spa_pod>, _ type: Int, _: Raw.Type
  ) -> (kind: UInt32, values: [Raw])? {
    var read = unsafe ph_values()
    guard unsafe ph_read_property(param, key.rawValue, &read), unsafe read.type == UInt32(type),
      let first = unsafe read.first
    else { return nil }
    let count = unsafe min(Int(read.count), valueLimit)
    return unsafe (
      read.choice,
      (0..<count).map { index in
        unsafe first.loadUnaligned(
          fromByteOffset: index * MemoryLayout<Raw>.stride, as: Raw.self)
      }
    )
  }
}
