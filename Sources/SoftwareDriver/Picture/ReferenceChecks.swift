internal import CVA

/// Which surfaces a picture may be predicted from and reconstructed into.
extension CheckedPicture {
  static func reconstruction(
    of picture: VAEncPictureParameterBufferH264, from source: Surface, in driver: Driver
  ) throws(DriverError) -> Surface {
    guard let surface = driver.surfaces[picture.CurrPic.picture_id], surface !== source else {
      throw .invalidSurface.because("no surface to reconstruct into, or the source itself")
    }
    guard surface.pixels.file.isWritable else {
      throw .invalidSurface.because("a surface in memory that may only be read")
    }
    return surface
  }

  /// Drivers look at all entries of the lists: each is marked invalid, or was reconstructed.
  static func checkLists(
    _ picture: VAEncPictureParameterBufferH264, _ slice: VAEncSliceParameterBufferH264,
    in driver: Driver
  ) throws(DriverError) {
    func isUnknown(_ entry: VAPictureH264) -> Bool {
      !entry.isInvalid && driver.surfaces[entry.picture_id]?.reconstruction == nil
    }
    guard !contains(picture.ReferenceFrames, where: isUnknown),
      !contains(slice.RefPicList0, where: isUnknown),
      !contains(slice.RefPicList1, where: isUnknown)
    else { throw .invalidParameter.because("a listed picture that was never reconstructed") }
  }

  /// The one reference of a P slice: listed, reconstructed before, and the picture before this one.
  static func reference(
    of slice: VAEncSliceParameterBufferH264, _ picture: VAEncPictureParameterBufferH264,
    _ sequence: VAEncSequenceParameterBufferH264, not taken: (Surface, Surface), in driver: Driver
  ) throws(DriverError) -> Surface {
    let active =
      slice.num_ref_idx_active_override_flag == 1
      ? slice.num_ref_idx_l0_active_minus1 : picture.num_ref_idx_l0_active_minus1
    let entry = slice.RefPicList0.0
    guard active == 0, !entry.isInvalid else {
      throw .invalidParameter.because("a P slice without RefPicList0[0], or with several")
    }
    guard let surface = driver.surfaces[entry.picture_id] else { throw .invalidSurface }
    guard surface !== taken.0, surface !== taken.1, surface.isReference,
      surface.reconstruction != nil
    else { throw .invalidParameter.because("a reference that is no reconstruction any more") }
    let isListed = contains(picture.ReferenceFrames) {
      $0.picture_id == entry.picture_id && !$0.isInvalid
    }
    guard isListed else {
      throw .invalidParameter.because("a reference that is not in ReferenceFrames")
    }
    let mask = UInt32(1) << (unsafe sequence.seq_fields.bits.log2_max_frame_num_minus4 + 4) - 1
    guard UInt32(picture.frame_num) == (surface.frameNum + 1) & mask else {
      throw .invalidParameter.because("a frame_num that does not follow the reference's")
    }
    return surface
  }

  /// Looks through one of libva's arrays, which Swift sees as a tuple.
  private static func contains<List>(
    _ list: List, where isWanted: (VAPictureH264) -> Bool
  ) -> Bool {
    unsafe withUnsafeBytes(of: list) { bytes in
      unsafe bytes.withMemoryRebound(to: VAPictureH264.self) { entries in
        unsafe entries.contains(where: isWanted)
      }
    }
  }
}

extension VAPictureH264 {
  fileprivate var isInvalid: Bool {
    flags & UInt32(VA_PICTURE_H264_INVALID) != 0 || picture_id == VA_INVALID_ID
  }
}
