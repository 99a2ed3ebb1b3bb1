/// The head of an HTTP/1 request (RFC 9112), as far as a viewer's request is read: sans I/O.
///
/// Read by us and not by libwebsockets, since what is sent to hundreds of players must go straight
/// from one buffer to each socket.
struct RequestHead: Equatable {
  /// What the first bytes of a connection are.
  enum Kind: Equatable {
    /// More must come before that can be said.
    case unknown
    /// The head of a request for a live stream, or by a method that no path takes: ours. It ends before
    /// `end`. libwebsockets 4.1.6 would take a CONNECT and never let go of it.
    case ours(end: Int)
    /// The head of another request, which ends before `end`.
    case other(end: Int)
    /// A head that goes on beyond `limit`.
    case tooLarge
    /// The first record of TLS (RFC 8446, 5.1).
    case handshake
    /// No request.
    case foreign
  }

  /// Bytes of a head; libwebsockets takes as many.
  static let limit = 4096
  /// Bytes of a method; the longest of HTTP has 7.
  private static let methodLimit = 16
  /// Fields that say who asks, and how long the request is: one that is there twice might be read in two ways.
  private static let single: Set<String> = [
    "host", "origin", "sec-fetch-site", "authorization", "upgrade", "content-length",
    "transfer-encoding",
  ]

  let method: String
  /// As sent, before the `?`.
  let path: String
  private let query: Substring
  private let fields: [String: String]

  /// Decides when the head is whole, or cannot be one.
  static func kind(of bytes: Span<UInt8>) -> Kind {
    if bytes.count > 0, bytes[0] == 22 { return .handshake }
    let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
    let blank = (0..<bytes.count).first { !capitals.contains(bytes[$0]) }
    if let blank, blank == 0 || bytes[blank] != UInt8(ascii: " ") { return .foreign }
    guard (blank ?? bytes.count) <= methodLimit else { return .foreign }
    guard let end = end(of: bytes) else { return bytes.count < limit ? .unknown : .tooLarge }
    func begins(_ word: String) -> Bool {
      word.utf8.count <= end && zip(word.utf8, 0..<end).allSatisfy { $0 == bytes[$1] }
    }
    let isOurs = begins("GET /live.") || begins("HEAD /live.")
    return isOurs || !["GET ", "HEAD ", "POST "].contains(where: begins)
      ? .ours(end: end) : .other(end: end)
  }

  /// Whether an empty line ends a head in `bytes`.
  static func isWhole(_ bytes: Span<UInt8>) -> Bool { end(of: bytes) != nil }

  /// Where the head ends: behind the first empty line.
  private static func end(of bytes: Span<UInt8>) -> Int? {
    var newlines = 0
    for index in 0..<bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\n"): newlines += 1
      case UInt8(ascii: "\r"): continue
      default: newlines = 0
      }
      if newlines == 2 { return index + 1 }
    }
    return nil
  }

  /// nil when `text` is no head, or says twice what must be said once.
  init?(_ text: String) {
    var lines = text.split(whereSeparator: \.isNewline)[...]
    let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
    method = String(words[0])
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(target[0])
    query = target.count > 1 ? target[1] : ""
    var fields: [String: String] = [:]
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        line[..<colon].allSatisfy({ $0 != " " && $0 != "\t" })
      else { return nil }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      guard fields.updateValue(String(value), forKey: name) == nil || !Self.single.contains(name)
      else { return nil }
    }
    self.fields = fields
  }

  /// Whether another protocol is asked for; we speak none.
  var isUpgrade: Bool { fields["upgrade"] != nil }

  func request(from visitor: Visitor) -> HTTPRequest {
    let key = query.split(separator: "&").first { $0.hasPrefix("key=") }?.dropFirst(4) ?? ""
    return HTTPRequest(
      method: method, path: path, host: fields["host"] ?? "", origin: fields["origin"] ?? "",
      fetchSite: fields["sec-fetch-site"] ?? "", key: Array(key.utf8),
      bearer: HTTPRequest.bearer(in: fields["authorization"] ?? ""), visitor: visitor)
  }
}
