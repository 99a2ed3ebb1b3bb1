/// vui_parameters(), clause E.1.1: what a player must know to show the picture right and at once.
package struct VideoUsability: Equatable, Sendable {
  /// Square samples are said when true; nothing about their shape otherwise.
  package var hasSquareSamples = true
  package var colour: Colour?
  package var timing: Timing?
  package var restriction: Restriction?

  /// video_signal_type with its colour description; numbers of tables E-3 to E-5.
  package struct Colour: Equatable, Sendable {
    package var isFullRange: Bool
    package var primaries: UInt8
    package var transfer: UInt8
    package var matrix: UInt8

    /// Limited range BT.709: 1/1/1.
    package static let bt709 = Colour(isFullRange: false, primaries: 1, transfer: 1, matrix: 1)
    /// Limited range BT.601 as 525 lines had it, with the transfer of both: 6/1/6.
    package static let bt601 = Colour(isFullRange: false, primaries: 6, transfer: 1, matrix: 6)

    package init(isFullRange: Bool, primaries: UInt8, transfer: UInt8, matrix: UInt8) {
      self.isFullRange = isFullRange
      self.primaries = primaries
      self.transfer = transfer
      self.matrix = matrix
    }
  }

  /// timing_info: a field lasts `unitsInTick / timeScale` seconds, a frame twice that.
  package struct Timing: Equatable, Sendable {
    package var unitsInTick: UInt32
    package var timeScale: UInt32
    package var isFixed: Bool

    package init(unitsInTick: UInt32, timeScale: UInt32, isFixed: Bool) {
      self.unitsInTick = unitsInTick
      self.timeScale = timeScale
      self.isFixed = isFixed
    }
  }

  /// bitstream_restriction: without it decoders may hold pictures back.
  package struct Restriction: Equatable, Sendable {
    package var maxReorderFrames: UInt32
    package var maxDecodedFrames: UInt32

    package init(maxReorderFrames: UInt32, maxDecodedFrames: UInt32) {
      self.maxReorderFrames = maxReorderFrames
      self.maxDecodedFrames = maxDecodedFrames
    }
  }

  package init(colour: Colour?, timing: Timing?, restriction: Restriction?) {
    self.colour = colour
    self.timing = timing
    self.restriction = restriction
  }

  func write(to bits: inout BitWriter) {
    bits.put(hasSquareSamples)
    if hasSquareSamples { bits.put(1, bits: 8) }
    bits.put(false)  // overscan_info_present_flag
    bits.put(colour != nil)
    if let colour {
      bits.put(5, bits: 3)  // video_format: unspecified
      bits.put(colour.isFullRange)
      bits.put(true)
      bits.put(UInt32(colour.primaries), bits: 8)
      bits.put(UInt32(colour.transfer), bits: 8)
      bits.put(UInt32(colour.matrix), bits: 8)
    }
    bits.put(false)  // chroma_loc_info_present_flag
    bits.put(timing != nil)
    if let timing {
      bits.put(timing.unitsInTick, bits: 32)
      bits.put(timing.timeScale, bits: 32)
      bits.put(timing.isFixed)
    }
    bits.put(false)  // nal_hrd_parameters_present_flag
    bits.put(false)  // vcl_hrd_parameters_present_flag
    bits.put(false)  // pic_struct_present_flag
    bits.put(restriction != nil)
    if let restriction {
      bits.put(true)  // motion_vectors_over_pic_boundaries_flag
      bits.putUE(0)  // max_bytes_per_pic_denom: no limit
      bits.putUE(0)  // max_bits_per_mb_denom: no limit
      bits.putUE(16)  // log2_max_mv_length_horizontal
      bits.putUE(16)  // log2_max_mv_length_vertical
      bits.putUE(restriction.maxReorderFrames)
      bits.putUE(restriction.maxDecodedFrames)
    }
  }

  init(from bits: inout BitReader) throws(BitstreamError) {
    hasSquareSamples = false
    if try bits.readFlag() {
      let shape = try bits.read(bits: 8)
      hasSquareSamples = shape == 1
      if shape == 255 { _ = try bits.read(bits: 32) }
    }
    if try bits.readFlag() { _ = try bits.readFlag() }  // overscan
    if try bits.readFlag() {
      _ = try bits.read(bits: 3)
      let isFullRange = try bits.readFlag()
      var described = Colour(isFullRange: isFullRange, primaries: 2, transfer: 2, matrix: 2)
      if try bits.readFlag() {
        described.primaries = UInt8(try bits.read(bits: 8))
        described.transfer = UInt8(try bits.read(bits: 8))
        described.matrix = UInt8(try bits.read(bits: 8))
      }
      colour = described
    }
    if try bits.readFlag() {  // chroma sample location
      _ = try bits.readUE()
      _ = try bits.readUE()
    }
    if try bits.readFlag() {
      timing = Timing(
        unitsInTick: try bits.read(bits: 32), timeScale: try bits.read(bits: 32),
        isFixed: try bits.readFlag())
    }
    let hasNALHRD = try bits.readFlag()
    if hasNALHRD { try Self.skipHRD(&bits) }
    let hasVCLHRD = try bits.readFlag()
    if hasVCLHRD { try Self.skipHRD(&bits) }
    if hasNALHRD || hasVCLHRD { _ = try bits.readFlag() }
    _ = try bits.readFlag()  // pic_struct_present_flag
    if try bits.readFlag() {
      _ = try bits.readFlag()
      for _ in 0..<4 { _ = try bits.readUE() }
      restriction = Restriction(
        maxReorderFrames: try bits.readUE(max: 16, "max_num_reorder_frames"),
        maxDecodedFrames: try bits.readUE(max: 16, "max_dec_frame_buffering"))
    }
  }

  /// hrd_parameters(), clause E.1.2, which drivers write on their own and nobody here needs.
  private static func skipHRD(_ bits: inout BitReader) throws(BitstreamError) {
    let count = try bits.readUE(max: 31, "cpb_cnt_minus1") + 1
    _ = try bits.read(bits: 8)
    for _ in 0..<count {
      _ = try bits.readUE()
      _ = try bits.readUE()
      _ = try bits.readFlag()
    }
    _ = try bits.read(bits: 20)
  }
}
