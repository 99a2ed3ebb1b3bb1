/// What a user wants to be heard, and how well.
struct SoundWish: Equatable, Sendable {
  /// nil: none at the start.
  var application: SoundCapture.Choice?
  var microphone: SoundCapture.Choice?
  var bitsPerSecond = 96_000

  /// Sounds that are wanted at the start.
  var count: Int { (application == nil ? 0 : 1) + (microphone == nil ? 0 : 1) }

  /// Nothing is heard.
  init() {}

  /// What `--audio` says; nil: nothing that it may say.
  init?(argument: String) {
    switch argument {
    case "none": break
    case "app": application = .defaultOutput
    case "mic": microphone = .defaultMicrophone
    case "both": (application, microphone) = (.defaultOutput, .defaultMicrophone)
    case _ where argument.hasPrefix("app:") && argument.utf8.count > 4:
      application = .application(String(argument.dropFirst(4)))
    case _ where argument.hasPrefix("mic:") && argument.utf8.count > 4:
      microphone = .microphone(String(argument.dropFirst(4)))
    default: return nil
    }
  }
}
