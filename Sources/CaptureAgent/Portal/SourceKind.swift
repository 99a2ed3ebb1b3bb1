/// What the portal's question offers to share (`types`): one kind, or whatever is on the screen.
enum SourceKind: UInt32, CaseIterable, Sendable {
  case monitor = 1
  case window = 2
  /// A screen that is made for it, as large as the desktop makes it.
  case virtual = 4

  /// As `--source portal:WORD` says it.
  init?(word: some StringProtocol) {
    guard let kind = Self.allCases.first(where: { $0.word == word }) else { return nil }
    self = kind
  }

  var word: String {
    switch self {
    case .monitor: "monitor"
    case .window: "window"
    case .virtual: "virtual"
    }
  }

  var plural: String {
    switch self {
    case .monitor: "monitors"
    case .window: "windows"
    case .virtual: "virtual monitors"
    }
  }

  /// In words those whose bits are in `types`.
  static func words(_ types: UInt32) -> String {
    let words = allCases.filter { types & $0.rawValue != 0 }.map(\.plural)
    return words.isEmpty ? "nothing" : words.joined(separator: ", ")
  }
}
