import CVA
import Glibc
import TestSupport
import Testing

@testable import SoftwareDriver

/// Surfaces in the driver's memory and in a client's, and what is said about them.
struct SurfaceTests {
  private func display(_ words: String = "") throws -> DriverDisplay {
    var options = DriverOptions()
    options.personality = try #require(Personality(words: words))
    return try DriverDisplay(options: options)
  }

  /// The bytes of a surface's pixels, rows without padding.
  private func pixels(of surface: VASurfaceID, on display: DriverDisplay) throws -> [UInt8] {
    var image = VAImage()
    try check(vaDeriveImage(display.display, surface, &image))
    defer { vaDestroyImage(display.display, image.image_id) }
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(display.display, image.buf, &data))
    defer { vaUnmapBuffer(display.display, image.buf) }
    let bytesPerPixel = image.num_planes == 2 ? 1 : 4
    var bytes: [UInt8] = []
    func take(offset: UInt32, pitch: UInt32, rows: Int) {
      for row in 0..<rows {
        let start = data! + Int(offset) + row * Int(pitch)
        bytes += UnsafeRawBufferPointer(start: start, count: Int(image.width) * bytesPerPixel)
      }
    }
    take(offset: image.offsets.0, pitch: image.pitches.0, rows: Int(image.height))
    if image.num_planes == 2 {
      take(offset: image.offsets.1, pitch: image.pitches.1, rows: Int(image.height) / 2)
    }
    return bytes
  }

  private func attributes(of display: DriverDisplay) throws -> [VASurfaceAttrib] {
    let entrypoint =
      display.vendor.hasSuffix("intel-cqp") ? VAEntrypointEncSliceLP : VAEntrypointEncSlice
    var config = VAConfigID()
    try check(
      vaCreateConfig(
        display.display, VAProfileH264ConstrainedBaseline, entrypoint, nil, 0, &config))
    var count: UInt32 = 0
    try check(vaQuerySurfaceAttributes(display.display, config, nil, &count))
    var list = [VASurfaceAttrib](repeating: VASurfaceAttrib(), count: Int(count))
    var few = count - 1
    #expect(
      vaQuerySurfaceAttributes(display.display, config, &list, &few)
        == VA_STATUS_ERROR_MAX_NUM_EXCEEDED)
    #expect(few == count)
    try check(vaQuerySurfaceAttributes(display.display, config, &list, &count))
    return list
  }

  @Test("attributes are counted, then listed: formats, bounds, memory")
  func queries() throws {
    let list = try attributes(of: display())
    func values(_ type: VASurfaceAttribType) -> [UInt32] {
      list.filter { $0.type == type }.map { UInt32(bitPattern: $0.value.value.i) }
    }
    #expect(values(VASurfaceAttribPixelFormat) == [SurfaceFormat.nv12.fourcc])
    #expect(values(VASurfaceAttribMinWidth) == [16] && values(VASurfaceAttribMinHeight) == [16])
    #expect(values(VASurfaceAttribMaxWidth) == [4096] && values(VASurfaceAttribMaxHeight) == [4096])
    #expect(values(VASurfaceAttribMemoryType) == [0x4000_0001])
    #expect(list.contains { $0.type == VASurfaceAttribExternalBufferDescriptor })
  }

  @Test("a client's memory is a surface: what one writes the other sees, without its descriptor")
  func importing() throws {
    for format in SurfaceFormat.allCases {
      let display = try display()
      let surface: VASurfaceID
      var expected: [UInt8] = []
      do {
        let memory = try PrimeMemory(format, width: 34, height: 22)
        var random = SplitMix(seed: 3)
        for plane in 0..<(format == .nv12 ? 2 : 1) {
          for row in 0..<(plane == 1 ? 11 : 22) {
            let bytes = UnsafeMutableRawBufferPointer(
              start: memory.row(row, plane: UInt32(plane)), count: 34 * format.bytesPerPixel)
            for index in bytes.indices { bytes[index] = UInt8(random.below(256)) }
            expected += bytes
          }
        }
        surface = try memory.surface(on: display, format)
      }
      let found = try pixels(of: surface, on: display)
      #expect(found == expected, "\(format)")
    }
  }

  @Test("an import that contradicts itself is refused")
  func refusals() throws {
    let display = try display()
    func status(
      _ format: SurfaceFormat = .bgrx, width: Int? = nil, _ spoil: (PrimeMemory) -> Void
    ) throws -> VAStatus {
      let memory = try PrimeMemory(format, width: 32, height: 32)
      spoil(memory)
      do {
        _ = try memory.surface(on: display, format, width: width)
        return VA_STATUS_SUCCESS
      } catch {
        return try #require((error as? VAFailure)?.status)
      }
    }
    let invalid = VA_STATUS_ERROR_INVALID_PARAMETER
    #expect(try status { _ in } == VA_STATUS_SUCCESS)
    // DRM's name of the format where libva's belongs, and the other way round.
    #expect(try status { $0.prime.fourcc = SurfaceFormat.bgrx.drmFourcc } == invalid)
    #expect(
      try status {
        $0.prime.num_layers = 0
        va_prime_add_layer(&$0.prime, SurfaceFormat.bgrx.fourcc)
        va_prime_add_plane(&$0.prime, 0, 128)
      } == invalid)
    #expect(try status { $0.prime.fourcc = SurfaceFormat.rgbx.fourcc } == invalid)
    #expect(try status { $0.prime.num_objects = 0 } == invalid)
    #expect(try status { $0.prime.num_layers = 0 } == invalid)
    #expect(try status { $0.prime.num_objects = 5 } == invalid)
    #expect(try status(width: 33) { _ in } == invalid)
    #expect(try status { $0.set { $0.size = 4000 } } == invalid)
    #expect(try status { ftruncate($0.descriptor, 4000) } == invalid)
    #expect(try status { $0.set { $0.fd = -1 } } == invalid)
    let unsupported = VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT
    #expect(try status { $0.set { $0.modifier = 1 << 56 | 1 } } == unsupported)
    #expect(try status { $0.set { $0.modifier = DRMModifier.invalid } } == VA_STATUS_SUCCESS)
    // A plane less, planes of two pitches.
    func planes(_ memory: PrimeMemory, _ pitches: [UInt32]) {
      memory.prime.num_layers = 0
      va_prime_add_layer(&memory.prime, SurfaceFormat.nv12.drmFourcc)
      for pitch in pitches { va_prime_add_plane(&memory.prime, 0, pitch) }
    }
    #expect(try status(.nv12) { planes($0, [64]) } == invalid)
    #expect(try status(.nv12) { planes($0, [64, 128]) } == invalid)
    #expect(try status(.nv12) { planes($0, [30, 30]) } == invalid)
    #expect(try status(.nv12) { planes($0, [64, 64]) } == VA_STATUS_SUCCESS)
  }

  @Test("drivers differ in what they import and in what they say of it")
  func personalities() throws {
    let memory = try PrimeMemory(.bgrx, width: 32, height: 32)
    let unsupported = VAFailure(status: VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE)
    let without = try display("no-import")
    #expect(throws: unsupported) { try memory.surface(on: without, .bgrx) }
    memory.set { $0.modifier = 1 << 56 | 2 }
    _ = try memory.surface(on: display("intel"), .bgrx)
    let silent = try display("intel-cqp")
    _ = try memory.surface(on: silent, .bgrx)
    let memoryTypes = try attributes(of: silent).first { $0.type == VASurfaceAttribMemoryType }
    #expect(memoryTypes?.value.value.i == VA_SURFACE_ATTRIB_MEM_TYPE_VA)
  }

  @Test("an exported surface is its own memory, in one layer or in one for each plane")
  func exporting() throws {
    let display = try display()
    for (format, isSeparate) in [(SurfaceFormat.nv12, false), (.nv12, true), (.bgra, false)] {
      var id = VASurfaceID()
      var attribute = settable(VASurfaceAttribPixelFormat, Int32(bitPattern: format.fourcc))
      try check(
        vaCreateSurfaces(display.display, format.renderTargetFormat, 40, 24, &id, 1, &attribute, 1))
      var prime = VADRMPRIMESurfaceDescriptor()
      let layers =
        isSeparate ? VA_EXPORT_SURFACE_SEPARATE_LAYERS : VA_EXPORT_SURFACE_COMPOSED_LAYERS
      try check(
        vaExportSurfaceHandle(
          display.display, id, UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2),
          UInt32(VA_EXPORT_SURFACE_READ_WRITE | layers), &prime))
      let object = va_prime_object(&prime, 0)
      defer { close(object.fd) }
      #expect(prime.fourcc == format.fourcc && object.modifier == 0)
      #expect(Int(prime.num_layers) == (isSeparate ? 2 : 1))
      #expect(
        va_prime_layer_format(&prime, 0)
          == (isSeparate ? format.drmPlanes[0] : format.drmFourcc))
      let last = va_prime_plane(
        &prime, prime.num_layers - 1, format == .nv12 && !isSeparate ? 1 : 0)
      let pages = try #require(
        mmap(nil, Int(object.size), PROT_READ | PROT_WRITE, MAP_SHARED, object.fd, 0))
      defer { munmap(pages, Int(object.size)) }
      pages.storeBytes(of: 77, toByteOffset: Int(last.offset), as: UInt8.self)
      let found = try pixels(of: id, on: display)
      #expect(found[format == .nv12 ? 40 * 24 : 0] == 77, "\(format)")
    }
    var prime = VADRMPRIMESurfaceDescriptor()
    let type = UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
    #expect(
      vaExportSurfaceHandle(display.display, 9, type, 0, &prime) == VA_STATUS_ERROR_INVALID_SURFACE)
  }

  @Test("a picture is encoded from a client's own NV12 memory, through windows too")
  func encodingImports() throws {
    let text = Picture.text(width: 64, height: 48, seed: 4)
    let client = try DriverClient(mode: .lossless, width: 64, height: 48)
    let memory = try PrimeMemory(.nv12, width: 64, height: 48)
    for row in 0..<48 {
      for x in 0..<64 {
        memory.row(row).storeBytes(of: text.luma(x, row), toByteOffset: x, as: UInt8.self)
        guard row < 24 else { continue }
        memory.row(row, plane: 1).storeBytes(
          of: text.chroma(x, row), toByteOffset: x, as: UInt8.self)
      }
    }
    let surface = try memory.surface(on: client.display, .nv12)
    client.adjust = { $0.source = surface }
    let coded = try client.encode(Picture(width: 64, height: 48))
    #expect(coded.reconstruction == text.nv12)
  }

  @Test("an encoder takes no surface of another format, and none that is too small")
  func unfit() throws {
    let client = try DriverClient(width: 64, height: 48)
    let va = client.display.display
    var unfit = [VASurfaceID](repeating: 0, count: 2)
    try check(
      vaCreateSurfaces(va, UInt32(VA_RT_FORMAT_RGB32), 64, 48, &unfit[0], 1, nil, 0))
    try check(
      vaCreateSurfaces(va, UInt32(VA_RT_FORMAT_YUV420), 64, 32, &unfit[1], 1, nil, 0))
    for surface in unfit {
      let spoilers: [(inout PictureParameters) -> Void] = [
        { $0.source = surface }, { $0.picture.CurrPic.picture_id = surface },
      ]
      for spoil in spoilers {
        client.adjust = spoil
        #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_SURFACE)) {
          try client.encode(Picture(width: 64, height: 48))
        }
      }
    }
  }

  @Test("surfaces are made in the format asked for, or refused")
  func formats() throws {
    let display = try display()
    var id = VASurfaceID()
    func status(_ target: Int32, _ attribute: VASurfaceAttrib) -> VAStatus {
      var attribute = attribute
      return vaCreateSurfaces(display.display, UInt32(target), 32, 32, &id, 1, &attribute, 1)
    }
    func format(_ fourcc: UInt32) -> VASurfaceAttrib {
      settable(VASurfaceAttribPixelFormat, Int32(bitPattern: fourcc))
    }
    let unsupported = VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT
    #expect(status(VA_RT_FORMAT_RGB32, format(SurfaceFormat.rgba.fourcc)) == VA_STATUS_SUCCESS)
    #expect(status(VA_RT_FORMAT_YUV420, format(SurfaceFormat.rgba.fourcc)) == unsupported)
    #expect(status(VA_RT_FORMAT_RGB32, format(SurfaceFormat.nv12.fourcc)) == unsupported)
    #expect(status(VA_RT_FORMAT_RGB32, format(SurfaceFormat.rgba.drmFourcc)) == unsupported)
    #expect(status(VA_RT_FORMAT_YUV444, settable(VASurfaceAttribUsageHint, 0)) == unsupported)
    #expect(
      status(VA_RT_FORMAT_YUV420, settable(VASurfaceAttribMinWidth, 1))
        == VA_STATUS_ERROR_ATTR_NOT_SUPPORTED)
    #expect(
      status(
        VA_RT_FORMAT_RGB32,
        settable(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME))
        == VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE)
    #expect(
      status(
        VA_RT_FORMAT_RGB32,
        settable(VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2))
        == VA_STATUS_ERROR_INVALID_PARAMETER)
  }

  @Test("pixels go through images of the same format, and no other")
  func images() throws {
    let display = try display()
    let va = display.display
    var id = VASurfaceID()
    try check(vaCreateSurfaces(va, UInt32(VA_RT_FORMAT_RGB32), 32, 32, &id, 1, nil, 0))
    var formats = [VAImageFormat](repeating: VAImageFormat(), count: Int(vaMaxNumImageFormats(va)))
    var count: Int32 = 0
    try check(vaQueryImageFormats(va, &formats, &count))
    #expect(formats.prefix(Int(count)).map(\.fourcc) == SurfaceFormat.allCases.map(\.fourcc))
    var image = VAImage()
    var other = VAImage()
    try check(vaCreateImage(va, &formats[1], 32, 32, &image))
    try check(vaCreateImage(va, &formats[0], 32, 32, &other))
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(va, image.buf, &data))
    data?.storeBytes(of: 0x0102_0304, toByteOffset: Int(image.pitches.0) * 3 + 20, as: UInt32.self)
    try check(vaUnmapBuffer(va, image.buf))
    try check(vaPutImage(va, id, image.image_id, 4, 2, 8, 8, 6, 4, 8, 8))
    #expect(
      vaPutImage(va, id, other.image_id, 0, 0, 8, 8, 0, 0, 8, 8)
        == VA_STATUS_ERROR_INVALID_IMAGE_FORMAT)
    #expect(
      vaGetImage(va, id, 0, 0, 8, 8, other.image_id) == VA_STATUS_ERROR_INVALID_IMAGE_FORMAT)
    // What was at (5, 3) of the image is at (7, 5) of the surface.
    let found = try pixels(of: id, on: display)
    #expect(Array(found[(5 * 32 + 7) * 4..<(5 * 32 + 8) * 4]) == [4, 3, 2, 1])
  }

  @Test("an import that may only be read is encoded from, and never written")
  func readOnly() throws {
    let client = try DriverClient(width: 64, height: 48)
    let memory = try PrimeMemory(.nv12, width: 64, height: 48)
    let reader = open("/proc/self/fd/\(memory.descriptor)", O_RDONLY | O_CLOEXEC)
    defer { close(reader) }
    memory.set { $0.fd = reader }
    let surface = try memory.surface(on: client.display, .nv12)
    client.adjust = { $0.source = surface }
    try client.encode(Picture(width: 64, height: 48))
    client.adjust = { $0.picture.CurrPic.picture_id = surface }
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_INVALID_SURFACE)) {
      try client.encode(Picture(width: 64, height: 48))
    }
  }
}
