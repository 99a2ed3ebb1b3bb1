import Posix
import Wire

/// `/api/v1/status` and `/healthz`: what the relay knows, at one moment.
struct StatusDocument {
  let broadcast: Broadcast
  let ingest: Ingest
  /// nil without `--setup`.
  let setup: SetupPhase?
  let pushes: Pushes
  let consumers: ConsumerEndCounts
  let viewers: ConsumerEndCounts
  let uptime: Duration
  let now: Moment

  /// Live, with packets that came lately or a link that says nothing moves.
  var isHealthy: Bool {
    (broadcast.session.state == .live || broadcast.session.state == .paused)
      && ingest.agent != nil && !ingest.isStalled
  }

  /// `mayControl` is whether the one who asks may also control.
  func json(for mayControl: Bool) -> JSONText {
    .object([
      ("session", .text(broadcast.session.name)),
      ("epoch", .number(Int(broadcast.session.epoch))),
      ("state", .text(broadcast.session.state.word)),
      ("text", .text(broadcast.session.text)),
      ("stalled", .truth(ingest.isStalled)),
      ("crash_loop", .truth(ingest.isCrashLooping)),
      ("last_finish", lastFinish),
      ("agent", agent),
      ("memory", memory),
      ("last_death", .optional(ingest.lastDeath)),
      ("deaths", .number(ingest.deaths)),
      ("packets", .number(broadcast.counts.packets)),
      ("keyframes", .number(broadcast.counts.keyframes)),
      ("bytes", .number(broadcast.counts.bytes)),
      ("withheld", .number(broadcast.counts.withheld)),
      ("discontinuities", .number(broadcast.counts.discontinuities)),
      ("last_packet_ms", milliseconds(since: broadcast.counts.lastPacket)),
      ("streams", .list(streams)),
      ("sounds", .object(sounds)),
      ("screen", state(of: .screen)),
      ("camera", state(of: .camera)),
      ("readers", readers),
      ("keyframe_requests", keyframeRequests),
      ("pushes", pushes.json),
      ("recording", pushes.recordingJSON),
      ("setup", setup.map { .object($0.json(for: mayControl)) } ?? .none),
      ("may_control", .truth(mayControl)),
      ("uptime_seconds", .decimal(Double(uptime.nanoseconds / 1_000_000) / 1000)),
    ])
  }

  /// The numbers of it.
  var metrics: MetricsDocument {
    MetricsDocument(
      broadcast: broadcast, pushes: pushes, deaths: ingest.deaths,
      isAgentThere: ingest.agent != nil)
  }

  private var lastFinish: JSONText {
    guard let finish = broadcast.lastFinish else { return .none }
    return .object([("code", .text(finish.code.word)), ("text", .text(finish.text))])
  }

  private var agent: JSONText {
    var members: [(String, JSONText)] = [
      ("connected", .truth(ingest.agent != nil)),
      ("pid", ingest.agent.map { .number(Int($0.pid)) } ?? .none),
      ("name", .optional(broadcast.setup?.name)),
      ("source", .optional(broadcast.setup?.source)),
      ("driver", .optional(broadcast.setup?.driver)),
    ]
    if let figures = broadcast.figures {
      for figure in AgentFigures.Figure.allCases {
        members.append((figure.name, .number(Int(clamping: figures[figure]))))
      }
    }
    return .object(members)
  }

  private var memory: JSONText {
    .object([
      ("step", .text(broadcast.memory.step.word)),
      ("text", .text(broadcast.memory.text)),
      ("changes", .number(broadcast.memory.changes)),
    ])
  }

  private var streams: [JSONText] {
    broadcast.descriptions.sorted { $0.key < $1.key }.map { number, description in
      .object([
        ("stream", .number(Int(number))),
        ("source", .text(description.source.word)),
        ("codec", .text(description.codecString)),
        ("width", .number(Int(description.displaySize.width))),
        ("height", .number(Int(description.displaySize.height))),
        ("coded_width", .number(Int(description.codedSize.width))),
        ("coded_height", .number(Int(description.codedSize.height))),
      ])
    }
  }

  private func state(of source: StreamDescription.Source) -> JSONText {
    guard let state = broadcast.sourceStates[source] else { return .none }
    return .object([("state", .text(state.state.word)), ("text", .text(state.text))])
  }

  private var sounds: [(String, JSONText)] {
    broadcast.sourceStates.keys.filter { $0 != .camera && $0 != .screen }
      .sorted { $0.rawValue < $1.rawValue }.map { ($0.word, state(of: $0)) }
  }

  private var readers: JSONText {
    .object([
      // Programs, and pages that play packets; the ends are those of the consumers' port.
      ("consumers", .object(output(broadcast.outputs.packets) + counts(of: consumers))),
      // The ends are those of the HTTP port, whatever was read there.
      ("containers", .object(output(broadcast.outputs.container.stream) + counts(of: viewers))),
      ("fragments", .object(output(broadcast.outputs.fragments.stream))),
      ("movies", .object(output(broadcast.outputs.movie.stream))),
      ("cameras", .object(output(broadcast.outputs.camera.container.stream))),
      ("camera_fragments", .object(output(broadcast.outputs.camera.fragments.stream))),
    ])
  }

  private func output(_ stream: Stream) -> [(String, JSONText)] {
    [
      ("now", .number(stream.readerCount)),
      ("drops_behind", .number(stream.drops.behind)),
      ("drops_overrun", .number(stream.drops.overrun)),
      ("cache_packets", .number(stream.cache.packets.count)),
      ("cache_bytes", .number(stream.cache.byteCount)),
      ("slow", .list(stream.losers.map(loss))),
    ]
  }

  private func counts(of ends: ConsumerEndCounts) -> [(String, JSONText)] {
    [
      ("left", .number(ends.left)), ("closed_slow", .number(ends.slow)),
      ("refused", .number(ends.refused)), ("lost", .number(ends.lost)),
    ]
  }

  /// A reader that is there and lost something.
  private func loss(of reader: Reader) -> JSONText {
    .object([
      ("name", .text(reader.name)),
      ("drops_behind", .number(reader.drops.behind)),
      ("drops_overrun", .number(reader.drops.overrun)),
      ("dropped_bytes", .number(reader.drops.bytes)),
    ])
  }

  private var keyframeRequests: JSONText {
    .object(
      [("passed", .number(broadcast.requests.passed))]
        + KeyframeRequests.Reason.allCases.map {
          ($0.rawValue, .number(broadcast.requests.counts[$0] ?? 0))
        })
  }

  private func milliseconds(since moment: Moment?) -> JSONText {
    moment.map { .number(Int((now - $0).nanoseconds / 1_000_000)) } ?? .none
  }
}
