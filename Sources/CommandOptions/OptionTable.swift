internal import Posix

/// One option of a command line: `--name VALUE`, or `--name` alone.
package struct Option: Sendable {
  package enum Shape: Sendable {
    /// `--name`, or `--name=yes` and `--name=no`.
    case flag
    /// `--name VALUE` or `--name=VALUE`; `VALUE` is how the help calls it.
    case value(String)
    /// `--name` or `--name=VALUE`, never `--name VALUE`.
    case optionalValue(String)
  }

  package let name: String
  package let shape: Shape
  package let help: String
  /// Shown in the help, and what `OptionValues` gives when nothing was said.
  package let standard: String?
  package let isRepeatable: Bool

  package init(
    _ name: String, _ shape: Shape, _ help: String, standard: String? = nil,
    isRepeatable: Bool = false
  ) {
    self.name = name
    self.shape = shape
    self.help = help
    self.standard = standard
    self.isRepeatable = isRepeatable
  }
}

/// What a program is told to do by a word of its command line.
package struct Command: Sendable {
  /// As it is written, with what follows it.
  package let usage: String
  package let help: String

  package init(_ usage: String, _ help: String) {
    self.usage = usage
    self.help = help
  }
}

/// A wrong command line, in one line that names what is wrong.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// What a program takes. Later beats earlier: configuration file, environment (`PORTHOLE_NAME`),
/// command line.
package struct OptionTable: Sendable {
  package let program: String
  /// Whole sentences, of which the first says what the program does.
  package let summary: String
  /// One of them is said; none for a program that does one thing.
  package let commands: [Command]
  package let options: [Option]
  /// Of the file in the user's configuration folder that is read where no other is named; nil: none is.
  package let standardFile: String?

  package init(
    program: String, summary: String, standardFile: String? = nil, commands: [Command] = [],
    options: [Option]
  ) {
    self.program = program
    self.summary = summary
    self.standardFile = standardFile
    self.commands = commands
    self.options =
      options + [
        Option("config", .value("FILE"), "read options from lines `name = value` first"),
        Option("help", .flag, "show this"),
      ]
  }

  /// Reads `arguments` (without the program's name). Positional words are left in `words`.
  package func parse(_ arguments: [String]) throws(UsageError) -> OptionValues {
    var fromCommandLine = OptionValues(table: self)
    try read(arguments, into: &fromCommandLine)
    var values = OptionValues(table: self)
    if let file = fromCommandLine["config"] ?? Environment.value(of: "PORTHOLE_CONFIG") {
      try readConfiguration(file, into: &values)
    } else if let file = standardFile.flatMap(ConfigurationFolder.existing) {
      try readConfiguration(file, into: &values)
    }
    for option in options {
      if let value = Environment.value(of: option.variable) {
        try values.set(option, to: value, from: "environment variable \(option.variable)")
      }
    }
    values.override(with: fromCommandLine)
    return values
  }

  private func read(_ arguments: [String], into values: inout OptionValues) throws(UsageError) {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        values.words.append(word)
        continue
      }
      if word == "--" {
        values.words += rest
        return
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = word == "-h" ? "help" : String(parts[0].dropFirst(2))
      guard word == "-h" || word.hasPrefix("--"), let option = option(name) else {
        throw UsageError("unknown option \(parts[0]) (see --help)")
      }
      let attached = parts.count > 1 ? String(parts[1]) : nil
      switch option.shape {
      case .flag: try values.set(option, to: attached ?? "yes", from: "--\(name)")
      case .optionalValue:
        if attached == "" {
          throw UsageError("--\(name)= names nothing: --\(name) alone, or a value")
        }
        try values.set(option, to: attached ?? "", from: "--\(name)")
      case .value(let placeholder):
        guard let value = attached ?? rest.popFirst() else {
          throw UsageError("--\(name) needs a value: \(placeholder)")
        }
        try values.set(option, to: value, from: "--\(name)")
      }
    }
  }

  private func readConfiguration(
    _ path: String, into values: inout OptionValues
  ) throws(UsageError) {
    let text: String
    do { text = try TextFile.read(path, limit: 64 << 10, mayWait: true) } catch {
      throw UsageError("configuration: \(error)")
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let line = trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = trimmed(parts[0])
      guard let option = option(name), name != "config", name != "help" else {
        throw UsageError("\(path):\(index + 1): unknown option \(name)")
      }
      let value = parts.count > 1 ? trimmed(parts[1]) : (option.isFlag ? "yes" : "")
      try values.set(option, to: value, from: "\(path):\(index + 1): \(name)")
    }
  }

  /// How the program is called.
  var synopsis: String { (commands.isEmpty ? "" : "COMMAND ") + "[option ...]" }

  func option(_ name: String) -> Option? { options.first { $0.name == name } }

  private func trimmed(_ text: some StringProtocol) -> String {
    let isBlank = { (character: Character) in character.isWhitespace }
    let start = text.drop(while: isBlank)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }
}

extension Option {
  /// How the environment calls it.
  var variable: String {
    "PORTHOLE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }

  var isFlag: Bool { if case .flag = shape { true } else { false } }
}
