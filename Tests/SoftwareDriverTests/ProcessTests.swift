import CVA
import Testing

@testable import SoftwareDriver

/// The video processor: colours, scale, crop, rotation, mirroring, each against what libva's headers say.
struct ProcessTests {
  /// Different at every pixel and in every channel.
  private func color(_ x: Int, _ y: Int) -> UInt32 {
    UInt32(x * 7 & 0xff) << 16 | UInt32(y * 11 & 0xff) << 8 | UInt32((x * 3) ^ (y * 5)) & 0xff
  }

  /// Which source pixel shows at (`x`, `y`), as va_vpp.h has it: for a rotation by 90 degrees the first
  /// pixel is the source's bottom left; mirroring comes after. `width` and `height` are the source's.
  private func origin(
    _ x: Int, _ y: Int, rotation: Int, mirror: Int32, width: Int, height: Int
  ) -> (Int, Int) {
    let size = rotation & 1 == 1 ? (height, width) : (width, height)
    let x = mirror & VA_MIRROR_HORIZONTAL != 0 ? size.0 - 1 - x : x
    let y = mirror & VA_MIRROR_VERTICAL != 0 ? size.1 - 1 - y : y
    switch rotation {
    case 1: return (y, height - 1 - x)
    case 2: return (width - 1 - x, height - 1 - y)
    case 3: return (width - 1 - y, x)
    default: return (x, y)
    }
  }

  @Test(
    "all eight transforms put every pixel where it belongs",
    arguments: [(34, 22), (131, 67), (67, 200)])
  func transforms(width: Int, height: Int) throws {
    let client = try ProcessClient()
    let source = try client.surface(.bgrx, width: width, height: height)
    try client.draw(source, color)
    for rotation in 0..<4 {
      for mirror in [VA_MIRROR_NONE, VA_MIRROR_HORIZONTAL, VA_MIRROR_VERTICAL] {
        let size = rotation & 1 == 1 ? (height, width) : (width, height)
        let target = try client.surface(.rgba, width: size.0, height: size.1)
        try client.process(source, to: target) {
          $0.rotation_state = UInt32(rotation)
          $0.mirror_state = UInt32(mirror)
        }
        let expected = (0..<size.1).map { y in
          (0..<size.0).map { x in
            let from = origin(
              x, y, rotation: rotation, mirror: mirror, width: width, height: height)
            return color(from.0, from.1)
          }
        }
        let isExact = try client.colors(of: target) == expected
        #expect(isExact, "rotation \(rotation), mirror \(mirror)")
      }
    }
  }

  @Test("NV12 is turned as RGB is, luma and chroma", arguments: [Int?.none, 0])
  func transformsNV12(kept: Int?) throws {
    let client = try ProcessClient(keptByteCount: kept ?? SurfacePixels.keptByteCount)
    let (width, height) = (150, 86)
    func sample(_ plane: Int, _ x: Int, _ y: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: x * (7 + plane) + y * (11 - plane))
    }
    let source = try client.surface(.nv12, width: width, height: height)
    try client.drawNV12(source, sample)
    for rotation in 0..<4 {
      let size = rotation & 1 == 1 ? (height, width) : (width, height)
      let target = try client.surface(.nv12, width: size.0, height: size.1)
      try client.process(source, to: target) {
        $0.rotation_state = UInt32(rotation)
        $0.mirror_state = UInt32(VA_MIRROR_HORIZONTAL)
      }
      let expected = (0..<size.1).map { y in
        (0..<size.0).map { x in
          func from(_ divisor: Int) -> (Int, Int) {
            origin(
              x / divisor, y / divisor, rotation: rotation, mirror: VA_MIRROR_HORIZONTAL,
              width: width / divisor, height: height / divisor)
          }
          let (luma, chroma) = (from(1), from(2))
          return SIMD3(
            Int(sample(0, luma.0, luma.1)), Int(sample(1, chroma.0, chroma.1)),
            Int(sample(2, chroma.0, chroma.1)))
        }
      }
      let isExact = try client.samples(of: target) == expected
      #expect(isExact, "rotation \(rotation)")
    }
  }

  /// Y, Cb and Cr of limited range by the standards' own formulas.
  private func ideal(_ color: UInt32, _ red: Double, _ blue: Double) -> SIMD3<Double> {
    let r = Double(color >> 16 & 0xff) / 255
    let g = Double(color >> 8 & 0xff) / 255
    let b = Double(color & 0xff) / 255
    let y = red * r + (1 - red - blue) * g + blue * b
    return SIMD3(
      16 + 219 * y, 128 + 224 * (b - y) / (2 * (1 - blue)), 128 + 224 * (r - y) / (2 * (1 - red)))
  }

  private let patches: [UInt32] = [
    0, 0xffffff, 0x101010, 0x808080, 0xebebeb, 0xff0000, 0x00ff00, 0x0000ff, 0xffff00, 0x40c080,
  ]

  private func expectPatches(
    _ client: ProcessClient, _ format: SurfaceFormat, isBT601: Bool,
    _ change: (inout VAProcPipelineParameterBuffer) -> Void
  ) throws {
    let source = try client.surface(format, width: 16 * patches.count, height: 16)
    try client.draw(source) { x, _ in patches[x / 16] }
    let target = try client.surface(.nv12, width: 16 * patches.count, height: 16)
    try client.process(source, to: target, change)
    let samples = try client.samples(of: target)
    for (index, patch) in patches.enumerated() {
      let wanted = isBT601 ? ideal(patch, 0.299, 0.114) : ideal(patch, 0.2126, 0.0722)
      let found = samples[7][16 * index + 8]
      for channel in 0..<3 {
        #expect(abs(Double(found[channel]) - wanted[channel]) <= 0.6, "\(format) \(index)")
      }
    }
  }

  @Test("RGB becomes limited range of the standard asked for, in every order of bytes")
  func colours() throws {
    let client = try ProcessClient()
    for format in SurfaceFormat.allCases where format != .nv12 {
      try expectPatches(client, format, isBT601: false) { _ in }
      try expectPatches(client, format, isBT601: true) {
        $0.output_color_standard = VAProcColorStandardBT601
      }
    }
    try expectPatches(client, .bgrx, isBT601: true) {
      $0.output_color_standard = VAProcColorStandardExplicit
      $0.output_color_properties.matrix_coefficients = 6
    }
    // Nothing said, and few rows.
    try expectPatches(client, .bgrx, isBT601: true) {
      $0.output_color_standard = VAProcColorStandardNone
    }
  }

  @Test("amd-old converts by BT.709 whatever it is told, amd-new by what the input is said to have")
  func coloursOfOthers() throws {
    try expectPatches(ProcessClient("amd-old"), .bgrx, isBT601: false) {
      $0.surface_color_standard = VAProcColorStandardBT601
      $0.output_color_standard = VAProcColorStandardBT601
    }
    for isBT601 in [false, true] {
      try expectPatches(ProcessClient("amd-new"), .bgrx, isBT601: isBT601) {
        $0.surface_color_standard = isBT601 ? VAProcColorStandardBT601 : VAProcColorStandardBT709
        $0.output_color_standard = isBT601 ? VAProcColorStandardBT709 : VAProcColorStandardBT601
      }
    }
  }

  @Test("NV12 becomes RGB again")
  func back() throws {
    let client = try ProcessClient()
    for standard in [VAProcColorStandardBT709, VAProcColorStandardBT601] {
      let source = try client.surface(.rgbx, width: 16 * patches.count, height: 16)
      try client.draw(source) { x, _ in patches[x / 16] }
      let middle = try client.surface(.nv12, width: 16 * patches.count, height: 16)
      let target = try client.surface(.bgra, width: 16 * patches.count, height: 16)
      for (from, to) in [(source, middle), (middle, target)] {
        try client.process(from, to: to) {
          $0.surface_color_standard = standard
          $0.output_color_standard = standard
        }
      }
      let colors = try client.colors(of: target)
      for (index, patch) in patches.enumerated() {
        for shift in [0, 8, 16] as [UInt32] {
          let found = Int(colors[3][16 * index + 5] >> shift & 0xff)
          #expect(abs(found - Int(patch >> shift & 0xff)) <= 2, "patch \(index)")
        }
      }
    }
  }

  @Test(
    "a part is cut out, scaled, and put in its place on the background", arguments: [0, 4 << 20])
  func regions(keptByteCount: Int) throws {
    let client = try ProcessClient(keptByteCount: keptByteCount)
    let source = try client.surface(.bgrx, width: 90, height: 70)
    // Blocks of 4x4, in a part that begins at (6, 10).
    func block(_ x: Int, _ y: Int) -> UInt32 { color(x * 9, y * 9) }
    try client.draw(source) { x, y in
      (6..<86).contains(x) && (10..<58).contains(y) ? block((x - 6) / 4, (y - 10) / 4) : 0xff00ff
    }
    let target = try client.surface(.bgrx, width: 64, height: 48)
    let part = VARectangle(x: 6, y: 10, width: 80, height: 48)
    for factor in [1, 2, 4] {
      let place = VARectangle(
        x: 4, y: 6, width: UInt16(40 / factor), height: UInt16(24 / factor))
      try client.process(source, to: target, from: part, into: place) {
        $0.output_background_color = 0xff12_3456
      }
      let colors = try client.colors(of: target)
      for y in 0..<48 {
        for x in 0..<64 {
          let isInside = (4..<4 + 40 / factor).contains(x) && (6..<6 + 24 / factor).contains(y)
          guard isInside else {
            #expect(colors[y][x] == 0x123456, "(\(x), \(y)) at 1/\(factor)")
            continue
          }
          guard factor == 2 else { continue }
          // Each pixel is the mean of a whole block.
          #expect(colors[y][x] == block(x - 4, y - 6), "(\(x), \(y))")
        }
      }
    }
  }

  @Test("the background of NV12 is what its colour is there")
  func backgroundNV12() throws {
    let client = try ProcessClient()
    let source = try client.surface(.bgrx, width: 32, height: 32)
    try client.draw(source) { _, _ in 0xffffff }
    let target = try client.surface(.nv12, width: 64, height: 32)
    let place = VARectangle(x: 16, y: 0, width: 32, height: 32)
    try client.process(source, to: target, into: place)
    let samples = try client.samples(of: target)
    for row in samples {
      #expect(row[..<16].allSatisfy { $0 == SIMD3(16, 128, 128) })
      #expect(row[16..<48].allSatisfy { $0 == SIMD3(235, 128, 128) })
      #expect(row[48...].allSatisfy { $0 == SIMD3(16, 128, 128) })
    }
  }

  @Test("scaled and turned at once, the picture is the one scaled and then turned")
  func scaledAndTurned() throws {
    let client = try ProcessClient(keptByteCount: 0)
    let source = try client.surface(.bgrx, width: 200, height: 150)
    try client.draw(source, color)
    let small = try client.surface(.bgrx, width: 90, height: 50)
    let turned = try client.surface(.bgrx, width: 50, height: 90)
    let once = try client.surface(.bgrx, width: 50, height: 90)
    func turn(_ pipeline: inout VAProcPipelineParameterBuffer) { pipeline.rotation_state = 1 }
    try client.process(source, to: small)
    try client.process(small, to: turned, turn)
    try client.process(source, to: once, turn)
    let isSame = try client.colors(of: once) == client.colors(of: turned)
    #expect(isSame)
  }

  @Test("a larger picture shows the same colours, between its pixels means of them")
  func enlarging() throws {
    let client = try ProcessClient()
    let source = try client.surface(.bgrx, width: 32, height: 16)
    try client.draw(source) { x, _ in x < 16 ? 0 : 0xffffff }
    let target = try client.surface(.bgrx, width: 96, height: 48)
    try client.process(source, to: target)
    let row = try client.colors(of: target)[20].map { Int($0 & 0xff) }
    #expect(row[..<46].allSatisfy { $0 == 0 } && row[50...].allSatisfy { $0 == 255 })
    #expect(zip(row, row.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test("what a processor cannot do is refused")
  func refusals() throws {
    let client = try ProcessClient("no-mirror")
    let source = try client.surface(.bgrx, width: 32, height: 32)
    let target = try client.surface(.nv12, width: 32, height: 32)
    func status(
      from part: VARectangle? = nil, into place: VARectangle? = nil,
      _ change: (inout VAProcPipelineParameterBuffer) -> Void = { _ in }
    ) -> VAStatus {
      do {
        try client.process(source, to: target, from: part, into: place, change)
        return VA_STATUS_SUCCESS
      } catch {
        return (error as? VAFailure)?.status ?? -1
      }
    }
    let invalid = VA_STATUS_ERROR_INVALID_PARAMETER
    #expect(status(from: VARectangle(x: 1, y: 0, width: 32, height: 32)) == invalid)
    #expect(status(from: VARectangle(x: -1, y: 0, width: 32, height: 32)) == invalid)
    #expect(status(into: VARectangle(x: 0, y: 0, width: 32, height: 33)) == invalid)
    #expect(status(into: VARectangle(x: 1, y: 0, width: 30, height: 32)) == invalid)
    #expect(status(into: VARectangle(x: 0, y: 0, width: 31, height: 32)) == invalid)
    #expect(status(into: VARectangle(x: 0, y: 0, width: 0, height: 32)) == invalid)
    #expect(status { $0.rotation_state = 4 } == invalid)
    #expect(status { $0.mirror_state = UInt32(VA_MIRROR_HORIZONTAL) } == invalid)
    #expect(status { $0.num_filters = 1 } == VA_STATUS_ERROR_UNSUPPORTED_FILTER)
    #expect(status { $0.surface = target } == VA_STATUS_ERROR_INVALID_SURFACE)
    #expect(status { $0.surface = 77 } == VA_STATUS_ERROR_INVALID_SURFACE)
    let unimplemented = VA_STATUS_ERROR_UNIMPLEMENTED
    #expect(
      status { $0.output_color_properties.color_range = UInt8(VA_SOURCE_RANGE_FULL) }
        == unimplemented)
    #expect(status { $0.output_color_standard = VAProcColorStandardBT2020 } == unimplemented)
    #expect(status { $0.num_additional_outputs = 1 } == unimplemented)
    #expect(status() == VA_STATUS_SUCCESS)
  }

  @Test("late-processor reads its source when the target is used, and only then")
  func late() throws {
    for (words, expected) in [("late-processor", 0x00ff00), ("", 0xff0000)] as [(String, UInt32)] {
      let client = try ProcessClient(words)
      let source = try client.surface(.bgrx, width: 32, height: 32)
      let target = try client.surface(.bgrx, width: 32, height: 32)
      try client.draw(source) { _, _ in 0xff0000 }
      try client.process(source, to: target)
      try client.draw(source) { _, _ in 0x00ff00 }
      #expect(try client.colors(of: target)[5][5] == expected)
      try client.draw(source) { _, _ in 0x0000ff }
      #expect(try client.colors(of: target)[5][5] == expected)
    }
  }

  @Test("the caps say what there is")
  func caps() throws {
    for (words, rotations, mirrors) in [
      ("", UInt32(15), UInt32(3)), ("no-rotation", 1, 3), ("no-mirror", 15, 0), ("amd-old", 1, 0),
    ] {
      let client = try ProcessClient(words)
      var caps = VAProcPipelineCaps()
      try check(
        vaQueryVideoProcPipelineCaps(client.display.display, client.context, nil, 0, &caps))
      #expect(caps.rotation_flags == rotations && caps.mirror_flags == mirrors)
      let formats = UnsafeBufferPointer(
        start: caps.input_pixel_format, count: Int(caps.num_input_pixel_formats))
      #expect(Array(formats) == SurfaceFormat.allCases.map(\.fourcc))
      #expect(caps.max_input_width == 4096)
    }
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_UNSUPPORTED_PROFILE)) {
      try ProcessClient("no-processor")
    }
  }
}
