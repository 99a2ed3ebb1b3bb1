internal import CVA
internal import Pixels

/// The video processor's three calls of its own; pictures go the way of all pictures.
func installProcessCalls(in table: UnsafeMutablePointer<VADriverVTableVPP>) {
  unsafe table.pointee.version = UInt32(VA_DRIVER_VTABLE_VPP_VERSION)
  unsafe table.pointee.vaQueryVideoProcFilters = { context, id, _, count in
    unsafe answer(context, "vaQueryVideoProcFilters") { driver throws(DriverError) in
      guard driver.processors[id] != nil else { throw .invalidContext }
      unsafe count?.pointee = 0
    }
  }
  unsafe table.pointee.vaQueryVideoProcFilterCaps = { context, id, _, _, _ in
    unsafe answer(context, "vaQueryVideoProcFilterCaps") { driver throws(DriverError) in
      guard driver.processors[id] != nil else { throw .invalidContext }
      throw DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_FILTER)
    }
  }
  unsafe table.pointee.vaQueryVideoProcPipelineCaps = { context, id, _, filterCount, caps in
    unsafe answer(context, "vaQueryVideoProcPipelineCaps") { driver throws(DriverError) in
      guard driver.processors[id] != nil, let ability = driver.personality.processing else {
        throw .invalidContext
      }
      guard filterCount == 0 else {
        throw DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_FILTER)
      }
      guard let caps = unsafe caps else { throw .invalidParameter }
      unsafe driver.processLists.fill(caps, ability)
    }
  }
}

/// Arrays that the caps point to, which live as long as the driver.
@safe final class ProcessLists {
  private static let standards = [VAProcColorStandardBT709, VAProcColorStandardBT601]

  private let standards: UnsafeMutablePointer<VAProcColorStandardType>
  private let formats: UnsafeMutablePointer<UInt32>

  init() {
    unsafe standards = .allocate(capacity: Self.standards.count)
    unsafe formats = .allocate(capacity: SurfaceFormat.allCases.count)
    for (index, standard) in Self.standards.enumerated() {
      unsafe (standards + index).initialize(to: standard)
    }
    for (index, format) in SurfaceFormat.allCases.enumerated() {
      unsafe (formats + index).initialize(to: format.fourcc)
    }
  }

  deinit {
    unsafe standards.deallocate()
    unsafe formats.deallocate()
  }

  func fill(_ caps: UnsafeMutablePointer<VAProcPipelineCaps>, _ ability: Personality.Processing) {
    let largest = UInt32(EncodeConfig.largestSide)
    let formatCount = UInt32(SurfaceFormat.allCases.count)
    unsafe caps.initialize(to: VAProcPipelineCaps())
    unsafe caps.pointee.input_color_standards = standards
    unsafe caps.pointee.num_input_color_standards = UInt32(Self.standards.count)
    unsafe caps.pointee.output_color_standards = standards
    unsafe caps.pointee.num_output_color_standards = UInt32(Self.standards.count)
    // Bits of 1 << VA_ROTATION_*; no turn at all is one of them.
    unsafe caps.pointee.rotation_flags = ability.rotates ? 0b1111 : 0b0001
    unsafe caps.pointee.mirror_flags =
      ability.mirrors ? UInt32(VA_MIRROR_HORIZONTAL | VA_MIRROR_VERTICAL) : 0
    unsafe caps.pointee.num_input_pixel_formats = formatCount
    unsafe caps.pointee.input_pixel_format = formats
    unsafe caps.pointee.num_output_pixel_formats = formatCount
    unsafe caps.pointee.output_pixel_format = formats
    unsafe caps.pointee.max_input_width = largest
    unsafe caps.pointee.max_input_height = largest
    unsafe caps.pointee.min_input_width = 1
    unsafe caps.pointee.min_input_height = 1
    unsafe caps.pointee.max_output_width = largest
    unsafe caps.pointee.max_output_height = largest
    unsafe caps.pointee.min_output_width = 1
    unsafe caps.pointee.min_output_height = 1
  }
}
