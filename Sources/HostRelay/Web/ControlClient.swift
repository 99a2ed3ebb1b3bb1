import CommandOptions
import Glibc
import Posix
import Report
import Wire

/// `host-relay ctl`: one request to the relay that runs, its answer on standard output.
struct ControlClient {
  static let table = OptionTable(
    program: "host-relay ctl",
    summary: "Asks the relay that runs.",
    commands: [
      Command("status", "print how the broadcast and its viewers are, as JSON"),
      Command("pause", "hold pictures and sound back; viewers are told"),
      Command("resume", "go on"),
      Command("finish [REASON]", "end the broadcast for everyone, who read the reason"),
      Command("keyframe", "send a picture that a decoder may start with"),
      Command("bitrate N", "bits a second of the picture, such as 6000000, 800k or 6M"),
      Command("sound app|mic on|off", "switch the desktop's sound or the microphone on or off"),
      Command("setup", "print what the next start begins, where the relay has --setup"),
      Command(
        "setup NAME=VALUE ...",
        "change it: name, source, sound, size, fps, bitrate, pushes; NAME= takes one back"),
      Command("start", "begin what is set up"),
      Command("cancel", "drop what is set up, and a start that has shown no picture"),
    ],
    options: [
      Option(
        "http", .value("ADDRESS:PORT"), "where the relay answers", standard: "127.0.0.1:13581"),
      Option("control-key", .value("KEY"), "needed unless the relay runs as this user here"),
      Option(
        "tls-certificate", .value("FILE"),
        "the certificate of a relay elsewhere that speaks TLS; one here has left its own"),
    ])

  static let exitCodes: [(ExitCode, String)] = [
    (.finished, "The relay did it."), (.usage, "Wrong usage; the line that was printed names it."),
    (.unavailable, "No relay answers."),
    (.temporary, "Not now: the relay has no agent, or nothing to start or end."),
    (.notAllowed, "Not allowed without the control key."),
  ]

  private let address: SocketAddress
  private let key: AccessKey?
  /// The file with the one certificate that is trusted; nil: plain HTTP.
  private let certificate: String?
  private let request: (method: String, path: String, body: JSONText?)

  init(_ values: OptionValues) throws(UsageError) {
    address = try values.value(
      "http", "an address and port such as 127.0.0.1:13581", SocketAddress.init(_:))
    key =
      values["control-key"] == nil
      ? nil : try values.value("control-key", AccessKey.form, AccessKey.init(_:))
    certificate = values["tls-certificate"] ?? Self.certificateHere(address)
    request = try Self.request(values.words)
  }

  /// Prints the answer; the exit code tells how it went.
  func run() -> ExitCode {
    do {
      let answer = try exchange()
      print(answer.text, terminator: "")
      switch answer.status {
      case 200: return .finished
      case 403: return .notAllowed
      case 409: return .temporary
      case 500...: return .unavailable
      default: return .usage
      }
    } catch {
      Log.note("no relay answers at \(address): \(error)")
      return .unavailable
    }
  }

  private static func request(
    _ words: [String]
  ) throws(UsageError) -> (method: String, path: String, body: JSONText?) {
    let rest = words.dropFirst()
    switch (words.first, rest.count) {
    case ("status", 0): return ("GET", "status", nil)
    case ("pause", 0), ("resume", 0), ("keyframe", 0), ("start", 0), ("cancel", 0):
      return ("POST", words[0], .object([]))
    case ("setup", 0): return ("GET", "setup", nil)
    case ("setup", _): return ("POST", "setup", .object(try setup(rest)))
    case ("finish", _):
      return ("POST", "finish", .object([("reason", .text(rest.joined(separator: " ")))]))
    case ("bitrate", 1):
      guard let rate = OptionFormat.bitrate(words[1]) else {
        throw UsageError("bitrate \(words[1]): expected bits a second such as 6000000, 800k or 6M")
      }
      return ("POST", "bitrate", .object([("bits_per_second", .number(rate))]))
    case ("sound", 2) where ["on", "off"].contains(words[2]):
      guard StreamDescription.Source(soundWord: words[1]) != nil else {
        throw UsageError("sound \(words[1]): expected app or mic")
      }
      let body = [("source", JSONText.text(words[1])), ("on", .truth(words[2] == "on"))]
      return ("POST", "sound", .object(body))
    default:
      let commands = table.commands.map(\.usage).joined(separator: ", ")
      throw UsageError("expected one of \(commands) (see --help)")
    }
  }

  /// Members of a setup; each `pushes=` adds one, and an empty value takes the member back.
  private static func setup(_ words: ArraySlice<String>) throws(UsageError) -> [(String, JSONText)]
  {
    var members: [(String, JSONText)] = []
    var pushes: [JSONText]?
    for word in words {
      let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { throw UsageError("setup \(word): expected NAME=VALUE") }
      let (name, value) = (String(sides[0]), String(sides[1]))
      switch name {
      case "pushes": pushes = (pushes ?? []) + (value.isEmpty ? [] : [.text(value)])
      case _ where value.isEmpty: members.append((name, .none))
      case "fps": members.append((name, Int(value).map(JSONText.number) ?? .text(value)))
      case "bitrate":
        members.append((name, OptionFormat.bitrate(value).map(JSONText.number) ?? .text(value)))
      default: members.append((name, .text(value)))
      }
    }
    return members + (pushes.map { [("pushes", .list($0))] } ?? [])
  }

  /// What the relay of this user that listens there has left; nil when it speaks no TLS.
  private static func certificateHere(_ address: SocketAddress) -> String? {
    let wildcard = SocketAddress(
      bytes: [UInt8](repeating: 0, count: address.bytes.count), port: address.port)
    guard address.isLoopback || LocalAddresses.reaching(wildcard).contains(address),
      let directory = try? RuntimeDirectory()
    else { return nil }
    let file = TLSIdentity.published(port: address.port, in: directory)
    return unsafe access(file, R_OK) == 0 ? file : nil
  }

  private func exchange() throws -> (status: Int, text: String) {
    let socket = try TCPSocket.connect(to: address, timeout: .seconds(5))
    let body = request.body?.encoded ?? ""
    var head = "\(request.method) \(ControlAPI.prefix)\(request.path) HTTP/1.1\r\n"
    head += "Host: \(address)\r\nConnection: close\r\n"
    if let key { head += "Authorization: Bearer \(key.text)\r\n" }
    if request.body != nil {
      head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
    }
    let bytes = Array((head + "\r\n" + body).utf8)
    let received: [UInt8]
    if let certificate {
      let connection = try PinnedConnection(socket, to: Certificate(file: certificate))
      try connection.send(bytes)
      received = connection.receiveAll()
    } else {
      try TCPSocket.send(bytes, to: socket.raw)
      received = try TCPSocket.receiveAll(from: socket.raw)
    }
    let answer = String(decoding: received, as: UTF8.self)
    let words = answer.split(separator: " ", maxSplits: 2)
    guard words.count == 3, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
      throw PosixError("its answer is no HTTP", code: EPROTO)
    }
    // The head ends at the first empty line; "\r\n" is one Character.
    let lines = answer.split(separator: "\r\n", omittingEmptySubsequences: false)
    return (status, lines.drop { !$0.isEmpty }.dropFirst().joined(separator: "\r\n"))
  }
}
