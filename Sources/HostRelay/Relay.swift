import CUV
import Glibc
import Posix
import Report
import Wire

/// The wiring, and the order of starting and ending. Read this first.
///
///     agent -> AgentLink -> Broadcast -> Stream -> Reader -> ConsumerOutput, HTTPServer -> viewers
final class Relay {
  private let loop: EventLoop
  private let broadcast: Broadcast
  private let consumers: ConsumerOutput
  private let snapshots: Snapshots
  private let http: HTTPServer
  private let pushes: Pushes
  private let tls: TLSIdentity?
  private let directory: RuntimeDirectory
  private let timer: LoopTimer
  private let notices: ServiceNotices
  private let began = Moment.now
  private var nextReaderTick = Moment.now
  private var nextNotice = Moment.now
  private let viewerKey: AccessKey
  private let controlKey: AccessKey
  private var ingest: Ingest?
  /// nil without `--setup`.
  private let setup: SetupPhase?
  private var signals: [LoopSignal] = []
  private var exitCode: ExitCode?

  /// How long viewers may take to read the last words before the relay goes.
  private static let farewellTime = Duration.seconds(1)

  /// Opens the ports that were not passed; nothing runs yet.
  init(
    _ options: Options, directory: RuntimeDirectory, passed: consuming PassedSockets,
    notices: ServiceNotices
  ) throws(RelayError) {
    self.directory = directory
    self.notices = notices
    do {
      tls = try options.tls.map {
        try TLSIdentity($0, for: options.http, hosts: options.hosts, directory: directory)
      }
    } catch { throw RelayError("\(error)", options.tls == .made ? .unavailable : .usage) }
    do {
      loop = try EventLoop()
      timer = try LoopTimer(on: loop)
      broadcast = try Broadcast(hold: options.hold)
      pushes = Pushes(
        to: options.pushes, recording: options.recording, mix: options.mix, of: broadcast, on: loop)
      snapshots = try Snapshots(of: broadcast, on: loop)
      viewerKey =
        try options.viewerKey ?? AccessKey(LinkToken(file: directory.file("viewer-key")))
      controlKey =
        try options.controlKey ?? AccessKey(LinkToken(file: directory.file("control-key")))
    } catch {
      throw RelayError("\(error)", .unavailable)
    }
    let identity = { [broadcast] in Self.greeting(of: broadcast.session) }
    do {
      consumers = try ConsumerOutput(
        on: Self.open(options.consumers, "consumers", &passed), broadcast: broadcast,
        viewerKey: viewerKey, loop: loop, identity: identity)
    } catch { throw RelayError(port: options.consumers, option: "--consumers", error) }
    do {
      http = try HTTPServer(on: Self.open(options.http, "http", &passed), tls: tls, loop: loop)
    } catch { throw RelayError(port: options.http, option: "--http", error) }
    if let socket = passed.rest.first { throw RelayError(unknown: socket) }
    setup =
      options.waitsForStart
      ? SetupPhase(
        file: SetupFile(port: http.address.port, directory: directory),
        isParent: options.spawnAgent != nil) : nil
    do {
      try wire(options, directory: directory)
    } catch {
      throw RelayError("\(error)", .unavailable)
    }
  }

  /// The socket that the service manager passed for this port, or one of our own.
  private static func open(
    _ address: SocketAddress, _ name: String, _ passed: inout PassedSockets
  ) throws(PosixError) -> OwnedFD {
    if let socket = passed.take(name, for: address) { return socket }
    return try TCPSocket.listen(on: address, backlog: RelayLimits.backlog)
  }

  /// Runs until the broadcast is over for good; returns the exit code.
  func run() -> ExitCode {
    if let setup { setup.resume() } else { ingest?.start() }
    pushes.start(now: .now)
    notices.ready()
    for address in LocalAddresses.reaching(http.address) {
      print("viewer address: http\(tls == nil ? "" : "s")://\(address)/#key=\(viewerKey.text)")
    }
    if let tls { print("certificate SHA-256: \(tls.certificate.fingerprint)") }
    print("consumers: \(consumers.address)")
    fflush(nil)
    // Cut short by a viewer that does not take its last words: the process's end is its end.
    defer { try? TLSIdentity.publish(nil, port: http.address.port, in: directory) }
    guard loop.run() else { return exitCode ?? .finished }
    timer.close()
    _ = loop.run()
    http.destroy()
    do { try loop.close() } catch { Log.note("\(error): a handle was left open") }
    return exitCode ?? .finished
  }

  private func wire(_ options: Options, directory: RuntimeDirectory) throws {
    let ingest = try Ingest(
      agent: options.agent, spawn: options.spawnAgent,
      token: LinkToken(file: directory.file("token")), directory: directory, loop: loop,
      events: Ingest.Events(
        greeting: { [broadcast] in
          Self.greeting(of: broadcast.session, epoch: broadcast.session.nextEpoch)
        },
        greeted: { [broadcast] in broadcast.agentGreeted($0) },
        message: { [broadcast] in broadcast.take($0) },
        packet: { [broadcast] in broadcast.take($0) },
        lost: { [broadcast] in broadcast.linkLost($0) },
        troubled: { [broadcast] in broadcast.explain("\($0)") },
        explained: { [broadcast] in broadcast.explain($0.words) },
        final: { [weak self] in self?.agentEnded($0) })
    )
    self.ingest = ingest
    broadcast.tell = { [weak ingest] in ingest?.send($0) }
    broadcast.isRepeating = { [weak ingest] in ingest?.isRepeating == true }
    broadcast.delivered = { [weak ingest] in ingest?.delivered(now: .now) }
    for stream in broadcast.outputs.streams {
      stream.audienceChanged = { [broadcast] in broadcast.tellAudience() }
    }
    broadcast.outputs.container.finished = { [http, broadcast, pushes] in
      http.finishReaders(of: broadcast.outputs.container.stream)
      pushes.finishStream()
    }
    broadcast.outputs.camera.container.finished = { [http, broadcast] in
      http.finishReaders(of: broadcast.outputs.camera.container.stream)
    }
    for output in [
      broadcast.outputs.fragments, broadcast.outputs.movie, broadcast.outputs.camera.fragments,
    ] {
      output.finished = { [http] in http.finishReaders(of: output.stream) }
    }
    try TLSIdentity.publish(tls, port: http.address.port, in: directory)
    let site = Site(
      viewerKey: viewerKey, controlKey: controlKey,
      names: HostNames(address: http.address, extra: options.hosts, speaksTLS: tls != nil),
      speaksTLS: tls != nil, broadcast: broadcast, consumers: consumers.address,
      identity: { [broadcast] in Self.greeting(of: broadcast.session) },
      status: { [unowned self, ingest] in status(ingest) },
      control: ControlAPI(
        broadcast: broadcast, hasAgent: { [ingest] in ingest.agent != nil },
        setup: setup, finish: { [weak self] in self?.finishBroadcast($0) }),
      recordings: RecordingsAPI(pushes, on: loop), snapshots: snapshots)
    http.answer = { site.answer($0) }
    if let setup { wire(setup) }
    for number in [SIGINT, SIGTERM] {
      signals.append(
        try LoopSignal(number, on: loop) { [weak self] in
          self?.finish(.finished, "ended by the user", exit: .finished)
        })
    }
    signals.append(try LoopSignal(SIGUSR1, on: loop) { [unowned self] in signalled { $0.pause() } })
    signals.append(
      try LoopSignal(SIGUSR2, on: loop) { [unowned self] in signalled { $0.resume() } })
    SignalMask.hold([])
    timer.start(after: RelayLimits.tick, every: RelayLimits.tick) { [weak self] in self?.tick() }
  }

  /// Pauses and resumes what has been started.
  private func signalled(_ body: (Broadcast) -> Void) {
    if let setup, setup.state != .started { return Log.note("nothing has been started") }
    body(broadcast)
  }

  /// Between a start and an end there is an agent, and otherwise none.
  private func wire(_ setup: SetupPhase) {
    broadcast.beginsAgain = false
    broadcast.waitingText = SetupPhase.waitingText
    setup.begin = { [unowned self] setup in
      broadcast.begin()
      broadcast.waitingText =
        ingest?.isParent == true ? "the agent starts" : "waiting for the agent"
      pushes.begin(setup.pushes.map(\.target), now: .now)
      if ingest?.isParent == true {
        ingest?.start(setup.agentWords)
      } else {
        ingest?.start()
        if let rate = setup.bitrate { broadcast.setBitrate(rate) }
      }
    }
    setup.end = { [unowned self] reason, done in
      pushes.end()
      ingest?.finish(reason) { [broadcast] in
        broadcast.agentLeft()
        done()
      }
    }
    broadcast.finished = { [broadcast] code, text in
      broadcast.waitingText =
        code == .finished
        ? SetupPhase.waitingText : text.isEmpty ? code.word : "\(code.word): \(text)"
      setup.over(text)
    }
  }

  private func tick() {
    let now = Moment.now
    ingest?.tick(now: now)
    broadcast.tick(now: now)
    notify(now: now)
    guard now >= nextReaderTick else { return }
    nextReaderTick = now + RelayLimits.readerTick
    consumers.tick(now: now)
    http.tick(now: now)
    pushes.tick(now: now)
  }

  /// The loop turns, and how the broadcast stands.
  private func notify(now: Moment) {
    guard now >= nextNotice else { return }
    nextNotice = now + min(notices.watchdogInterval ?? .seconds(1), .seconds(1))
    notices.alive()
    guard exitCode == nil else { return }
    let session = broadcast.session
    notices.status(
      session.text.isEmpty ? session.state.word : "\(session.state.word): \(session.text)")
  }

  private func status(_ ingest: Ingest) -> StatusDocument {
    StatusDocument(
      broadcast: broadcast, ingest: ingest, setup: setup, pushes: pushes, consumers: consumers.ends,
      viewers: http.ends,
      uptime: .now - began, now: .now)
  }

  /// An agent of our own is gone for good: the end of the relay, or of what was started.
  private func agentEnded(_ end: AgentEnd) {
    guard setup != nil else {
      return finish(end.code, end.reason, exit: end.finalCode ?? .finished)
    }
    broadcast.finish(end.code, end.reason)
  }

  /// Ends this broadcast. Without an agent of our own another one may come, and the relay waits.
  private func finishBroadcast(_ reason: String) {
    if setup != nil { return broadcast.finish(.finished, reason) }
    guard ingest?.isParent == false else { return finish(.finished, reason, exit: .finished) }
    ingest?.send(.finish(reason))
    broadcast.finish(.finished, reason)
  }

  /// Tells everybody, waits for an agent of ours to be gone, then lets the loop run empty.
  private func finish(_ code: FinishCode, _ text: String, exit: ExitCode) {
    guard exitCode == nil else { return }
    exitCode = exit
    notices.stopping()
    notices.status("ending: \(text)")
    setup?.close()
    broadcast.finish(code, text, forGood: true)
    broadcast.tell = nil
    ingest?.finish(text) { [weak self] in self?.close() }
  }

  private func close() {
    for signal in signals { signal.close() }
    ingest?.close()
    consumers.close()
    snapshots.close()
    http.close()
    pushes.close()
    // What viewers have not read by then they will not read.
    timer.start(after: Self.farewellTime) { [loop, pushes] in
      pushes.kill()
      loop.stop()
    }
    timer.unreference()
  }

  private static func greeting(of session: Session, epoch: UInt32? = nil) -> Greeting {
    Greeting(
      role: .relay, pid: UInt32(getpid()), instance: instance, session: session.id,
      epoch: epoch ?? session.epoch)
  }

  private static let instance = UInt64(MonotonicClock.sinceBoot())
}

/// Why the relay cannot start: one line and the exit code.
struct RelayError: Error {
  let line: String
  let exitCode: ExitCode

  init(_ line: String, _ exitCode: ExitCode) {
    self.line = line
    self.exitCode = exitCode
  }

  /// A socket that the service manager passed, and that is none of our ports.
  init(unknown socket: String) {
    self.init(
      "passed socket \(socket) is of no use: name it http or consumers (FileDescriptorName=), or"
        + " give its port to --http or --consumers", .usage)
  }

  init(port address: SocketAddress, option: String, _ error: any Error) {
    if let error = error as? PosixError, error.code == EADDRINUSE {
      self.init(
        "port \(address.port) is in use: end what holds it, or choose another by \(option)",
        .temporary)
    } else if let error = error as? PosixError, error.code == EADDRNOTAVAIL {
      self.init("\(option) \(address): this machine has no such address", .usage)
    } else {
      self.init("\(option) \(address): \(error)", .unavailable)
    }
  }
}
