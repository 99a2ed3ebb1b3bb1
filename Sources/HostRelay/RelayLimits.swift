/// A point in time on the machine's monotonic clock, the one the loop's timers run on.
typealias Moment = SuspendingClock.Instant

/// The relay's own numbers, once; what both processes must agree on stands in `WireLimits`.
/// `docs/relay.md` has them in a table.
enum RelayLimits {
  /// What a late joiner may be given at once. More than a second or two behind the live edge is
  /// worth nothing to a player that never catches up.
  static let cacheSpan = Duration.seconds(2)
  static let cacheBytes = 8 << 20
  static let cachePackets = 300
  /// A joiner that finds an older keyframe gets a new one made for it.
  static let freshKeyframe = Duration.milliseconds(500)
  /// How long that joiner waits for it before it takes the old one.
  static let joinerPatience = Duration.milliseconds(200)
  /// Between two keyframe requests that are passed on: a keyframe costs every viewer.
  static let keyframeRequestInterval = Duration.seconds(1)

  /// A reader this far behind gets no more pictures until the next keyframe.
  static let softDelay = Duration.milliseconds(500)
  /// A reader this far behind, in either measure, loses what waits for it.
  static let hardDelay = Duration.milliseconds(1500)
  static let hardBytes = 4 << 20
  /// Messages that wait beside the packets; they are small and never dropped.
  static let waitingMessages = 256
  /// A page that has acknowledged pictures, and is sent more, does so again within this.
  static let acknowledgedWithin = Duration.seconds(4)
  /// A reader that takes nothing for this long is closed.
  static let stuckAfter = Duration.seconds(2)
  /// Bytes the kernel may hold unsent for a reader, so that delay shows in our queue, not there.
  static let notSentBytes: Int32 = 65_536
  /// After this the kernel gives up on a peer that acknowledges nothing.
  static let userTimeout = Duration.seconds(5)
  /// Between two log lines about what slow readers lost.
  static let dropLogInterval = Duration.seconds(1)

  /// While nothing is live: between two state messages to a program, or two repeated keyframes to
  /// a player. The idle timers behind them begin at some seven seconds.
  static let keepAliveInterval = Duration.seconds(1)

  /// Before the next connection, or the next start, of an agent; the last one for ever.
  static let retryDelays: [Duration] = [
    .zero, .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2),
  ]
  /// How far a delay is moved at random, so that many who lost one peer do not return in step.
  static let retryJitter = 0.2
  /// An agent that delivered a keyframe and lived this long is sound: delays begin at 0 again.
  static let soundAfter = Duration.seconds(2)
  /// So many deaths in so long are a crash loop, and then starts lie `crashLoopDelay` apart.
  static let crashLoopDeaths = 5
  static let crashLoopSpan = Duration.seconds(10)
  static let crashLoopDelay = Duration.seconds(2)
  /// An agent that left no last words may have a unit that writes them down: it takes so long at most.
  static let lastWordsPatience = Duration.milliseconds(750)

  /// Before the next try of a push, the last one for ever.
  static let pushRetryDelays: [Duration] = [
    .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
  ]
  /// A push that was live for so long is sound: delays begin anew.
  static let pushSoundAfter = Duration.seconds(10)
  /// A push's `ffmpeg` that reads nothing for so long is killed: opening an output takes seconds.
  static let childStuckAfter = Duration.seconds(5)
  /// Keyframes of a push: a server's new viewer, and a segment of HLS, begin at one.
  static let pushKeyframeInterval = Duration.seconds(2)
  /// Keyframes of a recording, for who seeks in it.
  static let recordingKeyframeInterval = Duration.seconds(10)
  /// How long the ticket for a recording serves, and how many there are at once.
  static let ticketTime = Duration.seconds(3600)
  static let tickets = 64
  /// Bytes of a recording that are read at once.
  static let recordingPiece = 256 << 10

  /// Connections that the kernel holds for a port until they are accepted: as many as may come.
  static let backlog: Int32 = 1_000
  /// Connections of one port that have not greeted, or not asked yet.
  static let ungreeted = 64
  /// The same, of one address off loopback.
  static let ungreetedOfAddress = 5
  /// At the HTTP port: a browser opens six at once for a page's files (Chromium and Firefox), and a WebSocket.
  static let ungreetedOfBrowser = 16
  /// A relay that starts agents gives up a port that a stranger has held for so long.
  static let strangerPatience = Duration.seconds(5)
  /// Consumers of one port.
  static let consumers = 1_000
  /// Connections of HTTP beyond those: for short requests of our own user while viewers fill all.
  static let reservedPlaces = 64
  /// Descriptors that no viewer gets: the link, a start of an agent (a pipe), last words, and
  /// questions to the kernel.
  static let reservedDescriptors: Int32 = 8
  /// What a still picture may take to be made, and how long it may be: 4K, and not compressed at all.
  static let snapshotTime = Duration.seconds(5)
  static let snapshotBytes = 40 << 20
  /// What comes with a request that controls.
  static let requestBody = 4 << 10
  /// Addresses that one setup may push to.
  static let setupPushes = 8
  /// Bits a second that may be asked of an agent.
  static let bitrates = 100_000...1_000_000_000

  /// How often deadlines are looked at: joiners, the agent's heartbeats, the hold time.
  static let tick = Duration.milliseconds(100)
  /// The same for each reader, of whom there may be a thousand: stuck ones, heartbeats, drops.
  static let readerTick = Duration.milliseconds(500)
}
