import Wire

/// What a user wants to be heard, and how well.
struct SoundWish: Equatable, Sendable {
  /// nil: none at the start.
  var application: SoundCapture.Choice?
  var microphone: SoundCapture.Choice?
  var bitsPerSecond = 96_000

  /// Sounds that are wanted at the start.
  var wanted: [StreamDescription.Source] {
    (application == nil ? [] : [.appSound]) + (microphone == nil ? [] : [.microphone])
  }
  var count: Int { wanted.count }

  /// Nothing is heard.
  init() {}

  /// What `--audio` says; nil: nothing that it may say.
  init?(argument: String) {
    switch argument {
    case "none": return
    case "both":
      (application, microphone) = (.defaultOutput, .defaultMicrophone)
      return
    default: break
    }
    // A name may hold commas: the last one before a microphone parts the two.
    let commas = argument.indices.filter { argument[$0] == "," }
    for comma in commas.reversed() {
      guard let second = Self.microphone(argument[comma...].dropFirst()),
        let first = Self.application(argument[..<comma])
      else { continue }
      (application, microphone) = (first, second)
      return
    }
    application = Self.application(argument[...])
    microphone = Self.microphone(argument[...])
    if count == 0 { return nil }
  }

  private static func application(_ word: Substring) -> SoundCapture.Choice? {
    word == "app" ? .defaultOutput : name(in: word, after: "app:").map { .application($0) }
  }

  private static func microphone(_ word: Substring) -> SoundCapture.Choice? {
    word == "mic" ? .defaultMicrophone : name(in: word, after: "mic:").map { .microphone($0) }
  }

  private static func name(in word: Substring, after prefix: String) -> String? {
    word.hasPrefix(prefix) && word.utf8.count > 4 ? String(word.dropFirst(4)) : nil
  }
}
