/// Splits a command into words as a shell would quote them, and does nothing else that a shell
/// does: no variables, no globs, no operators.
enum CommandWords {
  /// The words; throws when a quote is left open or there is no word.
  static func split(_ text: String) throws(UnreadableCommand) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in text {
      if isEscaped {
        // Between double quotes a backslash stands for itself before anything else.
        if quote == "\"", character != "\"", character != "\\" { word?.append("\\") }
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
        word = word ?? ""
      } else if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character.isWhitespace {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if quote != nil || isEscaped { throw UnreadableCommand(reason: "an open quote") }
    if let word { words.append(word) }
    guard let program = words.first, !program.isEmpty else {
      throw UnreadableCommand(reason: "no program")
    }
    return words
  }
}

/// A command that cannot be split.
struct UnreadableCommand: Error {
  let reason: String
}
