extension OptionTable {
  /// What `--help` prints: as wide as a terminal at most, with the defaults.
  package var help: String {
    var lines = Self.wrapped("usage: \(program) \(synopsis)", from: "", indent: 2)
    for line in summary.split(separator: "\n") {
      lines += Self.wrapped(String(line), from: "", indent: 2)
    }
    let commands = commands.map { ($0.usage, $0.help) }
    let options = options.map { ($0.usage, $0.help + ($0.standard.map { " (\($0))" } ?? "")) }
    let longest = (commands + options).map(\.0.count).max() ?? 0
    for rows in [commands, options] where !rows.isEmpty {
      lines.append("")
      for (left, right) in rows {
        let indent = min(longest, Self.leftWidth) + 4
        let padding = String(repeating: " ", count: max(indent - left.count - 2, 2))
        lines += Self.wrapped(right, from: "  \(left)\(padding)", indent: indent)
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // Columns of a terminal that nobody has widened, and of them what names may take.
  private static let width = 80
  private static let leftWidth = 26

  /// The words of `text` behind `start`, in lines of which all but the first are indented.
  private static func wrapped(_ text: String, from start: String, indent: Int) -> [String] {
    var lines: [String] = []
    var line = start
    for word in text.split(separator: " ") {
      if line.count + word.count > width {
        lines.append(String(line.dropLast()))
        line = String(repeating: " ", count: indent)
      }
      line += word + " "
    }
    return lines + [String(line.dropLast())]
  }
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
