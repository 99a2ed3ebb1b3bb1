import CommandOptions
import Wire

/// What changes a broadcast: `POST /api/v1/…`. Whoever gets here has been let in.
struct ControlAPI {
  let broadcast: Broadcast
  /// Whether an agent is linked.
  let hasAgent: () -> Bool
  /// nil without `--setup`.
  let setup: SetupPhase?
  /// Ends the broadcast for everyone, with a reason.
  let finish: (String) -> Void

  static let paths: Set<String> = Set(
    ["pause", "resume", "finish", "keyframe", "bitrate", "sound", "start", "cancel"]
      .map { prefix + $0 } + [setupPath])
  static let prefix = "/api/v1/"
  /// The one that may also be read.
  static let setupPath = prefix + "setup"

  /// What is set up.
  func readSetup() -> HTTPDocument {
    guard let setup else { return .error(409, Self.noSetup) }
    return .json(200, .object(setup.json(for: true)))
  }

  /// Does what `path` says with the JSON object of `body`; an empty one is an empty object.
  func answer(path: String, body: [UInt8]) -> HTTPDocument {
    let members: [String: JSONText]
    do { members = try body.isEmpty ? [:] : JSONReader.object(body) } catch {
      return .error(400, "\(error)")
    }
    let word = path.dropFirst(Self.prefix.count)
    if ["pause", "resume", "finish", "sound", "bitrate"].contains(word), let setup,
      setup.state != .started
    {
      return .error(409, "nothing has been started")
    }
    switch word {
    case "pause": broadcast.pause()
    case "resume": broadcast.resume()
    case "keyframe":
      guard hasAgent() else { return .error(409, "there is no agent") }
      broadcast.askForKeyframe(.control)
    case "bitrate":
      guard case .number(let rate) = members["bits_per_second"],
        RelayLimits.bitrates.contains(rate)
      else {
        let range = RelayLimits.bitrates
        return .error(
          400, "bits_per_second must be a whole number, \(range.lowerBound) to \(range.upperBound)")
      }
      broadcast.setBitrate(rate)
    case "sound":
      guard case .text(let word) = members["source"],
        let source = StreamDescription.Source(soundWord: word),
        case .truth(let isOn) = members["on"]
      else { return .error(400, #"expected {"source": "app" or "mic", "on": true or false}"#) }
      broadcast.setSound(source, isOn: isOn)
    case "finish":
      guard case .text(let reason) = members["reason"] ?? .text(""),
        reason.utf8.count <= WireLimits.text
      else { return .error(400, "reason must be a text of at most \(WireLimits.text) bytes") }
      finish(reason.isEmpty ? "ended by the user" : reason)
    case let step where ["setup", "start", "cancel"].contains(step):
      if let refusal = prepare(String(step), members) { return refusal }
      if step == "setup" { return readSetup() }
    default: return .error(404, "there is no \(path)")
    }
    let session = broadcast.session
    return .json(
      200,
      .object([
        ("session", .text(session.name)), ("state", .text(session.state.word)),
        ("paused", .truth(session.isPaused)), ("resuming", .truth(session.isResumeAwaited)),
      ]))
  }
}

extension ControlAPI {
  private static let noSetup = "this relay starts by itself (--setup lets it wait for a start)"

  /// A step of the setup; what it was refused for, if it was.
  private func prepare(_ step: String, _ members: [String: JSONText]) -> HTTPDocument? {
    guard let setup else { return .error(409, Self.noSetup) }
    do throws(SetupRefusal) {
      switch step {
      case "setup": try setup.change(members)
      case "start": try setup.start()
      default:
        try setup.cancel(isOn: ![.waiting, .starting].contains(broadcast.session.state))
        if setup.state == .started { finish("cancelled") }
        broadcast.waitingText = "cancelled"
      }
      return nil
    } catch {
      switch error {
      case .wrong(let text): return .error(400, text)
      case .notNow(let text): return .error(409, text)
      case .failed(let text): return .error(500, text)
      }
    }
  }
}

extension StreamDescription.Source {
  /// A sound by the word that users say; nil for anything else.
  init?(soundWord word: String) {
    guard let found = [Self.appSound, .microphone].first(where: { $0.word == word }) else {
      return nil
    }
    self = found
  }
}

extension HTTPDocument {
  static func json(_ status: UInt32, _ value: JSONText) -> HTTPDocument {
    HTTPDocument(status: status, type: "application/json", value.encoded + "\n")
  }

  /// A refusal that programs can read.
  static func error(_ status: UInt32, _ text: String) -> HTTPDocument {
    json(status, .object([("error", .text(text))]))
  }
}
