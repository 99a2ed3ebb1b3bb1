import CommandOptions
import Glibc
import PipeWire
import Posix
import Report

/// The whole run of the executable: options, limits, guard, pipeline. The limits stand before
/// anything is opened.
enum Agent {
  static func run(_ arguments: [String]) -> ExitCode {
    Log.setProgram("capture-agent")
    // Whoever sends these before the loop takes them must not end it.
    SignalMask.hold([SIGUSR1, SIGUSR2])
    if arguments == ["--man"] { return printManual() }
    let options: Options
    do throws(UsageError) {
      let values = try Options.table.parse(arguments)
      if values.isOn("help") {
        print(Options.table.help, terminator: "")
        return .finished
      }
      options = try Options(values)
    } catch {
      Log.note("\(error)")
      return .usage
    }
    if options.recordsEnd { return recordEnd(port: options.listen.port) }
    let limits: MemoryLimits
    do throws(PosixError) {
      limits = try MemoryLimits.apply(tier: options.memoryTier, byteCount: options.memoryLimit)
    } catch {
      Log.note("\(error)")
      return .bug
    }
    if options.explainsMemory { return explainMemory(options, limits: limits) }
    if options.listsSources { return SourceList.run(options) }
    let notices = ServiceNotices()
    // The one before it missed something, which was said: this one speaks when it has a picture, or
    // another end.
    if Environment.take("PORTHOLE_RETRY") != nil { Log.hold() }
    do throws(SourceEnd) {
      try DescriptorLimit.ensure()
      let pipeline = try Pipeline(
        options: options, limits: limits, identity: try identify(notices, port: options.listen.port)
      )
      return pipeline.run()
    } catch {
      if error.code != .unavailable { Log.release() }
      Log.note(error.text)
      return error.code
    }
  }

  /// Opens the last words and has the allocation guard hold them.
  private static func identify(
    _ notices: ServiceNotices, port: UInt16
  ) throws(SourceEnd) -> Pipeline.Identity {
    let pid = UInt32(getpid())
    let instance = UInt64(MonotonicClock.sinceBoot())
    do throws(PosixError) {
      let file = try LastWords.open(
        in: RuntimeDirectory(), port: port, pid: pid, instance: instance
      ).release()
      try AllocationGuard.arm(instance: instance, pid: pid, file: file)
      #if DEBUG
        Faults.arm()
      #endif
      return Pipeline.Identity(pid: pid, instance: instance, lastWords: file, notices: notices)
    } catch {
      throw SourceEnd(code: .unavailable, text: "\(error)")
    }
  }

  /// Leaves word of another process's end, which systemd tells by the environment.
  private static func recordEnd(port: UInt16) -> ExitCode {
    guard let end = ServiceEnd(variable: Environment.value) else {
      Log.note("--record-end is for a unit's ExecStopPost=, which is told how the unit ended")
      return .usage
    }
    guard port != 0 else {
      Log.note("--record-end needs the port of the agent that ended: --listen has port 0 here")
      return .usage
    }
    do throws(PosixError) {
      LastWords.complete(with: end, in: try RuntimeDirectory(), port: port)
      return .finished
    } catch {
      Log.note("\(error)")
      return .unavailable
    }
  }

  private static func printManual() -> ExitCode {
    let codes = ExitCode.allCases.map { ($0.rawValue, $0.meaning) }
    let page = ManualPage(of: Options.table, exitCodes: codes, related: ["host-relay(1)"])
    print(page.text, terminator: "")
    return .finished
  }

  private static func explainMemory(_ options: Options, limits: MemoryLimits) -> ExitCode {
    let plans = MemoryPlans(options, limits: limits)
    let company = MemoryPlans.Company(
      sounds: options.sounds.count,
      camera: options.camera.map {
        SourceFormat(width: $0.size.width, height: $0.size.height)
      })
    let budget = plans.budget(of: options.patternFormat, company)
    for line in budget.lines { print(line) }
    var isCamera = options.camera != nil
    if case .camera = options.source { isCamera = true }
    if isCamera {
      let code = options.memoryTier == .address ? JPEGDecoder.codeByteCount : 0
      print("a camera that gives JPEGs: \((JPEGDecoder.byteCount + code) >> 10) kB more")
    }
    for line in plans.wholeBufferLines(of: options.patternFormat, company) { print(line) }
    guard !budget.isWithinLimit else { return .finished }
    Log.note(budget.refusal)
    return .memoryLimit
  }
}
