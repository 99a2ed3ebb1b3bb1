extension OptionTable {
  /// What `--help` prints: as wide as a terminal at most, with the defaults.
  package var help: String {
    let left = options.map(\.usage)
    let indent = min(left.map(\.count).max() ?? 0, Self.leftWidth) + 4
    var lines = ["usage: \(program) [option ...]", summary, ""]
    for (option, left) in zip(options, left) {
      let standard = option.standard.map { " (\($0))" } ?? ""
      var line = "  \(left)"
      line += String(repeating: " ", count: max(indent - line.count, 2))
      for word in (option.help + standard).split(separator: " ") {
        if line.count + word.count > Self.width {
          lines.append(Self.trimmed(line))
          line = String(repeating: " ", count: indent)
        }
        line += word + " "
      }
      lines.append(Self.trimmed(line))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // Columns of a terminal that nobody has widened, and of them what names may take.
  private static let width = 80
  private static let leftWidth = 26

  /// Without the space behind the last word.
  private static func trimmed(_ line: String) -> String { String(line.dropLast()) }
}

extension Option {
  /// As it is written on a command line.
  fileprivate var usage: String {
    switch shape {
    case .flag: "--\(name)"
    case .value(let placeholder): "--\(name) \(placeholder)"
    case .optionalValue(let placeholder): "--\(name)[=\(placeholder)]"
    }
  }
}
