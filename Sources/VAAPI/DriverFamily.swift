/// Whose driver it is, for what drivers do and do not say. Everything that can be asked is asked.
package enum DriverFamily: Sendable {
  case intel
  /// Mesa's, whatever card it drives.
  case mesa
  /// Our own, on the processor.
  case software
  case other

  /// By what the driver calls itself; the software driver says whom it behaves as.
  package init(vendor: String) {
    func says(_ words: String) -> Bool {
      let (vendor, words) = (Array(vendor.utf8), Array(words.utf8))
      return vendor.indices.contains { vendor[$0...].starts(with: words) }
    }
    if says("Intel") || says("behaving as intel") {
      self = .intel
    } else if says("Mesa") || says("behaving as amd") {
      self = .mesa
    } else if says("Porthole") {
      self = .software
    } else {
      self = .other
    }
  }
}

extension Display {
  /// Why a driver without an encoder has none, and what helps, in one line.
  package var missingEncoder: String {
    let decodes = decodesH264 ? "decodes H.264 but does not encode it" : "does not encode H.264"
    let hint =
      switch DriverFamily(vendor: vendor) {
      case .intel: ": install intel-media-va-driver-non-free"
      case .mesa:
        ": some distributions build Mesa without its H.264 encoder; install theirs with it"
      case .software, .other: ""
      }
    return "\(vendor) \(decodes)\(hint)"
  }
}
