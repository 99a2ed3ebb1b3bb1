import CWebSockets
import Glibc

/// One connection of the page server: one request, and its answer; or a WebSocket, or a stream.
///
/// libwebsockets owns the socket (`wsi`); the server forgets this object when that is destroyed.
@safe final class HTTPConnection {
  private(set) weak var server: PageServer?

  private let visitor: Visitor
  private let isSecure: Bool
  private var document: SharedBytes?
  private var wsi: OpaquePointer?
  /// What a WebSocket that was granted will carry.
  private var feed: SocketFeed?
  /// A POST whose body is not whole yet.
  private var pending: HTTPRequest?
  private var isAnswered = false
  private(set) var viewer: SocketViewer?
  private(set) var body: LiveBody?
  private var file: FileBody?
  var isViewer: Bool { viewer != nil || body != nil }

  init(visitor: Visitor, isSecure: Bool, server: PageServer) {
    self.visitor = visitor
    self.isSecure = isSecure
    self.server = server
  }

  /// Said once, by the server; `wsi` lives as long as the server knows this connection.
  func belongs(to wsi: OpaquePointer) { unsafe self.wsi = wsi }

  /// Answers the request that lws holds. Returns false to close the connection.
  func take(_ wsi: OpaquePointer, path: String) -> Bool {
    var request = unsafe HTTPRequest(wsi, path: path, visitor: visitor)
    request.isSecure = isSecure
    if request.method == "POST" {
      guard unsafe lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) == 0 else {
        return unsafe give(
          wsi, request, .document(.error(411, "a body needs a Content-Length, and no coding")))
      }
      let length = unsafe contentLength(wsi)
      guard length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let count = length.isEmpty ? 0 : Int(length)
      else {
        return unsafe give(wsi, request, .document(.error(400, "Content-Length is no number")))
      }
      if count > RelayLimits.requestBody { return unsafe give(wsi, request, Self.tooLarge) }
      if count > 0 {
        pending = request
        return unsafe encourage(wsi)
      }
    }
    return unsafe give(wsi, request)
  }

  /// A client may first ask whether its body is wanted, and wait (RFC 9110, 10.1.1); curl does so for a second.
  private func encourage(_ wsi: OpaquePointer) -> Bool {
    let expected = unsafe headerText(32) {
      unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_EXPECT)
    }
    guard expected.lowercased() == "100-continue" else { return true }
    let head = SharedBytes(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    return unsafe send(head, wsi, LWS_WRITE_HTTP_HEADERS)
  }

  private static var tooLarge: HTTPAnswer {
    .document(
      .error(413, "a request may have \(RelayLimits.requestBody) bytes"))
  }

  /// Decides on another protocol that lws is asked for: WebSockets alone. Not 0 says no.
  func upgrade(_ wsi: OpaquePointer, to name: String?) -> Int32 {
    var request = unsafe HTTPRequest(wsi, path: pathText(wsi), visitor: visitor)
    request.isUpgrade = true
    request.isSecure = isSecure
    switch server?.answer?(request) {
    case .socket(let feed) where name == "websocket":
      self.feed = feed
      return 0
    case .document(let document) where document.status == 403:
      _ = unsafe lws_return_http_status(
        wsi, document.status, String(decoding: document.bytes, as: UTF8.self))
    default:
      _ = unsafe lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN.rawValue, "no upgrade here")
    }
    return -1
  }

  /// The WebSocket stands.
  func open(_ wsi: OpaquePointer) {
    guard let feed, let server else { return }
    viewer = unsafe SocketViewer(feed, name: server.nextName(), wsi: wsi, now: .now)
    viewer?.ended = { [weak server, name = viewer?.name ?? ""] in server?.ended?($0, name) }
    self.feed = nil
  }

  /// Heartbeats and deadlines.
  func tick(now: Moment) {
    viewer?.tick(now: now)
    body?.tick(now: now)
  }

  /// lws destroys the connection.
  func gone() {
    viewer?.gone()
    viewer = nil
    body?.gone()
    body = nil
    unsafe wsi = nil
  }

  /// A piece of a body. Returns false to close the connection.
  func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    // What follows an answer that did not wait for it is nobody's.
    guard let count = pending?.body.count else { return true }
    guard count + piece.count <= RelayLimits.requestBody else { return false }
    unsafe pending?.body.append(contentsOf: piece)
    return true
  }

  /// The body is whole. Returns false to close the connection.
  func endBody(_ wsi: OpaquePointer) -> Bool {
    // lws tells the end of an empty one too, whose request was answered at once.
    guard let request = pending else { return true }
    pending = nil
    return unsafe give(wsi, request)
  }

  private func give(_ wsi: OpaquePointer, _ request: HTTPRequest) -> Bool {
    guard let server, let answer = server.answer?(request) else { return false }
    server.asked(self)
    return unsafe give(wsi, request, answer)
  }

  private func give(_ wsi: OpaquePointer, _ request: HTTPRequest, _ given: HTTPAnswer) -> Bool {
    let answer: HTTPDocument
    switch given {
    case .document(let document): answer = document
    case .later(let ask):
      unsafe lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
      ask { [weak self] answer in
        guard let self, let wsi = unsafe self.wsi else { return }
        if unsafe !give(wsi, request, answer) { cut() }
      }
      return true
    case .stream(let type, let source): return unsafe begin(source, type, wsi, request)
    case .socket: answer = .line(426, "\(request.path) is a WebSocket")
    }
    if let part = answer.file {
      let isHead = request.method == "HEAD" || part.range.isEmpty
      if !isHead, let server { file = FileBody(part, on: server.loop) }
      document = SharedBytes([])
      return unsafe writeHead(wsi, of: answer, length: UInt64(part.range.count))
    }
    document = request.method == "HEAD" ? SharedBytes([]) : SharedBytes(answer.bytes)
    return unsafe writeHead(wsi, of: answer, length: UInt64(answer.bytes.count))
  }

  private func begin(
    _ source: Stream, _ type: String, _ wsi: OpaquePointer, _ request: HTTPRequest
  ) -> Bool {
    guard let server, unsafe writeHead(wsi, of: HTTPDocument(type: type, ""), length: nil) else {
      return false
    }
    isAnswered = request.method == "HEAD"
    guard !isAnswered else { return true }
    unsafe lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
    let name = server.nextName()
    body = unsafe LiveBody(source, name: name, wsi: wsi, now: .now)
    body?.ended = { [weak server] in server?.ended?($0, name) }
    return true
  }

  /// The socket takes bytes: the answer goes out, and when it is out the connection ends, so that a
  /// request for a stream always stands first in its own. Returns false to close.
  func write(_ wsi: OpaquePointer) -> Bool {
    if let body { return body.write() }
    if let file { return unsafe write(file, wsi) }
    guard let document else { return !isAnswered }
    self.document = nil
    isAnswered = true
    guard unsafe send(document, wsi, LWS_WRITE_HTTP_FINAL) else { return false }
    unsafe lws_callback_on_writable(wsi)
    return true
  }

  /// Sends the next piece of a file; a client that takes none for long is cut by lws.
  private func write(_ body: FileBody, _ wsi: OpaquePointer) -> Bool {
    unsafe lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Self.pieceSeconds)
    let piece = body.take { [weak self] isThere in
      guard let self, let wsi = unsafe self.wsi else { return }
      if isThere { unsafe lws_callback_on_writable(wsi) } else { cut() }
    }
    guard let piece else { return true }
    let isLast = body.isOver
    if isLast { (file, document, isAnswered) = (nil, nil, true) }
    guard unsafe send(piece, wsi, isLast ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) else {
      return false
    }
    unsafe lws_callback_on_writable(wsi)
    return true
  }

  /// How long a piece of a file may take.
  private static let pieceSeconds: Int32 = 30

  /// Closes what has not asked for anything in time; by plain HTTP with a word, which lws has none for.
  func expire() {
    if let wsi = unsafe wsi, !isSecure, document == nil, !isAnswered {
      let late = HTTPDocument.late
      let answer = late.head(length: late.bytes.count) + late.bytes
      _ = unsafe answer.withUnsafeBytes {
        unsafe Glibc.send(
          lws_get_socket_fd(wsi), $0.baseAddress, $0.count, 0)
      }
    }
    cut()
  }

  /// Closes without a word: lws reads the end. A timeout of lws would begin anew with each byte.
  func cut() {
    guard let wsi = unsafe wsi else { return }
    shutdown(unsafe lws_get_socket_fd(wsi), Int32(SHUT_RDWR))
  }

  private func send(_ bytes: SharedBytes, _ wsi: OpaquePointer, _ how: lws_write_protocol) -> Bool {
    let bytes = unsafe bytes.writable
    return unsafe lws_write(
      wsi, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, how) >= 0
  }

  /// `length` nil: until the connection closes, which lws then says itself.
  private func writeHead(
    _ wsi: OpaquePointer, of document: HTTPDocument, length: UInt64?
  ) -> Bool {
    var head = [UInt8](repeating: 0, count: 1024)
    return unsafe head.withUnsafeMutableBufferPointer { head in
      guard let base = head.baseAddress else { return false }
      let start = unsafe base + SharedBytes.headRoom
      let end = unsafe base + head.count
      var position: UnsafeMutablePointer<UInt8>? = unsafe start
      guard
        unsafe lws_add_http_common_headers(
          wsi, document.status, document.type, length ?? .max, &position, end) == 0
      else { return false }
      let closing = length == nil ? [] : [("connection", "close")]
      for (name, value) in document.fields + closing {
        let value = Array(value.utf8)
        let result = unsafe lws_add_http_header_by_name(
          wsi, name + ":", value, Int32(value.count), &position, end)
        guard result == 0 else { return false }
      }
      guard unsafe lws_finalize_write_http_header(wsi, start, &position, end) == 0 else {
        return false
      }
      unsafe lws_callback_on_writable(wsi)
      return true
    }
  }
}

extension HTTPRequest {
  /// Reads from lws what it has parsed of the request of `wsi`.
  fileprivate init(_ wsi: OpaquePointer, path: String, visitor: Visitor) {
    self.path = path
    self.visitor = visitor
    if unsafe lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 {
      method = "GET"
    } else if unsafe lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0 {
      method = "HEAD"
    } else if unsafe lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0 {
      method = "POST"
    } else {
      method = ""
    }
    host = unsafe headerText(256) { unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HOST) }
    origin = unsafe headerText(256) { unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_ORIGIN) }
    let name = "sec-fetch-site:"
    fetchSite = unsafe headerText(64) {
      unsafe lws_hdr_custom_copy(wsi, $0, $1, name, Int32(name.utf8.count))
    }
    bearer = HTTPRequest.bearer(
      in: unsafe headerText(128) {
        unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_AUTHORIZATION)
      })
    var held = [CChar](repeating: 0, count: 8)
    key = unsafe argument("key=", of: wsi)
    ticket = unsafe argument("ticket=", of: wsi)
    // Recordings have no validator that `If-Range` could name: RFC 9110, 13.1.5.
    if unsafe lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_IF_RANGE) == 0 {
      range = unsafe headerText(128) { unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_RANGE) }
    }
    isHeld = unsafe lws_get_urlarg_by_name(wsi, "hold=", &held, Int32(held.count)) != nil
  }
}

/// What the request that lws holds says of the bytes behind its head; empty where it says nothing.
private func contentLength(_ wsi: OpaquePointer) -> String {
  unsafe headerText(32) { unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_CONTENT_LENGTH) }
}

/// What the query says behind `name`.
private func argument(_ name: String, of wsi: OpaquePointer) -> [UInt8] {
  let text = unsafe headerText(128) { buffer, count in
    guard let value = unsafe lws_get_urlarg_by_name(wsi, name, buffer, count) else { return 0 }
    return Int32(unsafe strlen(value))
  }
  return Array((text.hasPrefix(name) ? String(text.dropFirst(name.count)) : text).utf8)
}

private func pathText(_ wsi: OpaquePointer) -> String {
  unsafe headerText(256) { unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_GET_URI) }
}

/// A text that `copy` writes into a buffer of `limit` bytes; empty when it is missing or longer.
private func headerText(
  _ limit: Int, _ copy: (UnsafeMutablePointer<CChar>?, Int32) -> Int32
) -> String {
  var buffer = [CChar](repeating: 0, count: limit)
  let count = unsafe buffer.withUnsafeMutableBufferPointer {
    unsafe copy($0.baseAddress, Int32($0.count))
  }
  guard count > 0 else { return "" }
  return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
