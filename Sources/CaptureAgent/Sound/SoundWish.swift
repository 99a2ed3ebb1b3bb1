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
    // A name may hold commas, but none behind which a sound begins: that parts the two.
    let parts = argument.indices.filter { index in
      guard argument[index] == "," else { return false }
      let rest = argument[index...].dropFirst()
      return ["app", "mic"].contains { rest == $0 || rest.hasPrefix("\($0):") }
    }
    guard let comma = parts.first else {
      application = Self.application(argument[...])
      microphone = Self.microphone(argument[...])
      if count == 0 { return nil }
      return
    }
    guard parts.count == 1, let first = Self.application(argument[..<comma]),
      let second = Self.microphone(argument[comma...].dropFirst())
    else { return nil }
    (application, microphone) = (first, second)
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
