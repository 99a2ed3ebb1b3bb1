import Posix
import Report

/// The HTTP port. It looks at the first bytes of each connection without taking them: a player's
/// request is answered here, straight from the stream's buffers; anything else goes on, untouched, to
/// libwebsockets, and so does all that comes by TLS.
final class HTTPServer {
  /// Answers a request; called on the loop.
  var answer: ((HTTPRequest) -> HTTPAnswer)? {
    didSet { pages.answer = answer }
  }
  private(set) var ends = ConsumerEndCounts()
  var address: SocketAddress { listener.address }

  private let loop: EventLoop
  private let speaksTLS: Bool
  private let listener: Listener
  private let pages: PageServer
  private let closer: LoopTimer
  private var newcomers: [ObjectIdentifier: Newcomer] = [:]
  private var viewers: [ObjectIdentifier: LiveConnection] = [:]
  private var antechamber = Antechamber(limitOfAddress: RelayLimits.ungreetedOfBrowser)
  private var viewerCount = 0
  private var refusals = RepeatedError("viewers")

  /// Throws when libwebsockets cannot run on libuv's loop.
  init(on socket: consuming OwnedFD, tls: TLSIdentity?, loop: EventLoop) throws {
    self.loop = loop
    speaksTLS = tls != nil
    listener = try Listener(socket, loop: loop)
    pages = try PageServer(on: loop, tls: tls)
    closer = try LoopTimer(on: loop)
    listener.accepted = { [weak self] in self?.accept($0) }
    pages.asked = { [weak self] in self?.leaveAntechamber($0) }
    pages.ended = { [weak self] in self?.count($0, of: $1) }
    pages.nextName = { [weak self] in self?.nextName() ?? "" }
  }

  func tick(now: Moment) {
    for identifier in antechamber.overdue(now: now) {
      if let newcomer = newcomers[identifier] { cut(newcomer) } else { pages.cut(identifier) }
    }
    for viewer in viewers.values { viewer.tick(now: now) }
    pages.tick(now: now)
  }

  /// Ends a stream for everyone once what waits for it is sent.
  func finishReaders(of stream: Stream) {
    for viewer in viewers.values where viewer.source === stream { viewer.finishStream() }
    pages.finishReaders(of: stream)
  }

  /// Begins to close; the loop must run until it is empty before `destroy`.
  func close() {
    listener.close()
    for newcomer in newcomers.values { _ = take(newcomer) }
    for viewer in viewers.values { viewer.finish() }
    // Not from within a callback of the connection that goes last.
    pages.emptied = { [closer, pages] in
      closer.start(after: .zero) {
        closer.close()
        pages.close()
      }
    }
    pages.finishViewers()
    if !pages.hasViewers { pages.emptied?() }
  }

  /// Frees what is left, once the loop has no handle any more.
  func destroy() { pages.destroy() }

  private func accept(_ socket: consuming OwnedFD) {
    let visitor = Visitor(on: socket.raw)
    // Who has asked already when its turn comes is none of those who keep silent.
    guard let peer = SocketAddress.peer(of: socket.raw),
      visitor == .ourUser || antechamber.admits(peer) || Newcomer.hasAsked(socket.raw),
      viewers.count + pages.connectionCount < visitor.places
    else { return ends.count(.refused("full")) }
    do {
      try TCPSocket.tune(
        socket.raw, silence: RelayLimits.userTimeout, unsent: RelayLimits.notSentBytes)
      let newcomer = try Newcomer(
        socket, from: peer, visitor: visitor, speaksTLS: speaksTLS, loop: loop)
      newcomers[ObjectIdentifier(newcomer)] = newcomer
      antechamber.enter(ObjectIdentifier(newcomer), from: peer, now: .now)
      newcomer.readable = { [weak self, weak newcomer] in
        if let newcomer { self?.look(at: newcomer) }
      }
    } catch {
      return ends.count(.lost("\(error)"))
    }
    if antechamber.isFull { listener.pause() }
  }

  private func look(at newcomer: Newcomer) {
    switch newcomer.look() {
    case .unknown: break
    case .gone:
      _ = take(newcomer)
    case .other: passOn(newcomer, isSecure: false)
    case .secure: passOn(newcomer, isSecure: true)
    case .wrong(let document):
      guard let socket = take(newcomer) else { return }
      serve(socket, .document(document))
    case .ours(let head):
      guard let socket = take(newcomer) else { return }
      serve(socket, answer(to: head, from: newcomer.visitor), isHead: head.method == "HEAD")
    }
  }

  /// Its time is over. One that has said nothing is closed without a word, as a browser's spare connection.
  private func cut(_ newcomer: Newcomer) {
    newcomer.dropInput()
    guard let socket = take(newcomer), newcomer.hasBegun else { return }
    serve(socket, .document(.late))
  }

  /// To libwebsockets; it must still ask for something in time.
  private func passOn(_ newcomer: Newcomer, isSecure: Bool) {
    guard let socket = take(newcomer) else { return }
    if let identifier = pages.adopt(socket, visitor: newcomer.visitor, isSecure: isSecure) {
      antechamber.enter(identifier, from: newcomer.peer, now: .now)
    }
  }

  private func serve(_ socket: consuming OwnedFD, _ answer: HTTPAnswer, isHead: Bool = false) {
    do {
      let viewer = try LiveConnection(socket, name: nextName(), loop: loop, now: .now)
      viewers[ObjectIdentifier(viewer)] = viewer
      viewer.ended = { [weak self, weak viewer] end in
        if let viewer { self?.viewerEnded(viewer, end) }
      }
      viewer.give(answer, isHead: isHead)
    } catch {
      ends.count(.lost("\(error)"))
    }
  }

  private func answer(to head: RequestHead, from visitor: Visitor) -> HTTPAnswer {
    if head.isUpgrade { return .document(.line(403, "no upgrade here: ask for /watch")) }
    return answer?(head.request(from: visitor)) ?? .document(.line(503, "the relay is ending"))
  }

  private func viewerEnded(_ viewer: LiveConnection, _ end: ConsumerEnd) {
    viewers[ObjectIdentifier(viewer)] = nil
    count(end, of: viewer.name)
  }

  private func count(_ end: ConsumerEnd, of name: String) {
    ends.count(end)
    if end != .left, let line = refusals.record("\(name): \(end)") { Log.note(line) }
  }

  private func nextName() -> String {
    viewerCount += 1
    return "viewer \(viewerCount)"
  }

  /// Lets go of a newcomer; its socket is the caller's.
  private func take(_ newcomer: Newcomer) -> OwnedFD? {
    newcomers[ObjectIdentifier(newcomer)] = nil
    leaveAntechamber(ObjectIdentifier(newcomer))
    return newcomer.takeSocket()
  }

  private func leaveAntechamber(_ identifier: ObjectIdentifier) {
    antechamber.leave(identifier)
    if !antechamber.isFull { listener.resume() }
  }
}

extension Visitor {
  /// How many connections there may be for one more of these to come in.
  fileprivate var places: Int {
    switch self {
    case .ourUser: RelayLimits.consumers + RelayLimits.reservedPlaces
    case .stranger: RelayLimits.consumers
    }
  }
}
