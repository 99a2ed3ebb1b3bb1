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

  private func refusal(_ budget: MemoryBudget) -> String? {
    isLimited && !budget.isWithinLimit ? budget.refusal : nil
  }
}
