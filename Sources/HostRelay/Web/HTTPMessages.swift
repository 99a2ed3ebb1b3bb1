/// What a client asked for, as far as the relay looks.
struct HTTPRequest {
  let method: String
  /// Decoded, without the query.
  let path: String
  let host: String
  /// Empty where the client sent none; so is `fetchSite`.
  let origin: String
  /// `Sec-Fetch-Site`: what a browser says of where the request comes from.
  let fetchSite: String
  /// The query's `key`.
  let key: [UInt8]
  /// What `Authorization: Bearer` says.
  let bearer: [UInt8]
  let visitor: Visitor
  /// Whether it came by TLS.
  var isSecure = false
  /// The query's `ticket`.
  var ticket: [UInt8] = []
  /// What `Range` says.
  var range = ""
  /// What came with a POST.
  var body: [UInt8] = []
  /// Whether a WebSocket is asked for.
  var isUpgrade = false
  /// Whether the query says `hold`: messages and sound, and no pictures.
  var isHeld = false
}

extension HTTPRequest {
  /// The key in the value of an `Authorization` field; empty where there is none.
  static func bearer(in authorization: String) -> [UInt8] {
    let scheme = "Bearer "
    return authorization.hasPrefix(scheme)
      ? Array(authorization.dropFirst(scheme.count).utf8) : []
  }
}

/// What the relay answers.
enum HTTPAnswer {
  case document(HTTPDocument)
  /// The answer comes with a call of what is passed, on the loop.
  case later((@escaping (HTTPAnswer) -> Void) -> Void)
  /// Packets without end; the connection closes behind them.
  case stream(type: String, Stream)
  /// A WebSocket.
  case socket(SocketFeed)
}

/// A whole answer.
struct HTTPDocument {
  let status: UInt32
  let type: String
  let bytes: [UInt8]
  /// Where to ask instead.
  var location: String?
  /// What comes instead of `bytes`.
  var file: FilePart?

  init(status: UInt32 = 200, type: String, _ text: String) {
    self.status = status
    self.type = type
    bytes = Array(text.utf8)
  }

  init(type: String, bytes: [UInt8]) {
    status = 200
    self.type = type
    self.bytes = bytes
  }

  /// On every answer: nothing is kept, nothing is guessed, no other site embeds it.
  static let commonFields: [(name: String, value: String)] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    (
      "content-security-policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        + " media-src 'self' blob:; img-src 'self'; base-uri 'none'; form-action 'none';"
        + " frame-ancestors 'none'"
    ),
  ]

  /// On this one.
  var fields: [(name: String, value: String)] {
    Self.commonFields + (location.map { [("location", $0)] } ?? []) + (file?.fields ?? [])
  }

  /// One line for people.
  static func line(_ status: UInt32, _ text: String) -> HTTPDocument {
    HTTPDocument(status: status, type: "text/plain; charset=utf-8", text + "\n")
  }
}
