/// A program's manual page, in the macros of man(7): made of the table that its help is made of.
package struct ManualPage {
  private let table: OptionTable
  private let exitCodes: [(code: Int32, meaning: String)]
  private let related: [String]

  /// `related` are the pages to see also, as `host-relay(1)`.
  package init(
    of table: OptionTable, exitCodes: [(code: Int32, meaning: String)], related: [String]
  ) {
    self.table = table
    self.exitCodes = exitCodes
    self.related = related
  }

  /// The page's source.
  package var text: String {
    let name = table.program.split(separator: " ").joined(separator: "-")
    let sentences = table.summary.split(separator: "\n").map(String.init)
    var lines = [
      ".TH \(name.uppercased()) 1 \"\" Porthole \"Porthole\"", ".SH NAME",
      "\(escaped(name)) \\- \(escaped(brief(sentences.first ?? "")))", ".SH SYNOPSIS",
      ".B \(escaped(table.program))", table.synopsis, ".SH DESCRIPTION",
    ]
    lines += sentences.map { escaped($0) }
    if !table.commands.isEmpty { lines.append(".SH COMMANDS") }
    for command in table.commands {
      lines += [".TP", ".B \(escaped(command.usage))", escaped(command.help)]
    }
    lines.append(".SH OPTIONS")
    for option in table.options { lines += [".TP", term(option), escaped(help(option))] }
    lines += [".SH CONFIGURATION"] + configuration + [".SH \"EXIT STATUS\""]
    for (code, meaning) in exitCodes { lines += [".TP", ".B \(code)", escaped(meaning)] }
    lines += [".SH \"SEE ALSO\"", related.map { escaped($0) }.joined(separator: ",\n")]
    return lines.joined(separator: "\n") + "\n"
  }

  private var configuration: [String] {
    var lines = [
      "Each option may also be a line", ".I name = value",
      "of a file, without the two dashes, or a variable of the environment such as",
      ".BR \(table.options.first.map { escaped($0.variable) } ?? "") .",
      "The environment beats the file, and the command line beats both.",
    ]
    if let file = table.standardFile {
      lines += [
        "Where", ".B \\-\\-config", "names no file,",
        ".IR $XDG_CONFIG_HOME/porthole/\(escaped(file))",
        "is read if it is there, or", ".IR \\(ti/.config/porthole/\(escaped(file)) .",
      ]
    }
    return lines
  }

  private func help(_ option: Option) -> String {
    var text = option.help
    if let standard = option.standard { text += "; default: \(standard)" }
    if option.isRepeatable { text += "; may be given more than once" }
    return text
  }

  private func term(_ option: Option) -> String {
    let name = escaped("--\(option.name)")
    return switch option.shape {
    case .flag: ".B \(name)"
    case .value(let placeholder): ".BI \"\(name) \" \(escaped(placeholder))"
    case .optionalValue(let placeholder): ".BI \"\(name)[=\" \(escaped(placeholder)) ]"
    }
  }

  /// The sentence as the list of all pages has it: without a capital and a full stop.
  private func brief(_ sentence: String) -> String {
    let text = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    return text.prefix(1).lowercased() + text.dropFirst()
  }

  /// Text that roff takes as it stands.
  private func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "~": escaped += "\\(ti"
      case "`": escaped += "\\(ga"
      case "'": escaped += "\\(aq"
      default: escaped.append(character)
      }
    }
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}
