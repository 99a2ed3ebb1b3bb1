import CVA
import Testing

@testable import SoftwareDriver

/// A client of the video processor, with surfaces that it fills and reads pixel by pixel.
final class ProcessClient {
  let display: DriverDisplay
  private var config = VAConfigID()
  private(set) var context = VAContextID()

  private var va: VADisplay { display.display }

  init(_ words: String = "", keptByteCount: Int = SurfacePixels.keptByteCount) throws {
    var options = DriverOptions()
    options.personality = try #require(Personality(words: words))
    options.keptByteCount = keptByteCount
    display = try DriverDisplay(options: options)
    try check(vaCreateConfig(va, VAProfileNone, VAEntrypointVideoProc, nil, 0, &config))
    try check(vaCreateContext(va, config, 64, 64, VA_PROGRESSIVE, nil, 0, &context))
  }

  func surface(_ format: SurfaceFormat, width: Int, height: Int) throws -> VASurfaceID {
    var id = VASurfaceID()
    var attribute = settable(VASurfaceAttribPixelFormat, Int32(bitPattern: format.fourcc))
    try check(
      vaCreateSurfaces(
        va, format.renderTargetFormat, UInt32(width), UInt32(height), &id, 1, &attribute, 1))
    return id
  }

  /// Gives the surface's pixels to `body`: the image that describes them and where they begin.
  func withPixels<Result>(
    of surface: VASurfaceID, _ body: (VAImage, UnsafeMutablePointer<UInt8>) -> Result
  ) throws -> Result {
    var image = VAImage()
    try check(vaDeriveImage(va, surface, &image))
    defer { vaDestroyImage(va, image.image_id) }
    var data: UnsafeMutableRawPointer?
    try check(vaMapBuffer(va, image.buf, &data))
    defer { vaUnmapBuffer(va, image.buf) }
    return body(image, try #require(data).assumingMemoryBound(to: UInt8.self))
  }

  /// Fills a surface of four-byte pixels with 0xRRGGBB.
  func draw(_ surface: VASurfaceID, _ color: (_ x: Int, _ y: Int) -> UInt32) throws {
    try withPixels(of: surface) { image, bytes in
      let red = image.format.red_mask == 0xff ? 0 : 2
      for y in 0..<Int(image.height) {
        for x in 0..<Int(image.width) {
          let pixel = bytes + y * Int(image.pitches.0) + 4 * x
          let value = color(x, y)
          pixel[red] = UInt8(value >> 16 & 0xff)
          pixel[1] = UInt8(value >> 8 & 0xff)
          pixel[2 - red] = UInt8(value & 0xff)
          pixel[3] = 255
        }
      }
    }
  }

  /// Fills an NV12 surface; chroma sample (x, y) of plane 1 (Cb) and 2 (Cr) has coordinates of its own.
  func drawNV12(_ surface: VASurfaceID, _ sample: (_ plane: Int, _ x: Int, _ y: Int) -> UInt8)
    throws
  {
    try withPixels(of: surface) { image, bytes in
      for y in 0..<Int(image.height) {
        for x in 0..<Int(image.width) { bytes[y * Int(image.pitches.0) + x] = sample(0, x, y) }
      }
      for y in 0..<(Int(image.height) + 1) / 2 {
        let row = bytes + Int(image.offsets.1) + y * Int(image.pitches.1)
        for x in 0..<(Int(image.width) + 1) / 2 {
          row[2 * x] = sample(1, x, y)
          row[2 * x + 1] = sample(2, x, y)
        }
      }
    }
  }

  /// Pixels of four bytes as 0xRRGGBB, row by row.
  func colors(of surface: VASurfaceID) throws -> [[UInt32]] {
    try withPixels(of: surface) { image, bytes in
      let red = image.format.red_mask == 0xff ? 0 : 2
      return (0..<Int(image.height)).map { y in
        (0..<Int(image.width)).map { x in
          let pixel = bytes + y * Int(image.pitches.0) + 4 * x
          return UInt32(pixel[red]) << 16 | UInt32(pixel[1]) << 8 | UInt32(pixel[2 - red])
        }
      }
    }
  }

  /// Y, Cb and Cr of NV12, row by row, at luma's places.
  func samples(of surface: VASurfaceID) throws -> [[SIMD3<Int>]] {
    try withPixels(of: surface) { image, bytes in
      (0..<Int(image.height)).map { y in
        let chroma = bytes + Int(image.offsets.1) + y / 2 * Int(image.pitches.1)
        return (0..<Int(image.width)).map { x in
          SIMD3(
            Int(bytes[y * Int(image.pitches.0) + x]), Int(chroma[x & ~1]), Int(chroma[x | 1]))
        }
      }
    }
  }

  /// Processes one picture.
  func process(
    _ source: VASurfaceID, to target: VASurfaceID, from part: VARectangle? = nil,
    into place: VARectangle? = nil,
    _ change: (inout VAProcPipelineParameterBuffer) -> Void = { _ in }
  ) throws {
    var pipeline = VAProcPipelineParameterBuffer()
    pipeline.surface = source
    pipeline.surface_color_standard = VAProcColorStandardBT709
    pipeline.output_color_standard = VAProcColorStandardBT709
    pipeline.output_background_color = 0xff00_0000
    change(&pipeline)
    var rectangles = [part ?? VARectangle(), place ?? VARectangle()]
    try rectangles.withUnsafeMutableBufferPointer { rectangles in
      let start = try #require(rectangles.baseAddress)
      if part != nil { pipeline.surface_region = UnsafePointer(start) }
      if place != nil { pipeline.output_region = UnsafePointer(start + 1) }
      var buffer = VABufferID()
      try check(
        vaCreateBuffer(
          va, context, VAProcPipelineParameterBufferType,
          UInt32(MemoryLayout<VAProcPipelineParameterBuffer>.size), 1, &pipeline, &buffer))
      defer { vaDestroyBuffer(va, buffer) }
      try check(vaBeginPicture(va, context, target))
      let rendered = vaRenderPicture(va, context, &buffer, 1)
      let ended = vaEndPicture(va, context)
      try check(rendered)
      try check(ended)
    }
    try check(vaSyncSurface(va, target))
  }
}
