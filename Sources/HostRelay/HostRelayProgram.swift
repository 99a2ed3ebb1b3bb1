import CommandOptions
import Glibc
import Posix
import Report

/// Options -> relay -> exit code. In a file of its own, since what is formed in `main.swift` is
/// taken for main-actor code.
func runHostRelay(_ arguments: [String]) -> Int32 {
  Log.setProgram("host-relay")
  // A peer that is gone is an error of a write, never the end of the process.
  signal(SIGPIPE, SIG_IGN)
  // Whoever sends these early must not end it.
  SignalMask.hold([SIGUSR1, SIGUSR2])
  // What belongs to this process alone is taken before there are others.
  let notices = ServiceNotices()
  if let page = manual(arguments) {
    print(page.text, terminator: "")
    return ExitCode.finished.rawValue
  }
  do {
    if arguments.first == "ctl" { return try runControl(Array(arguments.dropFirst())) }
    let values = try Options.table.parse(arguments)
    if values.isOn("help") {
      print(Options.table.help, terminator: "")
      return ExitCode.finished.rawValue
    }
    let options = try Options(values)
    HiddenArguments.hide(["push", "viewer-key", "control-key"])
    if values.isOn("check") {
      if case .given(let certificate, let key) = options.tls {
        do { try TLSIdentity.check(certificate, key) } catch { throw UsageError("\(error)") }
      }
      return ExitCode.finished.rawValue
    }
    Descriptors.bound()
    let passed: PassedSockets
    do { passed = try PassedSockets() } catch { throw UsageError("\(error)") }
    let relay = try Relay(
      options, directory: RuntimeDirectory(), passed: passed, notices: notices)
    return relay.run().rawValue
  } catch let error as UsageError {
    Log.note(error.description)
    return ExitCode.usage.rawValue
  } catch let error as RelayError {
    Log.note(error.line)
    return error.exitCode.rawValue
  } catch {
    Log.note("\(error)")
    return ExitCode.unavailable.rawValue
  }
}

/// The manual page that is asked for, if one is.
private func manual(_ arguments: [String]) -> ManualPage? {
  switch arguments {
  case ["--man"]:
    // The limit is the agent's.
    let codes = ExitCode.allCases.filter { $0 != .memoryLimit }.map { ($0.rawValue, $0.meaning) }
    return ManualPage(
      of: Options.table, exitCodes: codes, related: ["capture-agent(1)", "host-relay-ctl(1)"])
  case ["ctl", "--man"]:
    let codes = ControlClient.exitCodes.map { ($0.rawValue, $1) }
    return ManualPage(
      of: ControlClient.table, exitCodes: codes, related: ["capture-agent(1)", "host-relay(1)"])
  default: return nil
  }
}

private func runControl(_ arguments: [String]) throws(UsageError) -> Int32 {
  let values = try ControlClient.table.parse(arguments)
  HiddenArguments.hide(["control-key"], words: ["pushes="])
  if values.isOn("help") {
    print(ControlClient.table.help, terminator: "")
    return ExitCode.finished.rawValue
  }
  return try ControlClient(values).run().rawValue
}
