import CWebSockets
import Glibc
import Posix

/// Page, status, control and WebSockets, and all that comes by TLS: HTTP/1.1 by libwebsockets on the
/// relay's loop. Who may come in is not its business: it is given accepted sockets.
@safe final class PageServer {
  /// Answers a request; called on the loop.
  var answer: ((HTTPRequest) -> HTTPAnswer)?
  /// Called when a connection has asked for something, its body included, or is gone.
  var asked: ((ObjectIdentifier) -> Void)?
  /// A WebSocket or a stream ended, of the viewer with this name.
  var ended: ((ConsumerEnd, String) -> Void)?
  /// Names a new viewer.
  var nextName: () -> String = { "viewer" }
  /// Called when the last viewer is gone.
  var emptied: (() -> Void)?
  var hasViewers: Bool { connections.values.contains { $0.isViewer } }
  var connectionCount: Int { connections.count }

  let loop: EventLoop
  private let protocols: UnsafeMutablePointer<lws_protocols>
  private var context: OpaquePointer?
  private var connections: [ObjectIdentifier: HTTPConnection] = [:]

  /// Throws when libwebsockets cannot run on libuv's loop.
  init(on loop: EventLoop, tls: TLSIdentity?) throws {
    self.loop = loop
    unsafe protocols = .allocate(capacity: 2)
    unsafe protocols.initialize(repeating: lws_protocols(), count: 2)
    unsafe protocols[0].name = staticName
    unsafe protocols[0].callback = httpCallback
    // Without this lws sends 4 KiB of a message and copies the rest.
    unsafe protocols[0].tx_packet_size = 4 << 20
    try makeContext(loop, tls)
  }

  /// Takes over a socket of which nothing has been read; nil when lws would not have it.
  func adopt(
    _ socket: consuming OwnedFD, visitor: Visitor, isSecure: Bool
  ) -> ObjectIdentifier? {
    guard let context = unsafe context else { return nil }
    let connection = HTTPConnection(visitor: visitor, isSecure: isSecure, server: self)
    let identifier = ObjectIdentifier(connection)
    connections[identifier] = connection
    var description = unsafe lws_adopt_desc_t()
    unsafe description.vh = lws_get_vhost_by_name(context, "default")
    unsafe description.type = lws_adoption_type(
      LWS_ADOPT_HTTP.rawValue | LWS_ADOPT_SOCKET.rawValue
        | (isSecure ? LWS_ADOPT_ALLOW_SSL.rawValue : 0))
    unsafe description.fd.sockfd = socket.release()
    // lws tells of the end of one that it would not have, too, and later: till then it holds the
    // connection, whose address would else be another one's.
    unsafe description.opaque = Unmanaged.passRetained(connection).toOpaque()
    // On a failure lws closes the socket.
    guard let wsi = unsafe lws_adopt_descriptor_vhost_via_info(&description) else {
      forget(connection)
      return nil
    }
    guard connections[identifier] != nil else { return nil }
    unsafe connection.belongs(to: wsi)
    return identifier
  }

  /// Closes a connection whose request has not been whole in time.
  func cut(_ identifier: ObjectIdentifier) { connections[identifier]?.expire() }

  func tick(now: Moment) {
    for connection in connections.values { connection.tick(now: now) }
  }

  /// Ends a stream for everyone once what waits for it is sent.
  func finishReaders(of stream: Stream) {
    for connection in connections.values where connection.body?.source === stream {
      connection.body?.finishStream()
    }
  }

  /// Lets every viewer read what waits for it, and go.
  func finishViewers() {
    for connection in connections.values {
      connection.viewer?.finish()
      connection.body?.finish()
    }
  }

  /// Begins to close; the loop must run until it is empty before `destroy`.
  func close() { unsafe lws_context_destroy(context) }

  /// Frees what is left, once the loop has no handle any more: lws's second half of the same call.
  func destroy() {
    unsafe lws_context_destroy(context)
    unsafe context = nil
    unsafe protocols.deallocate()
  }

  private func makeContext(_ loop: EventLoop, _ tls: TLSIdentity?) throws {
    lws_set_log_level(0, nil)
    var information = unsafe lws_context_creation_info()
    unsafe information.port = CONTEXT_PORT_NO_LISTEN_SERVER
    unsafe information.protocols = UnsafePointer(protocols)
    unsafe information.options = UInt64(
      LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME)
    unsafe information.gid = -1
    unsafe information.uid = -1
    unsafe information.user = Unmanaged.passUnretained(self).toOpaque()
    unsafe information.server_string = staticName
    // Seconds without a byte of a request; the antechamber is sooner, and says why.
    unsafe information.timeout_secs = 10
    // lws ends what holds its request's head for six minutes longer than this, and a stream does.
    unsafe information.timeout_secs_ah_idle = 1 << 30
    unsafe information.max_http_header_data = 4096
    unsafe information.max_http_header_pool = UInt16(
      RelayLimits.consumers + RelayLimits.reservedPlaces)
    let certificate = unsafe tls.map { unsafe strdup($0.certificateFile) } ?? nil
    let key = unsafe tls.map { unsafe strdup($0.keyFile) } ?? nil
    defer {
      unsafe free(certificate)
      unsafe free(key)
    }
    if tls != nil {
      unsafe information.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
      unsafe information.ssl_cert_filepath = UnsafePointer(certificate)
      unsafe information.ssl_private_key_filepath = UnsafePointer(key)
      // Over HTTP/2 lws 4.1.6 breaks WebSocket messages beyond 16 kB.
      unsafe information.alpn = httpVersion
    }
    var loops: [UnsafeMutableRawPointer?] = unsafe [UnsafeMutableRawPointer(loop.raw)]
    unsafe context = unsafe loops.withUnsafeMutableBufferPointer { loops in
      unsafe information.foreign_loops = loops.baseAddress
      return unsafe lws_create_context(&information)
    }
    guard unsafe context != nil else { throw HTTPServerError() }
  }

  func asked(_ connection: HTTPConnection) { asked?(ObjectIdentifier(connection)) }

  fileprivate func forget(_ connection: HTTPConnection) {
    let hadViewer = connection.isViewer
    connection.gone()
    connections[ObjectIdentifier(connection)] = nil
    asked(connection)
    if hadViewer, !hasViewers { emptied?() }
  }
}

/// libwebsockets does not start on libuv's loop: its plug-in is a package of its own.
struct HTTPServerError: Error, CustomStringConvertible {
  let description =
    "libwebsockets cannot use libuv: is the package libwebsockets-evlib-uv installed?"
}

/// Lives as long as the process, as lws asks of the names it is given.
private nonisolated(unsafe) let staticName: UnsafePointer<CChar> = {
  // Written once, before its first use, and never again.
  let name: StaticString = "porthole"
  return unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}()

private nonisolated(unsafe) let httpVersion: UnsafePointer<CChar> = {
  // As above.
  let name: StaticString = "http/1.1"
  return unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}()

/// lws's one callback: finds the connection and passes on what concerns it. Not 0 closes.
private func httpCallback(
  _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
  _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> Int32 {
  guard let wsi = unsafe wsi, let opaque = unsafe lws_get_opaque_user_data(wsi) else { return 0 }
  switch reason {
  case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE, LWS_CALLBACK_ESTABLISHED, LWS_CALLBACK_RECEIVE,
    LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_TIMER, LWS_CALLBACK_HTTP, LWS_CALLBACK_HTTP_BODY,
    LWS_CALLBACK_HTTP_BODY_COMPLETION,
    LWS_CALLBACK_HTTP_WRITEABLE, LWS_CALLBACK_WSI_DESTROY:
    break
  default: return 0
  }
  let connection = unsafe Unmanaged<HTTPConnection>.fromOpaque(opaque).takeUnretainedValue()
  switch reason {
  case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    // Left alone, lws would answer 101 before it asks anyone who the visitor is.
    connection.server?.asked(connection)
    return unsafe connection.upgrade(
      wsi, to: bytes.map { unsafe String(cString: $0.assumingMemoryBound(to: CChar.self)) })
  case LWS_CALLBACK_ESTABLISHED:
    unsafe connection.open(wsi)
    return 0
  case LWS_CALLBACK_RECEIVE:
    let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    return unsafe connection.viewer?.take(piece) == true ? 0 : -1
  case LWS_CALLBACK_SERVER_WRITEABLE: return connection.viewer?.write() == true ? 0 : -1
  case LWS_CALLBACK_TIMER:
    connection.viewer?.sayFarewell()
    return -1
  case LWS_CALLBACK_HTTP:
    let path = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    return unsafe connection.take(wsi, path: String(decoding: path, as: UTF8.self)) ? 0 : -1
  case LWS_CALLBACK_HTTP_BODY:
    return unsafe connection.takeBody(UnsafeRawBufferPointer(start: bytes, count: count)) ? 0 : -1
  case LWS_CALLBACK_HTTP_BODY_COMPLETION: return unsafe connection.endBody(wsi) ? 0 : -1
  case LWS_CALLBACK_HTTP_WRITEABLE: return unsafe connection.write(wsi) ? 0 : -1
  default:
    connection.server?.forget(connection)
    unsafe Unmanaged<HTTPConnection>.fromOpaque(opaque).release()
    return 0
  }
}
