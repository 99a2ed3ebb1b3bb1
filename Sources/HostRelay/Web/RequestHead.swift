/// The head of an HTTP/1 request (RFC 9112), as far as a viewer's request is read: sans I/O.
///
/// Read by us and not by libwebsockets, since what is sent to hundreds of players must go straight
/// from one buffer to each socket.
struct RequestHead: Equatable {
  /// What the first bytes of a connection are.
  enum Kind: Equatable {
    /// More must come before that can be said.
    case unknown
    /// A request for a live stream: ours. The head ends before `end`.
    case live(end: Int)
    /// Another request by a method of ours.
    case other
    /// The first record of TLS (RFC 8446, 5.1).
    case handshake
    /// Anything else. libwebsockets 4.1.6 would take a CONNECT and never let go of it.
    case foreign
  }

  /// Bytes of a head; a longer one is no viewer's.
  static let limit = 4096

  let method: String
  /// As sent, before the `?`.
  let path: String
  private let query: Substring
  private let fields: [String: String]

  /// Decides at the earliest byte that tells.
  static func kind(of bytes: Span<UInt8>) -> Kind {
    if bytes.count > 0, bytes[0] == 22 { return .handshake }
    func agree(_ word: String) -> Bool {
      zip(word.utf8, 0..<bytes.count).allSatisfy { $0 == bytes[$1] }
    }
    guard agree("GET /live.") || agree("HEAD /live.") else {
      let method = ["GET ", "HEAD ", "POST "].first { agree($0) }
      guard let method else { return .foreign }
      return bytes.count < method.utf8.count ? .unknown : .other
    }
    if let end = end(of: bytes) { return .live(end: end) }
    return bytes.count < limit ? .unknown : .other
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

  /// nil when `text` is no head; a field that is there twice is none either, since two readers might
  /// believe different ones.
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
      guard let colon = line.firstIndex(of: ":"), line[..<colon].allSatisfy({ $0 != " " }) else {
        return nil
      }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      guard fields.updateValue(String(value), forKey: name) == nil else { return nil }
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
