import PipeWire
import Report

/// What the agent will hold with each choice that is put before it, and whether that fits its limit.
struct MemoryPlans {
  let options: Options
  /// Without limits, as a sanitizer's build is, everything fits.
  let isLimited: Bool

  /// What is held beside the screen's pictures.
  struct Company {
    var sounds: Int
    /// nil: no camera.
    var camera: SourceFormat?
  }

  init(_ options: Options, limits: MemoryLimits) {
    self.options = options
    isLimited = limits.dataBytes != nil
  }

  /// Before there is a picture; one that is drawn here has its size from the start.
  func check() throws(SourceEnd) {
    let isSizeKnown = options.source == .pattern
    let budget = MemoryBudget(
      options: options,
      configuration: isSizeKnown
        ? EncoderConfiguration(options, source: options.patternFormat) : nil)
    if let refusal = refusal(budget) { throw SourceEnd(code: .memoryLimit, text: refusal) }
  }

  /// `isHalved`: of the smaller pictures that are made when memory is scarce.
  func budget(
    of format: SourceFormat, _ company: Company, isHalved: Bool = false
  ) -> MemoryBudget {
    var configuration = EncoderConfiguration(options, source: format)
    configuration.takeFrames(
      FrameShape(width: format.width, height: format.height), isHalved: isHalved)
    return MemoryBudget(
      options: options, configuration: configuration, sounds: company.sounds,
      camera: company.camera.map { EncoderConfiguration(cameraBeside: options, source: $0) })
  }

  /// The sum of what does not fit; nil where it does.
  func refusal(of format: SourceFormat, _ company: Company) -> String? {
    refusal(budget(of: format, company))
  }

  /// For `--explain-memory`: how many buffers may be mapped whole of a source that cannot share them, one line
  /// each for the screen, or the camera in its place, and for a camera beside it.
  func wholeBufferLines(of format: SourceFormat, _ company: Company) -> [String] {
    // They count to addresses alone.
    guard options.memoryTier == .address else { return [] }
    var isCamera = false
    if case .camera = options.source { isCamera = true }
    var lines = [
      wholeBufferLine(isCamera ? "a camera" : "a screen", of: format, isCamera ? .yuy2 : .bgrx) {
        budget(of: $0, company)
      }
    ]
    if let camera = company.camera {
      lines.append(
        wholeBufferLine("the camera beside it", of: camera, .yuy2) {
          budget(of: format, Company(sounds: company.sounds, camera: $0))
        })
    }
    return lines
  }

  private func wholeBufferLine(
    _ name: String, of format: SourceFormat, _ pixel: PixelFormat,
    budget plan: (SourceFormat) -> MemoryBudget
  ) -> String {
    let byteCount = (0..<pixel.planeCount).reduce(0) { sum, index in
      let plane = pixel.plane(index)
      return sum + plane.byteCount(ofPixels: format.width) * plane.rows(of: 0..<format.height).count
    }
    func budget(mapping count: Int) -> MemoryBudget {
      var format = format
      format.mappedByteCount = count * byteCount
      return plan(format)
    }
    let count = (1...Stream.mostBufferCount).prefix { budget(mapping: $0).isWithinLimit }.count
    let each = (byteCount + 1023) >> 10
    let sum = "at most \(count) x \(each) kB = \((count * byteCount + 1023) >> 10) kB more"
    return "\(name), where its buffers can only be mapped whole: "
      + (count == 0 ? "none of \(each) kB fits" : sum)
      + " (\(format.width)x\(format.height), \(pixel))"
  }

  private func refusal(_ budget: MemoryBudget) -> String? {
    isLimited && !budget.isWithinLimit ? budget.refusal : nil
  }
}
