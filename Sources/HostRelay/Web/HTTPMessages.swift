import Wire

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
  /// What the path takes, where the method was another one.
  var methods: [String] = []
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
      + (methods.isEmpty ? [] : [("allow", methods.joined(separator: ", "))])
  }

  /// Status line and fields; `length` nil: until the connection closes.
  func head(length: Int?) -> [UInt8] {
    var lines = [
      "HTTP/1.1 \(status) \(Self.phrases[status] ?? "Refused")", "content-type: \(type)",
    ]
    if let length { lines.append("content-length: \(length)") }
    lines += fields.map { "\($0): \($1)" }
    return Array((lines + ["connection: close", "", ""]).joined(separator: "\r\n").utf8)
  }

  /// Of RFC 9110, and 6585 for 431.
  private static let phrases: [UInt32: String] = [
    200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable",
  ]

  /// One line for people.
  static func line(_ status: UInt32, _ text: String) -> HTTPDocument {
    HTTPDocument(status: status, type: "text/plain; charset=utf-8", text + "\n")
  }

  /// To who began a request and has not ended it in time.
  static let late = line(
    408, "a request must be whole within \(WireLimits.greetingTime.components.seconds) s")

  /// To who asks by another method than `path` takes.
  static func wrongMethod(_ path: String, takes methods: [String], isForPrograms: Bool)
    -> HTTPDocument
  {
    let text = "\(path) takes \(methods.joined(separator: " and "))"
    var document = isForPrograms ? error(405, text) : line(405, text)
    document.methods = methods
    return document
  }
}
