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
  /// What came with a POST.
  var body: [UInt8] = []
}

/// What the relay answers.
enum HTTPAnswer {
  case document(HTTPDocument)
  /// Packets without end; the connection closes behind them.
  case stream(type: String, Stream)
}

/// A whole answer.
struct HTTPDocument {
  let status: UInt32
  let type: String
  let bytes: [UInt8]

  init(status: UInt32 = 200, type: String, _ text: String) {
    self.status = status
    self.type = type
    bytes = Array(text.utf8)
  }

  /// Whether the client got nothing of what it came for, and so may not keep its connection.
  var isRefusal: Bool { status >= 400 }

  /// One line for people.
  static func line(_ status: UInt32, _ text: String) -> HTTPDocument {
    HTTPDocument(status: status, type: "text/plain; charset=utf-8", text + "\n")
  }
}
