internal import CVA
internal import Pixels

/// What becomes of one picture: which part of it is shown where, turned how, in which colours.
struct ProcessJob: Equatable {
  /// A part of a surface, in pixels.
  struct Region: Equatable {
    var x = 0
    var y = 0
    var width: Int
    var height: Int
  }

  let sourceFormat: SurfaceFormat
  let targetFormat: SurfaceFormat
  let source: Region
  let target: Region
  /// Size of the whole target.
  let width: Int
  let height: Int
  let orientation: Orientation
  /// BT.601 in the place of BT.709.
  let isBT601: Bool
  /// ARGB, for what lies outside the target region.
  let background: UInt32

  /// Of the target region before it was turned.
  var scaled: (width: Int, height: Int) {
    orientation.isTransposed ? (target.height, target.width) : (target.width, target.height)
  }

  var isScaled: Bool { scaled != (source.width, source.height) }
  var hasBackground: Bool { (target.width, target.height) != (width, height) }
}

extension ProcessJob {
  /// Reads a client's parameters, whose pointers are good only now.
  init(
    _ pipeline: VAProcPipelineParameterBuffer, from source: Surface, to target: Surface,
    by ability: Personality.Processing
  ) throws(DriverError) {
    guard source !== target else {
      throw .invalidSurface.because("a picture processed into itself")
    }
    guard unsafe pipeline.num_filters == 0 else {
      throw DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_FILTER)
    }
    guard unsafe pipeline.num_additional_outputs == 0, unsafe pipeline.blend_state == nil else {
      throw .unimplemented
    }
    sourceFormat = source.layout.format
    targetFormat = target.layout.format
    width = target.width
    height = target.height
    self.source = try unsafe Region(pipeline.surface_region, within: source)
    self.target = try unsafe Region(pipeline.output_region, within: target)
    guard targetFormat != .nv12 || self.target.isWholeChroma(within: target) else {
      throw .invalidParameter.because("an output region that cuts chroma samples")
    }
    orientation = try unsafe Self.orientation(
      rotation: pipeline.rotation_state, mirror: pipeline.mirror_state, by: ability)
    let input = try unsafe Self.isBT601(
      pipeline.surface_color_standard, pipeline.input_color_properties, height: source.height)
    let output = try unsafe Self.isBT601(
      pipeline.output_color_standard, pipeline.output_color_properties, height: target.height)
    switch ability.colour {
    case .asAsked:
      guard sourceFormat != .nv12 || targetFormat != .nv12 || input == output else {
        throw .unimplemented.because("NV12 of one colour standard to NV12 of another")
      }
      isBT601 = targetFormat == .nv12 ? output : input
    case .bt709: isBT601 = false
    case .ofInput: isBT601 = input
    }
    let range = unsafe pipeline.output_color_properties.color_range
    guard targetFormat != .nv12 || range != UInt8(VA_SOURCE_RANGE_FULL) else {
      throw .unimplemented.because("NV12 of full range")
    }
    background = unsafe pipeline.output_background_color
  }

  private static func orientation(
    rotation: UInt32, mirror: UInt32, by ability: Personality.Processing
  ) throws(DriverError) -> Orientation {
    guard rotation <= 3, mirror <= 3, rotation == 0 || ability.rotates,
      mirror == 0 || ability.mirrors
    else { throw .invalidParameter.because("a rotation or mirroring that is not offered") }
    var orientation = Orientation(quarterTurns: Int(rotation), isMirrored: false)
    if mirror & UInt32(VA_MIRROR_HORIZONTAL) != 0 {
      orientation = orientation.followed(by: Orientation(quarterTurns: 0, isMirrored: true))
    }
    if mirror & UInt32(VA_MIRROR_VERTICAL) != 0 {
      // Upside down is left to right, turned by a half.
      orientation = orientation.followed(by: Orientation(quarterTurns: 0, isMirrored: true))
        .followed(by: Orientation(quarterTurns: 2, isMirrored: false))
    }
    return orientation
  }

  /// A client that names no standard gets Intel's rule: BT.601 up to 720 rows.
  private static func isBT601(
    _ standard: VAProcColorStandardType, _ properties: VAProcColorProperties, height: Int
  ) throws(DriverError) -> Bool {
    switch standard {
    case VAProcColorStandardNone: return height <= 720
    case VAProcColorStandardBT709, VAProcColorStandardSRGB: return false
    case VAProcColorStandardBT601, VAProcColorStandardSMPTE170M, VAProcColorStandardBT470BG:
      return true
    case VAProcColorStandardExplicit:
      switch properties.matrix_coefficients {
      case 0, 1: return false
      case 2: return height <= 720
      case 5, 6: return true
      default: throw .unimplemented.because("matrix coefficients other than BT.709's and BT.601's")
      }
    default: throw .unimplemented.because("a colour standard that is not offered")
    }
  }
}

extension ProcessJob.Region {
  /// A client's rectangle, or all of a surface.
  fileprivate init(
    _ rectangle: UnsafePointer<VARectangle>?, within surface: Surface
  ) throws(DriverError) {
    guard let rectangle = unsafe rectangle?.pointee else {
      self.init(width: surface.width, height: surface.height)
      return
    }
    self.init(
      x: Int(rectangle.x), y: Int(rectangle.y), width: Int(rectangle.width),
      height: Int(rectangle.height))
    guard x >= 0, y >= 0, width > 0, height > 0, x + width <= surface.width,
      y + height <= surface.height
    else { throw .invalidParameter.because("a region that is not inside its surface") }
  }

  /// Whether all chroma samples lie inside or outside, those at the surface's end apart.
  fileprivate func isWholeChroma(within surface: Surface) -> Bool {
    x & 1 == 0 && y & 1 == 0 && (width & 1 == 0 || x + width == surface.width)
      && (height & 1 == 0 || y + height == surface.height)
  }
}
