import CommandOptions
import Report
import Wire

/// What a broadcast is to be, as it is said before its start; what is not said is the agent's own choice.
struct Setup {
  /// What viewers read.
  private(set) var name: String?
  /// As the agent's `--source`, `--audio` and `--size` take them.
  private(set) var source: String?
  private(set) var sound: String?
  private(set) var size: String?
  /// Frames a second.
  private(set) var fps: Int?
  /// Bits a second.
  private(set) var bitrate: Int?
  /// Where it goes besides its viewers, begun and ended with it.
  private(set) var pushes: [PushAddress] = []

  /// An address on the network with its secrets, as it was given.
  struct PushAddress {
    let text: String
    let target: PushTarget
  }

  static let members = ["name", "source", "sound", "size", "fps", "bitrate", "pushes"]
  /// Those that only an agent can obey that the relay starts.
  static let ofSpawnedAgent: Set<String> = ["name", "source", "sound", "size", "fps"]
  static let frameRates = 1...240
  /// Of an agent's option; a live one takes more.
  static let bitrates = RelayLimits.bitrates.lowerBound...200_000_000

  private static let sources = [
    "portal", "portal:monitor", "portal:window", "portal:virtual", "camera", "pattern",
  ]

  /// Takes what `members` say, all of it or, with what is wrong, nothing; null takes a member back.
  ///
  /// A push that is named as `json` shows it stays what it was, with its secret.
  mutating func change(_ members: [String: JSONText]) throws(SetupError) {
    var changed = self
    for (member, value) in members.sorted(by: { $0.key < $1.key }) {
      switch member {
      case "name": changed.name = try Self.text(member, value)
      case "source":
        changed.source = try Self.text(
          member, value,
          as: "portal, portal:KIND, node:NAME-OR-SERIAL, camera, camera:NAME or pattern"
        ) {
          Self.sources.contains($0) || Self.names($0, ["node:", "camera:"])
        }
      case "sound":
        changed.sound = try Self.text(
          member, value, as: "none, both, app[:NAME], mic[:NAME] or app:NAME,mic:NAME"
        ) {
          ["none", "app", "mic", "both", "app,mic"].contains($0)
            || Self.names($0, ["app:", "mic:", "app,mic:"])
        }
      case "size":
        changed.size = try Self.text(member, value, as: "WIDTHxHEIGHT, each 1 to 16384") {
          OptionFormat.size($0) != nil
        }
      case "fps": changed.fps = try Self.number(member, value, Self.frameRates)
      case "bitrate": changed.bitrate = try Self.number(member, value, Self.bitrates)
      case "pushes": changed.pushes = try addresses(value)
      default:
        throw SetupError("\(member): expected one of \(Self.members.joined(separator: ", "))")
      }
    }
    self = changed
  }

  /// What the agent that is started is told; later options beat the earlier ones of its command.
  var agentWords: [String] {
    let said: [(String, String?)] = [
      ("name", name), ("source", source), ("audio", sound), ("size", size),
      ("fps", fps.map(String.init)), ("bitrate", bitrate.map(String.init)),
    ]
    return said.compactMap { option, value in value.map { "--\(option)=\($0)" } }
  }

  /// For people: pushes by their names, without secrets.
  var json: [(String, JSONText)] { plain + [("pushes", .list(pushes.map { .text($0.name) }))] }

  /// For the file, with secrets.
  var kept: JSONText { .object(plain + [("pushes", .list(pushes.map { .text($0.text) }))]) }

  private var plain: [(String, JSONText)] {
    [
      ("name", .optional(name)), ("source", .optional(source)), ("sound", .optional(sound)),
      ("size", .optional(size)), ("fps", fps.map(JSONText.number) ?? .none),
      ("bitrate", bitrate.map(JSONText.number) ?? .none),
    ]
  }

  /// nil for null, and for an empty text.
  private static func text(
    _ member: String, _ value: JSONText, as expected: String = "a text",
    where isFine: (String) -> Bool = { _ in true }
  ) throws(SetupError) -> String? {
    switch value {
    case .none, .text(""): return nil
    case .text(let text):
      guard text.unicodeScalars.allSatisfy(\.isPlain), text.utf8.count <= WireLimits.text else {
        throw SetupError("\(member): expected one line of at most \(WireLimits.text) bytes")
      }
      guard isFine(text) else { throw SetupError("\(member) \(text): expected \(expected)") }
      return text
    default: throw SetupError("\(member): expected \(expected)")
    }
  }

  private static func number(
    _ member: String, _ value: JSONText, _ range: ClosedRange<Int>
  ) throws(SetupError) -> Int? {
    switch value {
    case .none: return nil
    case .number(let number) where range.contains(number): return number
    default:
      throw SetupError(
        "\(member): expected a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
  }

  private static func names(_ text: String, _ kinds: [String]) -> Bool {
    kinds.contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
  }

  private func addresses(_ value: JSONText) throws(SetupError) -> [PushAddress] {
    guard case .list(let values) = value else {
      if case .none = value { return [] }
      throw SetupError("pushes: expected a list of addresses")
    }
    guard values.count <= RelayLimits.setupPushes else {
      throw SetupError("pushes: expected at most \(RelayLimits.setupPushes) addresses")
    }
    var known = pushes
    var addresses: [PushAddress] = []
    for value in values {
      guard case .text(let text) = value else {
        throw SetupError("pushes: expected a list of addresses")
      }
      let meant = pushes.count { $0.name == text && $0.text != text }
      let said = values.count { if case .text(text) = $0 { true } else { false } }
      guard meant == 0 || meant == said else {
        throw SetupError("pushes: there are \(meant) of \(text): write out which are meant")
      }
      if let place = known.firstIndex(where: { $0.name == text }) {
        addresses.append(known.remove(at: place))
      } else if text.contains("…") {
        throw SetupError("pushes: \(text) is not set up: its key is not known here")
      } else {
        addresses.append(try PushAddress(text))
      }
    }
    return addresses
  }
}

extension Setup.PushAddress {
  /// Files and whole folders are for the command line: who controls from elsewhere writes none.
  private static let schemes: Set<String> = [
    "rtmp", "rtmps", "rtmpt", "rtmpe", "rtmpts", "rtmpte", "srt", "rist", "rtp", "srtp", "rtsp",
    "http", "https", "tcp", "udp",
  ]

  private static func waits(_ option: (name: String, value: String)) -> Bool {
    let (name, value) = (option.name.lowercased(), option.value.lowercased())
    return name.contains("listen") || name == "mode" && value != "caller" || name == "rtsp_flags"
  }

  init(_ text: String) throws(SetupError) {
    guard let url = MediaURL(text), Self.schemes.contains(url.scheme) else {
      throw SetupError(
        "pushes: expected addresses on the network, such as rtmp://host/app/key or srt://host:port")
    }
    // One that waits to be called would be a port that no viewer key guards.
    guard !url.parameters.contains(where: Self.waits) else {
      throw SetupError("pushes: an address that is called, and not one that waits to be (listen)")
    }
    do {
      self.init(text: text, target: try PushTarget(push: text))
    } catch {
      throw SetupError(error.description.replacing("--push", with: "pushes"))
    }
  }

  /// What people are shown.
  var name: String { target.name }
}

/// What is wrong with a setup, in one line that names the member.
struct SetupError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
