import Posix
import Wire

/// Which path gives what, and who may ask.
struct Site {
  let viewerKey: AccessKey
  let controlKey: AccessKey
  let names: HostNames
  let speaksTLS: Bool
  let broadcast: Broadcast
  let consumers: SocketAddress
  let identity: () -> Greeting
  let status: () -> StatusDocument
  let control: ControlAPI
  let recordings: RecordingsAPI
  let snapshots: Snapshots

  private static let statusPath = ControlAPI.prefix + "status"

  func answer(_ request: HTTPRequest) -> HTTPAnswer {
    // The page holds nothing of the broadcast, and its key stands where only the browser sees it.
    let page = PageFile(path: request.path)
    if let refusal = refusal(of: request, needsKey: page == nil) { return .document(refusal) }
    let isForPrograms = request.path.hasPrefix(ControlAPI.prefix)
    func takes(_ methods: [String], _ answer: () -> HTTPAnswer) -> HTTPAnswer {
      guard methods.contains(request.method) else {
        return .document(
          .wrongMethod(request.path, takes: methods, isForPrograms: isForPrograms))
      }
      return answer()
    }
    if ControlAPI.paths.contains(request.path) {
      let isRead = request.path == ControlAPI.setupPath
      return takes(isRead ? ["GET", "POST"] : ["POST"]) {
        request.method == "GET"
          ? .document(control.readSetup())
          : .document(control.answer(path: request.path, body: request.body))
      }
    }
    if RecordingsAPI.covers(request.path) {
      return takes(RecordingsAPI.methods(of: request.path)) { recordings.answer(request) }
    }
    guard let answer = page.map({ .document($0.document) }) ?? read(request) else {
      let text = "there is no \(request.path)"
      return .document(isForPrograms ? .error(404, text) : .line(404, text))
    }
    return takes(["GET", "HEAD"]) { answer }
  }

  /// What is there to read; nil where nothing is.
  private func read(_ request: HTTPRequest) -> HTTPAnswer? {
    switch request.path {
    case "/watch.mp4":
      return .socket(
        SocketFeed(
          source: broadcast.outputs.fragments.stream, preface: [], isHeld: false,
          wantsKeyframe: { broadcast.askForKeyframe(of: $0, .consumer) }))
    case "/watch-camera.mp4":
      return .socket(
        SocketFeed(
          source: broadcast.outputs.camera.fragments.stream, preface: [], isHeld: false,
          wantsKeyframe: { _ in broadcast.outputs.camera.askForKeyframe(.consumer) }))
    case "/watch":
      return .socket(
        SocketFeed(
          source: broadcast.outputs.packets, preface: [.greeting(identity())] + broadcast.preface,
          isHeld: request.isHeld, wantsKeyframe: { broadcast.askForKeyframe(of: $0, .consumer) }))
    case "/live.ts": return stream(broadcast.outputs.container.stream, type: "video/mp2t")
    case "/camera.ts":
      guard broadcast.outputs.camera.number != nil || broadcast.sourceStates[.camera] != nil else {
        return .document(.line(404, "there is no camera beside the screen"))
      }
      return stream(broadcast.outputs.camera.container.stream, type: "video/mp2t")
    case "/live.mp4": return stream(broadcast.outputs.movie.stream, type: "video/mp4")
    case "/snapshot.png": return snapshot(.png)
    case "/snapshot.jpg": return snapshot(.jpg)
    case Self.statusPath:
      let mayControl = request.visitor.may(showing: request.bearer, wanted: controlKey)
      return .document(.json(200, status().json(for: mayControl)))
    case "/metrics":
      return .document(HTTPDocument(type: MetricsDocument.type, status().metrics.text))
    case "/healthz":
      let status = status()
      return .document(.line(status.isHealthy ? 200 : 503, broadcast.session.state.word))
    default: return nil
    }
  }

  private func snapshot(_ format: SnapshotRun.Format) -> HTTPAnswer {
    .later { [snapshots] give in
      snapshots.ask(for: format) { result in
        switch result {
        case .success(let bytes):
          give(.document(HTTPDocument(type: format.mediaType, bytes: bytes)))
        case .failure(let error): give(.document(.line(503, "\(error)")))
        }
      }
    }
  }

  private func stream(_ stream: Stream, type: String) -> HTTPAnswer {
    guard stream.readerCount < RelayLimits.consumers else {
      return .document(.line(503, "\(RelayLimits.consumers) viewers are here, as many as may be"))
    }
    return .stream(type: type, stream)
  }

  /// A name of ours against DNS rebinding, no other site's page, and a key for strangers: the
  /// viewer key watches, and only the control key controls.
  private func refusal(of request: HTTPRequest, needsKey: Bool) -> HTTPDocument? {
    guard names.contains(request.host) else {
      return .line(403, "this host name is not ours (see --host)")
    }
    guard !speaksTLS || request.isSecure else { return toTLS(request) }
    guard request.origin.isEmpty || names.containsOrigin(request.origin),
      request.fetchSite != "cross-site"
    else { return .line(403, "requests of other sites are refused") }
    if request.visitor.may(showing: request.bearer, wanted: controlKey) { return nil }
    if recordings.admits(request) { return nil }
    guard !ControlAPI.paths.contains(request.path), !RecordingsAPI.covers(request.path) else {
      return .error(403, "the control key is missing or wrong (Authorization: Bearer)")
    }
    guard !needsKey || request.visitor.may(showing: request.key, wanted: viewerKey) else {
      return .line(403, "the viewer key is missing or wrong (?key=)")
    }
    return nil
  }

  /// What plain HTTP is told on a port that speaks TLS; only the page asks again by itself.
  private func toTLS(_ request: HTTPRequest) -> HTTPDocument {
    let isPage = request.path == "/"
    var document = HTTPDocument.line(
      isPage ? 308 : 400, "this port speaks TLS: ask https://\(request.host)\(request.path)")
    if isPage { document.location = "https://\(request.host)/" }
    return document
  }
}

/// The values of `Host` that a client may name us by, exactly.
struct HostNames {
  private let names: Set<String>
  private let address: SocketAddress
  /// Of an `Origin` of ours, up to the host.
  private let scheme: String

  /// `address` is what is bound; `extra` what `--host` adds, each also with the port.
  init(address: SocketAddress, extra: [String], speaksTLS: Bool = false) {
    self.address = address
    scheme = speaksTLS ? "https://" : "http://"
    let hosts =
      ["127.0.0.1", "localhost", "[::1]", LocalAddresses.hostName, address.urlHost]
      + extra.map { $0.lowercased() }
    names = Set((hosts + hosts.map { "\($0):\(address.port)" }).filter { !$0.isEmpty })
      .subtracting(address.isWildcard ? [address.urlHost, "\(address)"] : [])
  }

  /// On a wildcard the machine's addresses of this moment are ours too.
  func contains(_ host: String) -> Bool {
    let host = host.lowercased()
    if names.contains(host) { return true }
    return LocalAddresses.reaching(address).contains { $0.urlHost == host || "\($0)" == host }
  }

  func containsOrigin(_ origin: String) -> Bool {
    origin.hasPrefix(scheme) && contains(String(origin.dropFirst(scheme.count)))
  }
}
