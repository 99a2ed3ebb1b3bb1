/// seq_parameter_set_data(), clause 7.3.2.1.1: progressive 4:2:0 of eight bits, which is all that
/// this house encodes. Other legal streams are refused as unsupported.
package struct SequenceParameterSet: Equatable, Sendable {
  /// 66 Baseline, 77 Main, 100 High.
  package var profileIDC: UInt8
  /// constraint_set0_flag in the top bit, then 1 to 5, and two zeros.
  package var constraintFlags: UInt8
  /// Level times ten: 40 is level 4.
  package var levelIDC: UInt8
  package var id: UInt32 = 0
  /// 4 to 16.
  package var log2MaxFrameNum: UInt32
  package var pictureOrder: PictureOrder
  package var maxRefFrameCount: UInt32
  package var widthInMacroblocks: UInt32
  package var heightInMacroblocks: UInt32
  package var direct8x8Inference = true
  /// Luma samples cut off at the right and at the bottom; even numbers.
  package var cropRight: UInt32 = 0
  package var cropBottom: UInt32 = 0
  package var vui: VideoUsability?

  /// pic_order_cnt_type. Without B pictures both say the same; type 2 needs no bits for it.
  package enum PictureOrder: Equatable, Sendable {
    case lsb(log2Max: UInt32)
    case decodingOrder
  }

  package init(
    profileIDC: UInt8, constraintFlags: UInt8, levelIDC: UInt8, log2MaxFrameNum: UInt32 = 8,
    pictureOrder: PictureOrder = .decodingOrder, maxRefFrameCount: UInt32 = 1,
    widthInMacroblocks: UInt32, heightInMacroblocks: UInt32
  ) {
    self.profileIDC = profileIDC
    self.constraintFlags = constraintFlags
    self.levelIDC = levelIDC
    self.log2MaxFrameNum = log2MaxFrameNum
    self.pictureOrder = pictureOrder
    self.maxRefFrameCount = maxRefFrameCount
    self.widthInMacroblocks = widthInMacroblocks
    self.heightInMacroblocks = heightInMacroblocks
  }

  /// What a viewer sees, in luma samples.
  package var displayWidth: Int { Int(widthInMacroblocks) * 16 - Int(cropRight) }
  package var displayHeight: Int { Int(heightInMacroblocks) * 16 - Int(cropBottom) }

  /// The codec string of RFC 6381, for example `avc1.42C028`.
  package var codecString: String {
    func hex(_ byte: UInt8) -> String {
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "0" + digits : digits
    }
    return "avc1." + hex(profileIDC) + hex(constraintFlags) + hex(levelIDC)
  }

  /// Profiles whose parameter sets carry chroma format and bit depth.
  private var isHigh: Bool { profileIDC == 100 || profileIDC == 110 || profileIDC == 122 }

  /// The RBSP, trailing bits included.
  package func rbsp() -> [UInt8] {
    var bits = BitWriter()
    bits.put(UInt32(profileIDC), bits: 8)
    bits.put(UInt32(constraintFlags), bits: 8)
    bits.put(UInt32(levelIDC), bits: 8)
    bits.putUE(id)
    if isHigh {
      bits.putUE(1)  // chroma_format_idc: 4:2:0
      bits.putUE(0)  // bit_depth_luma_minus8
      bits.putUE(0)  // bit_depth_chroma_minus8
      bits.put(false)  // qpprime_y_zero_transform_bypass_flag
      bits.put(false)  // seq_scaling_matrix_present_flag
    }
    bits.putUE(log2MaxFrameNum - 4)
    switch pictureOrder {
    case .lsb(let log2Max):
      bits.putUE(0)
      bits.putUE(log2Max - 4)
    case .decodingOrder:
      bits.putUE(2)
    }
    bits.putUE(maxRefFrameCount)
    bits.put(false)  // gaps_in_frame_num_value_allowed_flag
    bits.putUE(widthInMacroblocks - 1)
    bits.putUE(heightInMacroblocks - 1)
    bits.put(true)  // frame_mbs_only_flag
    bits.put(direct8x8Inference)
    let isCropped = cropRight > 0 || cropBottom > 0
    bits.put(isCropped)
    if isCropped {
      bits.putUE(0)
      bits.putUE(cropRight / 2)
      bits.putUE(0)
      bits.putUE(cropBottom / 2)
    }
    bits.put(vui != nil)
    vui?.write(to: &bits)
    bits.putTrailingBits()
    return bits.bytes
  }

  /// Reads an RBSP that begins at profile_idc.
  package init(rbsp: [UInt8]) throws(BitstreamError) {
    var bits = BitReader(rbsp)
    profileIDC = UInt8(try bits.read(bits: 8))
    constraintFlags = UInt8(try bits.read(bits: 8))
    levelIDC = UInt8(try bits.read(bits: 8))
    id = try bits.readUE(max: 31, "seq_parameter_set_id")
    if profileIDC == 100 || profileIDC == 110 || profileIDC == 122 {
      guard try bits.readUE() == 1 else { throw .unsupported("chroma_format_idc") }
      guard try bits.readUE() == 0, try bits.readUE() == 0 else { throw .unsupported("bit depth") }
      guard try !bits.readFlag() else { throw .unsupported("transform bypass") }
      guard try !bits.readFlag() else { throw .unsupported("scaling matrix") }
    } else if profileIDC != 66, profileIDC != 77, profileIDC != 88 {
      throw .unsupported("profile_idc")
    }
    log2MaxFrameNum = try bits.readUE(max: 12, "log2_max_frame_num_minus4") + 4
    switch try bits.readUE() {
    case 0: pictureOrder = .lsb(log2Max: try bits.readUE(max: 12, "log2_max_poc_lsb_minus4") + 4)
    case 2: pictureOrder = .decodingOrder
    default: throw .unsupported("pic_order_cnt_type 1")
    }
    maxRefFrameCount = try bits.readUE(max: 16, "max_num_ref_frames")
    guard try !bits.readFlag() else { throw .unsupported("gaps in frame_num") }
    widthInMacroblocks = try bits.readUE(max: 1023, "pic_width_in_mbs_minus1") + 1
    heightInMacroblocks = try bits.readUE(max: 1023, "pic_height_in_map_units_minus1") + 1
    guard try bits.readFlag() else { throw .unsupported("interlaced video") }
    direct8x8Inference = try bits.readFlag()
    if try bits.readFlag() {
      let left = try bits.readUE(max: 8192, "frame_crop_left_offset")
      cropRight = try bits.readUE(max: 8192, "frame_crop_right_offset") * 2
      let top = try bits.readUE(max: 8192, "frame_crop_top_offset")
      cropBottom = try bits.readUE(max: 8192, "frame_crop_bottom_offset") * 2
      guard left == 0, top == 0 else { throw .unsupported("cropping at the left or the top") }
      guard cropRight < widthInMacroblocks * 16, cropBottom < heightInMacroblocks * 16 else {
        throw .invalid("frame cropping")
      }
    }
    vui = try bits.readFlag() ? VideoUsability(from: &bits) : nil
  }
}
