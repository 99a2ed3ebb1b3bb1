import CommandOptions
import Glibc
import Pixels
import Posix
import VAAPI

/// The command line, the environment and the configuration file, read once into one value.
struct Options: Sendable {
  enum Source: Equatable, Sendable {
    /// nil: a monitor or a window.
    case portal(SourceKind?)
    case node(String)
    /// nil names no certain one.
    case camera(String?)
    case pattern

    /// As `--source` says it.
    var word: String {
      switch self {
      case .portal(let kind): kind.map { "portal:\($0.word)" } ?? "portal"
      case .node(let name): "node:\(name)"
      case .camera(let name): name.map { "camera:\($0)" } ?? "camera"
      case .pattern: "pattern"
      }
    }
  }

  /// Whether it may be of a monitor that can be switched off.
  private static func isScreen(_ source: Source) -> Bool {
    switch source {
    case .portal, .node: true
    case .camera, .pattern: false
    }
  }

  /// How the pointer gets into the pictures.
  enum CursorWish: String, Sendable {
    /// The desktop draws it.
    case embedded
    /// Not at all.
    case hidden
    /// The desktop describes it, and the agent draws it.
    case drawn
  }

  var listen: SocketAddress
  var source: Source
  var cursor: CursorWish
  var sounds = SoundWish()
  /// The one beside a screen; nil: none.
  var camera: CameraWish?
  /// The size and the turn of the pictures.
  var wish = PictureWish()
  var framesPerSecond: Int
  var bitsPerSecond: Int?
  /// nil: the best that the driver has.
  var profile: Profile?
  var colour: Colour
  var name: String
  var presence = DesktopPresence.Wishes()
  var display: DisplayChoice
  var memoryLimit: Int
  var memoryTier: MemoryTier
  /// nil: for ever.
  var hold: Duration?
  var tokenFile: String?
  var restoreFile: String?
  var asksAnew: Bool
  var explainsMemory: Bool
  var listsSources: Bool
  var recordsEnd: Bool

  static let table = OptionTable(
    program: "capture-agent",
    summary: "Encodes a screen within a memory limit and gives it to one relay.",
    standardFile: "capture-agent.conf",
    options: [
      Option(
        "listen", .value("ADDRESS:PORT"), "loopback only; port 0: any", standard: "127.0.0.1:13579"),
      Option(
        "source", .value("SOURCE"), "portal[:KIND], camera[:NAME], node:NAME-OR-SERIAL, pattern",
        standard: "portal"),
      Option("camera", .optionalValue("NAME"), "beside the screen, as a stream of its own"),
      Option(
        "audio", .value("SOUND"), "none, both, app[:NAME], mic[:NAME] or app:NAME,mic:NAME",
        standard: "none"),
      Option("audio-bitrate", .value("BITS"), "a second of each sound", standard: "96k"),
      Option(
        "cursor", .value("HOW"), "embedded, hidden, or drawn by the agent", standard: "embedded"),
      Option(
        "preset", .value("NAME"), "size and rate as 1080p30; what --size and --fps say wins"),
      Option("size", .value("WxH"), "of the pictures, with black bars; default: the source's"),
      Option("rotate", .value("DEGREES"), "clockwise: 0, 90, 180 or 270", standard: "0"),
      Option("mirror", .flag, "left to right, once it is rotated"),
      Option("fps", .value("N"), "frames a second at most, 1 to 240", standard: "30"),
      Option("bitrate", .value("BITS"), "a second, as 6M or 800k; default: by size"),
      Option(
        "profile", .value("NAME"), "constrained-baseline, main, high; default: the best"),
      Option("color", .value("STANDARD"), "bt709 or bt601", standard: "bt709"),
      Option("name", .value("TEXT"), "what viewers read; default: this machine's name"),
      Option("pause-on-lock", .flag, "nothing is shown while the session is locked"),
      Option("no-inhibit", .flag, "let the machine go idle and to sleep while live"),
      Option("no-notification", .flag, "no word on the desktop that its screen is seen"),
      Option(
        "va-display", .value("DISPLAY"), "auto, drm[:PATH], none (software)", standard: "auto"),
      Option("memory-limit", .value("BYTES"), "enforced by the kernel", standard: "50MiB"),
      Option(
        "memory-tier", .value("TIER"), "address or data; default: address for software"),
      Option("hold", .value("SECONDS"), "to wait for a relay; 0: for ever", standard: "30"),
      Option("token-file", .value("FILE"), "the relay's; default: in the runtime directory"),
      Option("restore-file", .value("FILE"), "where the portal's permission is kept"),
      Option("ask", .flag, "forget that permission and ask again"),
      Option("list-sources", .flag, "print what there is to see and to hear, and stop"),
      Option("explain-memory", .flag, "print the memory plan and stop"),
      Option("record-end", .flag, "for a unit's ExecStopPost=: leave word of how it ended"),
    ])

  init(_ values: OptionValues) throws(UsageError) {
    if let word = values.words.first { throw UsageError("unexpected word \(word) (see --help)") }
    listen = try values.value("listen", "a loopback ADDRESS:PORT") { text in
      SocketAddress(text).flatMap { $0.isLoopback ? $0 : nil }
    }
    source = try values.value(
      "source",
      "portal, portal:monitor, portal:window, portal:virtual, camera[:NAME], node:NAME-OR-SERIAL or pattern"
    ) { text in
      switch text {
      case "portal": .portal(nil)
      case _ where text.hasPrefix("portal:"):
        SourceKind(word: text.dropFirst(7)).map { .portal($0) }
      case "pattern": .pattern
      case "camera": .camera(nil)
      case _ where text.hasPrefix("camera:") && text.utf8.count > 7:
        .camera(String(text.dropFirst(7)))
      case _ where text.hasPrefix("node:") && text.count > 5: .node(String(text.dropFirst(5)))
      default: nil
      }
    }
    sounds = try values.value("audio", "none, both, app[:NAME], mic[:NAME] or app:NAME,mic:NAME") {
      SoundWish(argument: $0)
    }
    sounds.bitsPerSecond = try values.value("audio-bitrate", "bits a second from 6k to 510k") {
      OptionFormat.bitrate($0).flatMap { (6_000...510_000).contains($0) ? $0 : nil }
    }
    cursor = try values.value("cursor", "embedded, hidden or drawn") { CursorWish(rawValue: $0) }
    let preset = try values["preset"].map { (_) throws(UsageError) in
      try values.value(
        "preset", "a height of \(OptionFormat.presetHeights) and a rate, as 1080p30",
        OptionFormat.preset)
    }
    if let preset { (wish.width, wish.height) = (preset.width, preset.height) }
    if values["size"] != nil {
      let size = try values.value("size", "WIDTHxHEIGHT, each 1 to 16384", OptionFormat.size)
      (wish.width, wish.height) = (size.width, size.height)
    }
    let turns = try values.value("rotate", "0, 90, 180 or 270") {
      ["0": 0, "90": 1, "180": 2, "270": 3][$0]
    }
    wish.turn = Orientation(quarterTurns: turns, isMirrored: values.isOn("mirror"))
    framesPerSecond = try values.value("fps", "1 to 240") { text in
      Int(text).flatMap { (1...240).contains($0) ? $0 : nil }
    }
    if let preset, !values.isSaid("fps") { framesPerSecond = preset.framesPerSecond }
    if let name = values["camera"] {
      if case .camera = source {
        throw UsageError("--camera stands beside a screen, and --source is a camera already")
      }
      camera = CameraWish(
        name: name.isEmpty ? nil : name, size: CameraWish.besideSize, isSizeAsked: true,
        framesPerSecond: framesPerSecond)
    }
    if values["bitrate"] != nil {
      bitsPerSecond = try values.value("bitrate", "bits a second from 100k to 200M") { text in
        OptionFormat.bitrate(text).flatMap { (100_000...200_000_000).contains($0) ? $0 : nil }
      }
    }
    if values["profile"] != nil {
      profile = try values.value("profile", "constrained-baseline, main or high") {
        Profile(rawValue: $0)
      }
    }
    colour = try values.value("color", "bt709 or bt601") { Colour(rawValue: $0) }
    display = try values.value("va-display", "auto, drm[:PATH] or none") {
      DisplayChoice(argument: $0)
    }
    memoryLimit = try values.value("memory-limit", "a size from 16MiB, as 50MiB") { text in
      OptionFormat.byteCount(text).flatMap { $0 >= 16 << 20 ? $0 : nil }
    }
    if values["memory-tier"] != nil {
      memoryTier = try values.value("memory-tier", "address or data") { MemoryTier(rawValue: $0) }
    } else {
      memoryTier = MemoryTier(for: display)
    }
    let seconds = try values.value("hold", "seconds, 0 or more", OptionFormat.seconds)
    hold = seconds == 0 ? nil : .seconds(seconds)
    name = values["name"] ?? Self.machineName
    presence.pausesOnLock = values.isOn("pause-on-lock")
    presence.inhibits = !values.isOn("no-inhibit")
    presence.watchesOutputs = Self.isScreen(source)
    presence.notifies = !values.isOn("no-notification")
    tokenFile = values["token-file"]
    restoreFile = values["restore-file"]
    asksAnew = values.isOn("ask")
    listsSources = values.isOn("list-sources")
    explainsMemory = values.isOn("explain-memory")
    recordsEnd = values.isOn("record-end")
  }

  /// Of the test pattern, which is drawn as large as the pictures are wanted.
  var patternSize: (width: Int, height: Int) { (wish.width ?? 1920, wish.height ?? 1080) }

  var patternFormat: SourceFormat {
    SourceFormat(width: patternSize.width, height: patternSize.height)
  }

  private static var machineName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "screen" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
