import Glibc
import Posix
import Report
import Wire

/// Keeps a link to an agent: connects, starts one where nobody answers and it may, tries again.
final class Ingest {
  /// What the status shows of the agent.
  private(set) var agent: Greeting?
  private(set) var lastDeath: String?
  private(set) var deaths = 0
  var isCrashLooping: Bool { crashes.isLooping(now: .now) }
  /// Whether it may start agents.
  var isParent: Bool { process != nil }
  var isStalled: Bool { link?.isStalled(now: .now) ?? false }

  private let address: SocketAddress
  private let token: LinkToken
  private let directory: RuntimeDirectory
  private let process: AgentProcess?
  private let loop: EventLoop
  private let retry: LoopTimer
  private let events: Events

  private var link: AgentLink?
  private var linkNumber = 0
  private var reconnects = Backoff()
  private var respawns = Backoff()
  private var crashes = CrashWatch()
  /// When the agent that the link leads to delivered its first keyframe.
  private var deliveredAt: Moment?
  private var began = Moment.now
  private var hasMetAgent = false
  /// When the child was started, or the earliest time at which the next one may be.
  private var startTime = Moment.now
  /// A lost agent that left no last words, and when it was lost; it may still be there.
  private var unexplained: (agent: Greeting, since: Moment)?
  /// What the last agent said over its link when it ended, in full.
  private var farewell: (pid: UInt32, code: FinishCode, text: String)?
  /// The end of a child whose link has not ended yet.
  private var earlyEnd: (ChildEnd, pid: Int32)?
  /// A child that was killed because it hung.
  private var hung: Int32?
  /// Whether there is to be an agent.
  private var isWanted = false
  /// Of the agent met last.
  private var kills: GroupKills?
  private var finished: (() -> Void)?
  private var complaint: String?
  /// What the last agents missed, in the words that were logged; nil once one has had a picture.
  private var missing: String?
  /// The last connection broke before a greeting.
  private var hasBroken = false
  /// The last agent's end is known, so that a port which is just being closed tells nothing new.
  private var isExplained = false

  /// A child that was just started is asked this often, for so long, whether it listens yet; so is a
  /// port whose agent is gone without a word, for its end to be written down.
  private static let childPoll = Duration.milliseconds(25)
  private static let childPollTime = Duration.seconds(3)

  /// For an agent to leave when the broadcast is finished.
  private static let farewellTime = Duration.seconds(1)

  init(
    agent address: SocketAddress, spawn words: [String]?, token: LinkToken,
    directory: RuntimeDirectory, loop: EventLoop, events: Events
  ) throws(UVError) {
    self.address = address
    self.token = token
    self.directory = directory
    self.loop = loop
    self.events = events
    retry = try LoopTimer(on: loop)
    process = if let words { try AgentProcess(words, loop: loop) } else { nil }
  }

  /// Looks for an agent; one that is started here gets `words` behind its command.
  func start(_ words: [String] = []) {
    let otherwise = process == nil ? "" : ", and starts one where nobody answers"
    Log.note("waits for an agent on \(address)\(otherwise)")
    isWanted = true
    began = .now
    startTime = .now
    process?.ended = { [weak self] in self?.childEnded($0, pid: $1) }
    process?.moreWords = words
    connect(after: .zero)
  }

  /// Sends to the agent, if there is one.
  func send(_ message: Message) {
    guard let link, link.isGreeted else { return }
    link.send(message)
  }

  /// Whether what happens now has happened before, and been logged: something is missing still.
  var isRepeating: Bool { missing != nil }

  /// The broadcast has a picture.
  func delivered(now: Moment) {
    missing = nil
    if deliveredAt == nil { deliveredAt = now }
  }

  func tick(now: Moment) {
    link?.tick(now: now)
    if let deliveredAt, now - deliveredAt >= RelayLimits.soundAfter {
      reconnects.reset()
      respawns.reset()
    }
  }

  /// Asks the agent to finish and waits until it has left and a child is gone; then `done` runs, and the
  /// next `start` may come.
  ///
  /// A link that is closed with packets unread would be reset, and what was said last be lost.
  func finish(_ reason: String, done: @escaping () -> Void) {
    isWanted = false
    finished = done
    send(.finish(reason))
    link?.message = nil
    link?.packet = nil
    link?.ended = { [weak self] _ in
      self?.link = nil
      self?.leaveIfDone()
    }
    process?.ended = { [weak self] _, _ in self?.leaveIfDone() }
    process?.expectEnd(isTold: link?.isGreeted == true)
    retry.start(after: Self.farewellTime) { [weak self] in
      self?.link?.close(.lost("did not leave"))
    }
    if link?.isGreeted == false { link?.close(.lost("not needed")) }
    leaveIfDone()
  }

  private func leaveIfDone() {
    guard link == nil, process?.isRunning != true, let finished else { return }
    self.finished = nil
    retry.stop()
    forget()
    finished()
  }

  /// What was known of the agents so far; the next ones begin anew.
  private func forget() {
    (agent, unexplained, farewell, earlyEnd, hung) = (nil, nil, nil, nil, nil)
    (kills, complaint, missing) = (nil, nil, nil)
    (hasMetAgent, hasBroken, isExplained) = (false, false, false)
    (reconnects, respawns, crashes) = (Backoff(), Backoff(), CrashWatch())
  }

  /// Lets go of what the loop watches, behind `finish`.
  func close() {
    retry.close()
    process?.close()
  }

  private func connect(after delay: Duration) {
    guard isWanted else { return }
    retry.start(after: delay) { [weak self] in self?.connect() }
  }

  private func connect() {
    guard isWanted, link == nil else { return }
    linkNumber += 1
    do {
      let link = try AgentLink(
        number: linkNumber, to: address, token: token, loop: loop, now: .now)
      link.ended = { [weak self] in self?.linkEnded($0) }
      link.greeted = { [weak self] in self?.linkGreeted($0) }
      link.message = { [weak self] in self?.events.message($0) }
      link.packet = { [weak self] in self?.events.packet($0) }
      self.link = link
      try link.open(with: events.greeting())
    } catch {
      link?.close(.lost("\(error)"))
    }
  }

  private func linkGreeted(_ greeting: Greeting) {
    if let (former, _) = unexplained, former.instance != greeting.instance { diedSilently(former) }
    if !isRepeating { Log.note("link \(linkNumber): agent \(greeting.pid)") }
    agent = greeting
    hasMetAgent = true
    complaint = nil
    hasBroken = false
    isExplained = false
    kills = GroupKills(of: greeting.pid)
    unexplained = nil
    farewell = nil
    events.greeted(greeting)
  }

  private func linkEnded(_ end: LinkEnd) {
    link = nil
    deliveredAt = nil
    if let agent {
      self.agent = nil
      if case .finished(let code, let text) = end { farewell = (agent.pid, code, text) }
      events.lost(end)
      guard isWanted else { return }
      if !end.endsBroadcast, earlyEnd == nil, process?.pid != Int32(bitPattern: agent.pid),
        !explainByLastWords(of: agent)
      {
        unexplained = (agent, .now)
      }
    } else {
      complain(end)
    }
    var isKilled = false
    switch end {
    case .nobody: explainBySilence()
    case .silent: isKilled = killHungAgent()
    default: break
    }
    if !isKilled, isTaken(end) { return giveUpPort(end) }
    if let (end, pid) = earlyEnd {
      earlyEnd = nil
      childSettled(end, pid: pid)
    } else if let process, process.isRunning {
      let isYoung = Moment.now < startTime + Self.childPollTime
      connect(after: isYoung ? Self.childPoll : reconnects.next())
    } else if end == .nobody, let process {
      startAgent(process)
    } else {
      connect(after: unexplained == nil ? reconnects.next() : Self.childPoll)
    }
  }

  /// Whether a stranger has the port, so that no agent of ours can come: one that was busy with the
  /// relay before us is free again long before this is believed.
  private func isTaken(_ end: LinkEnd) -> Bool {
    guard let process, !process.isRunning, !hasMetAgent else { return false }
    switch end {
    case .silent, .refused: return .now - began >= RelayLimits.strangerPatience
    case .nobody, .finished, .lost: return false  // What just leaves resets its last connections.
    }
  }

  private func giveUpPort(_ end: LinkEnd) {
    isWanted = false
    events.final(.taken(address, end))
  }

  private func startAgent(_ process: AgentProcess) {
    guard startTime <= .now else { return connect(after: startTime - .now) }
    do {
      try process.start(isRetry: isRepeating)
      startTime = .now
      if !isRepeating { Log.note("started agent \(process.pid ?? 0)") }
      connect(after: Self.childPoll)
    } catch {
      let end = AgentEnd(exitCode: 127, text: "cannot be started: \(uvErrorText(error.code))")
      sayMissing("agent", end, inFull: true)
      events.explained(end)
      startTime = .now + respawns.next()
      connect(after: startTime - .now)
    }
  }

  /// The parent often hears of an end before the link has delivered what was said last.
  private func childEnded(_ end: ChildEnd, pid: Int32) {
    if link != nil, agent?.pid == UInt32(pid) {
      earlyEnd = (end, pid)
    } else {
      childSettled(end, pid: pid)
    }
  }

  private func childSettled(_ end: ChildEnd, pid: Int32) {
    let words = LastWords.read(from: directory, port: address.port).flatMap {
      $0.pid == UInt32(pid) ? $0 : nil
    }
    let isHung = hung == pid
    hung = nil
    let isFenced = !isHung && end.signal == SIGKILL && kills?.haveRisen == true
    let end =
      isHung
      ? .hung : isFenced ? .fenced : AgentEnd(end, text: fullText(words?.text, of: UInt32(pid)))
    guard end.finalCode == nil else {
      Log.note("agent \(pid): \(end.briefWords)")
      isWanted = false
      retry.stop()
      let told = farewell.flatMap { $0.pid == UInt32(pid) ? end.told($0.code, $0.text) : nil }
      return events.final(told ?? end)
    }
    died(UInt32(pid), end, isChild: true)
    // What is missing does not come at once.
    if end.code == .unavailable { respawns.skipHaste() }
    let delay = crashes.isLooping(now: .now) ? RelayLimits.crashLoopDelay : respawns.next()
    startTime = .now + delay
    if link == nil { connect(after: delay) }
  }

  /// By what an agent that is nobody's child here left about its end, or its unit did; false where
  /// there is nothing.
  private func explainByLastWords(of agent: Greeting) -> Bool {
    guard let words = LastWords.read(from: directory, port: address.port), words.pid == agent.pid,
      words.instance == agent.instance
    else { return false }
    let isFenced = words.text == ServiceEnd.outOfMemory || kills?.haveRisen == true
    let end =
      words.code == AgentEnd.killed && isFenced
      ? .fenced : AgentEnd(exitCode: words.code, text: fullText(words.text, of: agent.pid))
    died(agent.pid, end)
    return true
  }

  /// The record of last words is short: what the link delivered before is preferred to it.
  private func fullText(_ recorded: String?, of pid: UInt32) -> String {
    guard let farewell, farewell.pid == pid, !farewell.text.isEmpty else { return recorded ?? "" }
    return farewell.text
  }

  /// The port is closed and nothing was left: then it was killed. Its unit may still be about to write
  /// down how; where an agent may be started here, that is not waited for.
  private func explainBySilence() {
    guard let (agent, since) = unexplained else { return }
    if explainByLastWords(of: agent) {
      unexplained = nil
    } else if process != nil || .now - since >= RelayLimits.lastWordsPatience {
      diedSilently(agent)
    }
  }

  private func diedSilently(_ agent: Greeting) {
    unexplained = nil
    let end = kills?.haveRisen == true ? AgentEnd.fenced : .silent
    died(agent.pid, end)
  }

  /// What hangs keeps the port, so that no other agent can come: killed, where one may be started in
  /// its place. Only what runs the same program is; whoever else sits there is left alone.
  private func killHungAgent() -> Bool {
    guard let process,
      let pid = try? PortOwner.pid(ofListenerOn: address, running: process.program),
      pid != getpid(), kill(pid, SIGKILL) == 0
    else { return false }
    hasMetAgent = true
    if pid == process.pid {
      hung = pid
    } else {
      unexplained = nil
      died(UInt32(pid), .hung)
    }
    return true
  }

  private func died(_ pid: UInt32, _ end: AgentEnd, isChild: Bool = false) {
    let line = "agent \(pid): \(end.words)"
    if isChild, end.code == .unavailable {
      // The first one wrote to the same place as we do, and has said the rest.
      sayMissing("agent \(pid)", end, inFull: isRepeating)
    } else {
      missing = nil
      Log.note(isChild ? "agent \(pid): \(end.briefWords)" : line)
    }
    deaths += 1
    lastDeath = line
    crashes.died(now: .now)
    isExplained = true
    guard crashes.isLooping(now: .now) else { return events.explained(end) }
    if isParent, !isRepeating {
      Log.note("crash loop: next start in \(RelayLimits.crashLoopDelay)")
    }
    events.explained(end.repeated)
  }

  /// What cannot be had is tried for ever, and said once.
  private func sayMissing(_ who: String, _ end: AgentEnd, inFull: Bool) {
    guard end.words != missing else { return }
    missing = end.words
    Log.note("\(who): \(inFull ? end.words : end.briefWords): tried again until it is there")
  }

  /// The same complaint is made once, not at each try, and none of a single connection that breaks:
  /// that is the port of an agent on its way out.
  private func complain(_ end: LinkEnd) {
    let hadBroken = hasBroken
    hasBroken = if case .lost = end { true } else { false }
    guard end != .nobody, "\(end)" != complaint, hadBroken || !hasBroken else { return }
    complaint = "\(end)"
    Log.note("link \(linkNumber): \(end): tried again until there is a link")
    if case .lost = end, isExplained { return }
    events.troubled(end)
  }
}
