import CVA

/// A driver's processor for pictures: RGB to NV12, cut out, turned and scaled on the way.
package struct VideoProcessor: ~Copyable {
  /// What becomes of a picture.
  package struct Job: Equatable, Sendable {
    /// A part of a picture, in pixels.
    package struct Region: Equatable, Sendable {
      package var x, y, width, height: Int

      package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
      }

      fileprivate var rectangle: VARectangle {
        VARectangle(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
      }
    }

    /// What of the source is shown.
    package var source: Region
    /// Where it is shown: even numbers; the rest of the target is black.
    package var target: Region
    /// Clockwise, before the mirroring left to right.
    package var quarterTurns: Int
    package var isMirrored: Bool
    /// BT.601 in the place of BT.709.
    package var isBT601: Bool

    package init(
      source: Region, target: Region, quarterTurns: Int, isMirrored: Bool, isBT601: Bool
    ) {
      self.source = source
      self.target = target
      self.quarterTurns = quarterTurns
      self.isMirrored = isMirrored
      self.isBT601 = isBT601
    }
  }

  private let context: Context
  /// Bits of 1 << VA_ROTATION_*, and of VA_MIRROR_*.
  private let rotations: UInt32
  private let mirrors: UInt32

  /// `width` and `height` are the target's.
  package init(on display: Display, width: Int, height: Int) throws(VAError) {
    let context = try Context(
      on: display, profile: VAProfileNone, entrypoint: VAEntrypointVideoProc, width: width,
      height: height)
    var caps = unsafe VAProcPipelineCaps()
    try unsafe check(
      vaQueryVideoProcPipelineCaps(display.handle, context.id, nil, 0, &caps),
      "vaQueryVideoProcPipelineCaps")
    self.context = context
    rotations = unsafe caps.rotation_flags
    mirrors = unsafe caps.mirror_flags
  }

  /// Whether it turns pictures so; one that does not would leave them as they are and say nothing.
  package func turns(by quarterTurns: Int, isMirrored: Bool) -> Bool {
    (quarterTurns == 0 || rotations & (1 << UInt32(quarterTurns)) != 0)
      && (!isMirrored || mirrors & UInt32(VA_MIRROR_HORIZONTAL) != 0)
  }

  /// Converts `source` into `target`. Returns before the work is done; some drivers, asked to wait for
  /// `target`, do not, so `source` must stay until what is encoded from it is there.
  package func process(
    _ source: borrowing ImportedSurface, into target: borrowing Surface, _ job: Job
  ) throws(VAError) {
    var from = job.source.rectangle
    var to = job.target.rectangle
    // The same standard twice: a recent Mesa takes the one, other drivers the other.
    let standard = job.isBT601 ? VAProcColorStandardBT601 : VAProcColorStandardBT709
    var pipeline = unsafe VAProcPipelineParameterBuffer()
    unsafe pipeline.surface = source.id
    unsafe pipeline.surface_color_standard = standard
    unsafe pipeline.output_color_standard = standard
    unsafe pipeline.output_background_color = 0xff00_0000
    unsafe pipeline.rotation_state = UInt32(job.quarterTurns)
    unsafe pipeline.mirror_state = UInt32(job.isMirrored ? VA_MIRROR_HORIZONTAL : VA_MIRROR_NONE)
    unsafe pipeline.input_color_properties.color_range = UInt8(VA_SOURCE_RANGE_FULL)
    unsafe pipeline.output_color_properties.color_range = UInt8(VA_SOURCE_RANGE_REDUCED)
    // The driver reads the regions behind their pointers until the picture was given to it.
    try unsafe withUnsafePointer(to: &from) { (from) throws(VAError) in
      try unsafe withUnsafePointer(to: &to) { (to) throws(VAError) in
        unsafe pipeline.surface_region = from
        unsafe pipeline.output_region = to
        unsafe try run(&pipeline, target: target.id)
      }
    }
    try target.sync()
  }

  private func run(
    _ pipeline: inout VAProcPipelineParameterBuffer, target: VASurfaceID
  ) throws(VAError) {
    let display = context.display
    var buffer: VABufferID = 0
    try unsafe check(
      vaCreateBuffer(
        display.handle, context.id, VAProcPipelineParameterBufferType,
        UInt32(MemoryLayout<VAProcPipelineParameterBuffer>.size), 1, &pipeline, &buffer),
      "vaCreateBuffer")
    defer { unsafe vaDestroyBuffer(display.handle, buffer) }
    try unsafe context.render(&buffer, count: 1, on: target)
  }
}
