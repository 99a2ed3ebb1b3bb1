import CPipeWire

/// Which formats a stream asks for. What is not asked for is never agreed on.
struct FormatWish {
  static let largestSide: UInt32 = 16_384

  let frameRate: Int
  /// The one way of a camera that is asked for; nil takes any.
  let camera: CameraFormat?
  /// Dma-bufs that are still asked for.
  private var deviceChoices: [DMABufChoice]

  init(frameRate: Int, modifiers: [UInt64], camera: CameraFormat?) {
    self.frameRate = frameRate
    self.camera = camera
    deviceChoices = PixelFormat.device.flatMap { format in
      modifiers.map { DMABufChoice(format: format, modifier: $0) }
    }
  }

  /// Without dma-bufs of this kind, or (nil) without any; false when they were not asked for.
  mutating func drop(_ choice: DMABufChoice?) -> Bool {
    let kept = deviceChoices.filter { choice != nil && $0 != choice }
    defer { deviceChoices = kept }
    return kept.count < deviceChoices.count
  }

  /// Calls `body` with the formats, the best first: those in dma-bufs by themselves, since each may have
  /// other modifiers left.
  func withParameters(
    _ body: (UnsafeMutablePointer<UnsafePointer<spa_pod>?>, UInt32) -> Int32
  ) -> Int32 {
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8192) { space in
      var builder = unsafe spa_pod_builder()
      unsafe spa_pod_builder_init(&builder, space.baseAddress, UInt32(space.count))
      var params: [UnsafePointer<spa_pod>?] = unsafe []
      if let camera {
        unsafe params.append(
          ph_build_camera_format(
            &builder, camera.pixel.spa,
            spa_rectangle(
              width: UInt32(clamping: camera.size.width),
              height: UInt32(clamping: camera.size.height)),
            spa_fraction(
              num: UInt32(clamping: camera.rate.numerator),
              denom: UInt32(clamping: camera.rate.denominator))))
      } else {
        for format in PixelFormat.device {
          let modifiers = deviceChoices.filter { $0.format == format }.map(\.modifier)
          if !modifiers.isEmpty { unsafe params.append(build(&builder, [format], modifiers)) }
        }
        unsafe params.append(build(&builder, PixelFormat.plain, []))
      }
      let count = unsafe UInt32(params.count)
      return unsafe params.withUnsafeMutableBufferPointer { params in
        unsafe body(params.baseAddress!, count)
      }
    }
  }

  private func build(
    _ builder: UnsafeMutablePointer<spa_pod_builder>, _ formats: [PixelFormat],
    _ modifiers: [UInt64]
  ) -> UnsafePointer<spa_pod>? {
    let formats = formats.map(\.spa)
    return unsafe formats.withUnsafeBufferPointer { formats in
      unsafe modifiers.withUnsafeBufferPointer { modifiers in
        var wish = unsafe ph_format_wish(
          formats: formats.baseAddress, format_count: UInt32(formats.count),
          max_size: Self.largestSide, frame_rate: UInt32(frameRate),
          modifiers: modifiers.baseAddress, modifier_count: UInt32(modifiers.count))
        return unsafe ph_build_format(builder, &wish)
      }
    }
  }
}
