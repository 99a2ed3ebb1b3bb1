import CWebSockets
import Glibc

/// One HTTP connection: its requests, one after the other, and what is still to be sent.
///
/// libwebsockets owns the socket (`wsi`); the server forgets this object when that is destroyed.
@safe final class HTTPConnection {
  private(set) weak var server: HTTPServer?

  private let name: String
  private let visitor: Visitor
  private var wsi: OpaquePointer?
  private var document: SharedBytes?
  private var closesAfterDocument = false
  /// A POST whose body is not whole yet.
  private var pending: HTTPRequest?
  private var viewing: Viewing?

  /// A stream that this connection reads.
  private struct Viewing {
    let stream: Stream
    let reader: Reader
    var progress: ProgressWatch
    var isEnding = false
    /// lws was asked to say when the socket takes bytes, and has not yet.
    var isBlocked = false
  }

  init(name: String, visitor: Visitor, server: HTTPServer) {
    self.name = name
    self.visitor = visitor
    self.server = server
  }

  /// Said once, by the server; `wsi` lives as long as the server knows this connection.
  func belongs(to wsi: OpaquePointer) { unsafe self.wsi = wsi }

  /// Answers the request that lws holds. Returns false to close the connection.
  func take(_ wsi: OpaquePointer, path: String) -> Bool {
    let request = unsafe HTTPRequest(wsi, path: path, visitor: visitor)
    guard viewing == nil else { return false }
    if request.method == "POST", unsafe request.hasBody(wsi) {
      pending = request
      return true
    }
    return unsafe give(wsi, request)
  }

  /// A piece of a body. Returns false to close the connection.
  func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard let count = pending?.body.count, count + piece.count <= RelayLimits.requestBody else {
      return false
    }
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
    guard let answer = server?.answer?(request) else { return false }
    switch answer {
    case .document(let answer):
      document = request.method == "HEAD" ? SharedBytes([]) : SharedBytes(answer.bytes)
      closesAfterDocument = answer.isRefusal
      return unsafe writeHead(
        wsi, status: answer.status, type: answer.type, length: UInt64(answer.bytes.count))
    case .stream(let type, let stream):
      let isHead = request.method == "HEAD"
      guard unsafe writeHead(wsi, status: 200, type: type, length: nil), !isHead else {
        return false
      }
      unsafe lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0)
      join(stream)
      return true
    }
  }

  /// The socket takes bytes. Returns false to close the connection.
  func write(_ wsi: OpaquePointer) -> Bool {
    if let document {
      self.document = nil
      guard unsafe send(document, wsi, LWS_WRITE_HTTP_FINAL) else { return false }
      return unsafe !closesAfterDocument && lws_http_transaction_completed(wsi) == 0
    }
    viewing?.isBlocked = false
    guard let viewing else { return true }
    guard let packet = viewing.reader.take() else { return !viewing.isEnding }
    guard unsafe send(packet.bytes, wsi, LWS_WRITE_HTTP) else { return false }
    askToWrite()
    return true
  }

  /// Closes a viewer whose socket takes nothing, or who is gone: lws leaves a connection open whose
  /// peer has closed, until a write fails, and on a still screen there may be none.
  func tick(now: Moment) {
    guard var viewing, let wsi = unsafe wsi else { return }
    let state = unsafe ConnectionState(of: lws_get_socket_fd(wsi))
    let isStuck = viewing.progress.isStuck(
      acknowledged: state.acknowledgedBytes, hasWaiting: viewing.isBlocked, now: now)
    self.viewing = viewing
    if !state.isEstablished {
      close(.left)
    } else if isStuck {
      close(.slow("took nothing for 2 s"))
    }
  }

  /// Lets what waits go out, then closes: the stream has ended. One that has sent nothing yet stays.
  func finishStream() {
    guard viewing?.reader.hasStarted == true else { return }
    viewing?.isEnding = true
    askToWrite()
  }

  func leaveStream() {
    guard let viewing else { return }
    self.viewing = nil
    viewing.reader.wake = nil
    viewing.stream.leave(viewing.reader)
    server?.viewerEnded(.left)
  }

  private func join(_ stream: Stream) {
    let reader = Reader(name: name)
    viewing = Viewing(stream: stream, reader: reader, progress: ProgressWatch(now: .now))
    reader.wake = { [weak self] in self?.askToWrite() }
    stream.join(reader, now: .now)
    askToWrite()
  }

  private func askToWrite() {
    guard let wsi = unsafe wsi else { return }
    viewing?.isBlocked = true
    unsafe lws_callback_on_writable(wsi)
  }

  private func close(_ end: ConsumerEnd) {
    guard let viewing else { return }
    self.viewing = nil
    viewing.reader.wake = nil
    viewing.stream.leave(viewing.reader)
    server?.viewerEnded(end)
    cut()
  }

  /// Closes without a word, once lws is back in its loop.
  func cut() {
    guard let wsi = unsafe wsi else { return }
    unsafe lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
  }

  private func send(_ bytes: SharedBytes, _ wsi: OpaquePointer, _ how: lws_write_protocol) -> Bool {
    let bytes = unsafe bytes.writable
    return unsafe lws_write(
      wsi, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, how) >= 0
  }

  /// `length` nil: until the connection closes.
  private func writeHead(_ wsi: OpaquePointer, status: UInt32, type: String, length: UInt64?)
    -> Bool
  {
    var head = [UInt8](repeating: 0, count: 1024)
    return unsafe head.withUnsafeMutableBufferPointer { head in
      guard let base = head.baseAddress else { return false }
      let start = unsafe base + SharedBytes.headRoom
      let end = unsafe base + head.count
      var position: UnsafeMutablePointer<UInt8>? = unsafe start
      guard
        unsafe lws_add_http_common_headers(
          wsi, status, type, length ?? .max, &position, end) == 0
      else { return false }
      for (name, value) in closesAfterDocument ? commonHeaders + [closeHeader] : commonHeaders {
        let value = Array(value.utf8)
        let result = unsafe lws_add_http_header_by_name(
          wsi, name, value, Int32(value.count), &position, end)
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

/// On every answer: nothing is kept, nothing is guessed, no other site embeds it.
private let commonHeaders: [(String, String)] = [
  ("cache-control:", "no-store"),
  ("x-content-type-options:", "nosniff"),
  ("cross-origin-resource-policy:", "same-origin"),
  ("content-security-policy:", "default-src 'none'; style-src 'unsafe-inline'"),
]

/// What is refused keeps no place.
private let closeHeader = ("connection:", "close")

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
    let scheme = "Bearer "
    let authorization = unsafe headerText(128) {
      unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_AUTHORIZATION)
    }
    bearer =
      authorization.hasPrefix(scheme) ? Array(authorization.dropFirst(scheme.count).utf8) : []
    let key = unsafe headerText(128) { buffer, count in
      guard let value = unsafe lws_get_urlarg_by_name(wsi, "key=", buffer, count) else { return 0 }
      return Int32(unsafe strlen(value))
    }
    self.key = Array((key.hasPrefix("key=") ? String(key.dropFirst(4)) : key).utf8)
  }
}

extension HTTPRequest {
  /// Whether bytes follow the head of the request that lws holds.
  fileprivate func hasBody(_ wsi: OpaquePointer) -> Bool {
    let length = unsafe headerText(32) {
      unsafe lws_hdr_copy(wsi, $0, $1, WSI_TOKEN_HTTP_CONTENT_LENGTH)
    }
    return !length.isEmpty && length != "0"
  }
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
