import Glibc
import PipeWire
import Posix
import Report
import VAAPI
import Wire

/// The agent: every station that a picture passes, in its order, and the loop that they share. Read
/// this first.
///
///     VideoTracks: ScreenSource -> FrameSlot -> EncodeThread -> PacketSlot -> RelayListener
///     Sounds --------------------------------------------------------------------^
final class Pipeline {
  // How long a last message may take to go out.
  private static let partingTime = Duration.milliseconds(500)

  private let options: Options
  private let plans: MemoryPlans
  private let identity: Identity
  private let driver: String
  private let memory: MemoryWatch
  private let status: Status
  private let loop: Loop
  private let tracks: VideoTracks
  private let screen: MainScreen
  private let camera: SideCamera?
  private let listener: RelayListener
  private let signals: [SignalSource]
  private let ticks: TimerSource
  private let holdTimer: TimerSource
  private let partingTimer: TimerSource
  private let hangs: HangWatch
  private let sounds: Sounds
  private let pause: Pause
  private let desktop: DesktopPresence
  private var viewers = 0
  private var links = 0
  /// nil before the first relay.
  private var origin: SessionOrigin?
  private var ending: ExitCode?

  /// What the loop's callbacks call; there before the pipeline is whole.
  private final class Callbacks {
    weak var pipeline: Pipeline?
  }

  /// Opens what must be there from the start: the driver, the loop, the port. A plan that does not fit
  /// the limit is refused before, where the picture's size is known.
  convenience init(
    options: Options, limits: MemoryLimits, identity: Identity
  ) throws(SourceEnd) {
    try MemoryPlans(options, limits: limits).check()
    do {
      try self.init(opening: options, limits: limits, identity: identity)
    } catch {
      throw SourceEnd(opening: error, listening: options.listen)
    }
  }

  private init(opening options: Options, limits: MemoryLimits, identity: Identity) throws {
    self.options = options
    plans = MemoryPlans(options, limits: limits)
    self.identity = identity
    let display = try Display.open(options.display, driverFolder: Executable.folder)
    driver = display.vendor
    memory = MemoryWatch(
      gauge: try MemoryGauge(), limits: limits,
      plan: MemoryBudget(options: options, configuration: nil))
    status = Status(limits: limits, memory: memory)
    loop = try Loop()
    let callbacks = Callbacks()
    pause = Pause { callbacks.pipeline?.pauseChanged() }
    desktop = DesktopPresence(
      loop: loop, wishes: options.presence, name: options.name,
      record: try NotificationRecord(port: options.listen.port), pause: pause
    ) {
      callbacks.pipeline?.finish(.byPerson)
    }
    screen = try MainScreen(
      options, loop: loop, modifiers: options.modifiers(of: display), desktop: desktop,
      onEvent: { callbacks.pipeline?.handle($0) },
      outlet: MainScreen.Outlet(
        send: { callbacks.pipeline?.listener.link?.send($0) },
        refusal: { callbacks.pipeline?.refusal(ofScreen: $0) },
        changed: { callbacks.pipeline?.screenChanged(isResized: $0) },
        ended: { callbacks.pipeline?.finish($0) }))
    let camera = try SideCamera(
      options.camera, loop: loop, onEvent: { callbacks.pipeline?.handle(camera: $0) },
      outlet: SideCamera.Outlet(
        send: { callbacks.pipeline?.listener.link?.send($0) },
        refusal: { callbacks.pipeline?.refusal(ofCamera: $0) },
        changed: { callbacks.pipeline?.expectMemory(isPicture: false) }))
    tracks = VideoTracks(screen: screen.track, camera: camera?.track)
    self.camera = camera
    hangs = try HangWatch(tracks, notices: identity.notices, loop: loop)
    func end(by name: String) {
      callbacks.pipeline?.finish(SourceEnd(code: .finished, text: "ended by \(name)"))
    }
    signals = try [
      loop.addSignal(SIGTERM) { end(by: "SIGTERM") }, loop.addSignal(SIGINT) { end(by: "Ctrl-C") },
      loop.addSignal(SIGUSR1) { callbacks.pipeline?.pause.begin(.signal) },
      loop.addSignal(SIGUSR2) { callbacks.pipeline?.pause.end(.signal) },
    ]
    sounds = try Sounds(
      loop: loop, wish: options.sounds,
      outlet: Sounds.Outlet(
        send: { callbacks.pipeline?.listener.link?.send($0) },
        sendPacket: {
          callbacks.pipeline?.listener.link?.send(sound: $1, pts: $2, flags: $3, stream: $0)
        }))
    ticks = try loop.addTimer { callbacks.pipeline?.everySecond() }
    holdTimer = try loop.addTimer { [hold = options.hold] in
      callbacks.pipeline?.finish(
        SourceEnd(code: .unavailable, text: "no relay within \(hold ?? .zero)"))
    }
    partingTimer = try loop.addTimer { callbacks.pipeline?.loop.quit() }
    // One that is named is the relay's: a mistyped name must not make another.
    let token =
      try options.tokenFile.map { try LinkToken(existing: $0) }
      ?? LinkToken(file: RuntimeDirectory().file("token"))
    listener = try RelayListener(
      address: options.listen, token: token,
      framesPerSecond: options.framesPerSecond * (camera == nil ? 1 : 2), loop: loop
    ) { callbacks.pipeline?.handle($0) }
    if options.listen.port == 0 { try identity.keepWords(of: listener.address.port) }
    callbacks.pipeline = self
  }

  /// Runs to the end of the broadcast.
  func run() -> ExitCode {
    do {
      try tracks.screen.startEncoder(EncoderConfiguration(options, source: options.patternFormat))
      try tracks.camera?.startEncoder(EncoderConfiguration(cameraBeside: options))
      try listener.start()
    } catch {
      let end = SourceEnd(opening: error, listening: options.listen)
      finish(end)
      return end.code
    }
    Log.note("listening on \(listener.address), encoding with \(driver)")
    ticks.arm(after: .seconds(1), every: .seconds(1))
    identity.notices.ready()
    hangs.start()
    waitForRelay()
    desktop.start()
    loop.run()
    desktop.close()
    sounds.stop()
    tracks.stop(hasHung: hangs.hasHung)
    return ending ?? .bug
  }

  /// One that does not fit the memory plan stays off, and its viewers read why.
  private func switchSound(_ which: StreamDescription.Source, isOn: Bool) {
    var company = company
    company.sounds += 1
    if isOn, let format = tracks.screen.format, plans.refusal(of: format, company) != nil {
      Log.note("\(which.word): no room for it within the memory limit")
      listener.link?.send(.sourceState(which, .lost, "no room for it within the memory limit"))
      return
    }
    sounds.set(which, isOn: isOn)
    expectMemory(isPicture: false)
  }

  /// `isPicture`: pictures of another size follow, and not only a sound or a camera more or less.
  private func expectMemory(isPicture: Bool) {
    guard let format = tracks.screen.format else { return }
    let whole = plans.budget(of: format, company)
    let halved = plans.budget(of: format, company, isHalved: true)
    if isPicture {
      memory.expect(whole, halved: halved)
    } else {
      memory.expectBeside(whole, halved: halved)
    }
  }

  private func refusal(ofScreen format: SourceFormat) -> String? {
    plans.refusal(of: format, company)
  }

  private func refusal(ofCamera format: SourceFormat) -> String? {
    tracks.screen.format.flatMap {
      plans.refusal(of: $0, MemoryPlans.Company(sounds: sounds.count, camera: format))
    }
  }

  private var company: MemoryPlans.Company {
    MemoryPlans.Company(sounds: sounds.count, camera: camera?.format)
  }

  /// Nothing is heard by nobody, nor while the broadcast is paused.
  private func holdSounds() { sounds.hold(pause.isOn || listener.link == nil) }

  private func waitForRelay() {
    identity.notices.status("waiting for a relay on \(listener.address)")
    if let hold = options.hold { holdTimer.arm(after: hold) }
  }

  private func tellDesktop() {
    let isLinked = ending == nil && listener.link != nil
    desktop.show(isLive: isLinked && tracks.screen.format != nil, viewers: viewers)
  }

  /// A camera has waited for the screen's size.
  private func screenChanged(isResized: Bool) {
    expectMemory(isPicture: isResized)
    guard isResized, let format = tracks.screen.format else { return }
    identity.notices.status("capturing \(format.width)x\(format.height)")
    tellDesktop()
    camera?.begin()
  }

  private func handle(_ event: VideoTrack.Event) {
    switch event {
    case .source(let event): screen.take(event)
    case .failed(let end): finish(end)
    case .packet: sendPacket()
    }
  }

  private func handle(camera event: VideoTrack.Event) {
    switch event {
    case .source(let event): camera?.take(event)
    case .failed(let end) where end.code == .memoryLimit: finish(end)
    case .failed(let end): camera?.fail(end.text)
    case .packet:
      camera?.tookPicture()
      sendPacket()
    }
  }

  /// After each picture, and once a second.
  private func lookAtMemory(afterPicture: Bool) {
    guard ending == nil, let step = memory.look(afterPicture: afterPicture) else { return }
    let text = memory.text
    Log.note("memory: \(step.word): \(text)")
    listener.link?.send(.memoryStep(step, text))
    if step == .end {
      finish(SourceEnd(code: .memoryLimit, text: "no memory is left to give back: \(text)"))
    } else {
      tracks.order { $0.memory = step }
      listener.link?.isNarrow = step >= .queues
      if step >= .picture { AllocationGuard.giveBack() } else { AllocationGuard.keepReserve() }
    }
  }

  private func handle(_ event: RelayListener.Event) {
    switch event {
    case .linked(let link, let greeting):
      holdTimer.disarm()
      links += 1
      var origin = origin ?? SessionOrigin(greeting)
      origin.follow(greeting)
      self.origin = origin
      Log.note(
        "link \(links): a relay, process \(greeting.pid), session \(SessionName.of(origin.session))"
      )
      link.send(.greeting(identity.greeting(of: origin, key: greeting.key)))
      identity.notices.status("linked with a relay, process \(greeting.pid)")
      link.send(
        .started(.init(name: options.name, source: options.source.word, driver: driver)))
      if !pause.reasons.isEmpty {
        Log.release()  // No picture may come for long.
        link.send(.paused(pause.reasons))
      }
      link.isNarrow = memory.step >= .queues
      tracks.begin()
      if links == 1 {
        for sound in options.sounds.wanted { switchSound(sound, isOn: true) }
      } else {
        sounds.announce()
      }
      camera?.announce()
      screen.announce()
      holdSounds()
      screen.start()
      sendFigures()
      tellDesktop()
    case .message(let message): obey(message)
    case .packetSent:
      tracks.sent()
      sendPacket()
    case .unlinked(let cause):
      Log.note("link \(links): closed: \(cause)")
      tracks.unlinked()
      holdSounds()
      viewers = 0
      tellDesktop()
      if ending != nil { loop.quit() } else { waitForRelay() }
    }
  }

  private func obey(_ message: Message) {
    switch message {
    case .keyframeRequest(let stream): tracks[stream].orders.requestKeyframe()
    case .bitrate(let stream, let rate):
      tracks[stream].orders.change { $0.bitrate = max(Int(rate), 100_000) }
    case .audience(let readers, let containers):
      tracks.order { $0.hasContainers = containers > 0 }
      viewers = Int(readers)
      tellDesktop()
    case .pause(let reasons):
      pause.begin(reasons)
      desktop.review()
    case .resume: pause.endAll()
    case .sound(let which, let isOn): switchSound(which, isOn: isOn)
    case .finish(let reason):
      finish(SourceEnd(code: .finished, text: reason.isEmpty ? "ended by the relay" : reason))
    default: break  // What this agent has no stream for.
    }
  }

  /// No packet goes out between `paused` and `resumed`, and a keyframe behind that.
  private func pauseChanged() {
    let isPaused = pause.isOn
    tracks.order { $0.isPaused = isPaused }
    holdSounds()
    tellDesktop()
    switch pause.news() {
    case .paused(let reasons):
      Log.release()
      Log.note(reasons.text.isEmpty ? "paused" : "paused: \(reasons.text)")
      listener.link?.send(.paused(reasons))
    case .resumed:
      Log.note("goes on")
      listener.link?.send(.resumed)
    case nil: break
    }
    if !isPaused, listener.link != nil { tracks.begin() }
  }

  private func sendPacket() {
    guard let (track, packet) = tracks.next() else { return }
    guard let link = listener.link, ending == nil, !pause.isOn else { return tracks.sent() }
    if track === screen.track { Log.release() }
    link.send(packet, stream: track.stream)
    #if DEBUG
      Faults.leak()
    #endif
    lookAtMemory(afterPicture: true)
  }

  private func everySecond() {
    UncountedAllocations.during { lookAround(now: MonotonicClock.now()) }
  }

  private func lookAround(now: Int64) {
    listener.tick(now: now)
    camera?.tick(now: now)
    sendFigures()
    desktop.tick(now: now, frames: tracks.screen.frameCounts.taken)
    // An allocation may have had it; where there is room again, the next one finds it.
    if memory.step < .picture { AllocationGuard.keepReserve() }
    lookAtMemory(afterPicture: false)
    if let end = hangs.tick(now: now) { finish(end) }
  }

  private func sendFigures() {
    guard let link = listener.link, ending == nil else { return }
    link.send(
      .figures(
        status.figures(of: tracks.screen, soundPackets: sounds.packetCount, link: link)))
  }

  /// Ends the broadcast: says so to the relay and in the last words, then leaves the loop.
  private func finish(_ end: SourceEnd) {
    guard ending == nil else { return }
    var end = end
    // Whatever else is said: the limit was met before.
    if AllocationGuard.hasShed, end.code == .unavailable || end.code == .bug {
      end = SourceEnd(code: .memoryLimit, text: end.text)
    }
    ending = end.code
    tellDesktop()
    if end.code != .unavailable { Log.release() }
    Log.note(end.text)
    identity.leaveWord(of: end)
    guard let link = listener.link else { return loop.quit() }
    link.finish(end.finishCode, end.text)
    guard listener.link != nil else { return loop.quit() }
    // The relay may not read: then the link's end is not waited for.
    partingTimer.arm(after: Self.partingTime)
  }
}
