import Posix
import Report

/// The time before a broadcast, with `--setup`: nothing is captured until somebody starts, and after its
/// end the next one waits for the same.
///
///     waiting -> started -> ending -> waiting
final class SetupPhase {
  enum State {
    case waiting
    case started
    /// Over for viewers; the agent is still leaving.
    case ending
  }

  private(set) var setup = Setup()
  private(set) var state = State.waiting
  /// Begins the broadcast that is set up, and ends it; `end` calls back once nothing is left of it.
  var begin: (Setup) -> Void = { _ in }
  var end: (_ reason: String, _ done: @escaping () -> Void) -> Void = { $1() }

  static let waitingText = "waiting for the start"

  private let file: SetupFile
  /// Whether the agent is the relay's to start.
  private let isParent: Bool
  /// Whether what was set up before could be read.
  private let isKnown: Bool

  init(file: SetupFile, isParent: Bool) {
    self.file = file
    self.isParent = isParent
    do {
      setup = try file.read()
      isKnown = true
    } catch {
      isKnown = false
      Log.note("\(error): nothing is set up")
    }
  }

  /// What the status shows; what is set up, only to who may control.
  func json(for mayControl: Bool) -> [(String, JSONText)] {
    [("started", .truth(state == .started))]
      + (mayControl ? [("starts_agent", .truth(isParent))] + setup.json : [])
  }

  /// Goes on with what a relay that died had started; what that was must be known, or another source might
  /// be shown.
  func resume() {
    guard file.isStarted else { return }
    guard isKnown else { return file.unmarkStarted() }
    Log.note("goes on with the broadcast that was started before")
    state = .started
    begin(setup)
  }

  /// Takes these members; the others stay.
  func change(_ members: [String: JSONText]) throws(SetupRefusal) {
    guard state == .waiting else {
      throw .notNow("the broadcast is on: it is set up once it has ended")
    }
    if !isParent, let member = members.keys.sorted().first(where: Setup.ofSpawnedAgent.contains) {
      throw .wrong(
        "\(member): this relay starts no agent (--spawn-agent), so that is the agent's own to say")
    }
    var changed = setup
    do { try changed.change(members) } catch { throw .wrong("\(error)") }
    do { try file.keep(changed) } catch { throw .failed("the setup cannot be kept: \(error)") }
    setup = changed
  }

  /// Starts what the file says now.
  func start() throws(SetupRefusal) {
    switch state {
    case .waiting: break
    case .started: throw .notNow("it has been started")
    case .ending: throw .notNow("the last broadcast is still ending")
    }
    do { setup = try file.read() } catch { throw .wrong("\(error)") }
    do { try file.markStarted() } catch { throw .failed("\(error)") }
    state = .started
    Log.note("started")
    begin(setup)
  }

  /// Drops the setup; a start that has shown no picture yet is to be ended too. `isOn`: there was a
  /// picture.
  func cancel(isOn: Bool) throws(SetupRefusal) {
    switch state {
    case .waiting: break
    case .started:
      if isOn { throw .notNow("the broadcast is on: finish ends it") }
    case .ending: throw .notNow("the last broadcast is still ending")
    }
    file.remove()
    setup = Setup()
    Log.note("setup cancelled")
  }

  /// The broadcast is over; called again while it ends, it does nothing.
  func over(_ reason: String) {
    guard state == .started else { return }
    state = .ending
    file.unmarkStarted()
    end(reason) { [weak self] in self?.state = .waiting }
  }

  /// The relay ends in order, and its broadcast with it.
  func close() { file.unmarkStarted() }
}

/// Why a setup, a start or a cancel is refused.
enum SetupRefusal: Error {
  case wrong(String)
  case notNow(String)
  case failed(String)
}
