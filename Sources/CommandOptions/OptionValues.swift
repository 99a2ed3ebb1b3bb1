/// What a command line, an environment and a file said together.
package struct OptionValues: Sendable {
  private let table: OptionTable
  private var said: [String: [String]] = [:]
  /// Words that are no options, in order.
  package internal(set) var words: [String] = []

  init(table: OptionTable) { self.table = table }

  /// The last value given for `name`, else its default, else nil.
  package subscript(name: String) -> String? {
    guard let option = table.option(name) else {
      preconditionFailure("--\(name) is not in the table")
    }
    return said[name]?.last ?? option.standard
  }

  /// Every value given for a repeatable option, in order.
  package func all(_ name: String) -> [String] { said[name] ?? [] }

  /// Whether somebody said it, even the default.
  package func isSaid(_ name: String) -> Bool { said[name] != nil }

  /// Whether a flag is on.
  package func isOn(_ name: String) -> Bool { self[name] == "yes" }

  /// The value of `name` read by `convert`; nil from it is an error that names the option.
  package func value<Value>(
    _ name: String, _ expected: String, _ convert: (String) -> Value?
  ) throws(UsageError) -> Value {
    guard let text = self[name] else { throw UsageError("--\(name) is needed: \(expected)") }
    guard let value = convert(text) else {
      throw UsageError("--\(name) \(text): expected \(expected)")
    }
    return value
  }

  mutating func set(
    _ option: Option, to value: String, from place: String
  ) throws(UsageError) {
    if option.isFlag {
      switch value {
      case "yes", "true", "1", "on": said[option.name] = ["yes"]
      case "no", "false", "0", "off": said[option.name] = ["no"]
      default: throw UsageError("\(place) takes yes or no, not \(value)")
      }
    } else if option.isRepeatable {
      said[option.name, default: []].append(value)
    } else {
      said[option.name] = [value]
    }
  }

  /// Takes over all that `other` says.
  mutating func override(with other: OptionValues) {
    said.merge(other.said) { $1 }
    words = other.words
  }
}
