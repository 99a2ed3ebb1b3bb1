import Wire

/// The camera beside the screen, as the relay passes it on: its keyframes are asked for apart from the
/// screen's, and players have a container of their own.
final class CameraStream {
  /// As MPEG-TS, without sound.
  let container: ContainerOutput
  /// As fragmented MP4, for pages.
  let fragments = FragmentOutput()
  /// Its number on the link; nil while the agent has described none.
  private(set) var number: UInt32?
  private(set) var requests = KeyframeRequests()
  /// Sends to the agent, if there is one.
  var tell: ((Message) -> Void)?

  init() throws(MuxerError) {
    container = try ContainerOutput()
    for stream in streams {
      stream.requestKeyframe = { [weak self] in
        self?.askForKeyframe($0, isServed: $1) ?? false
      }
    }
  }

  var streams: [Stream] { [container.stream, fragments.stream] }

  /// Passes one access unit on.
  func put(
    _ accessUnit: ArraySlice<UInt8>, kind: Packet.Kind, pts: Int64, frame: Duration, now: Moment
  ) {
    container.put(accessUnit, kind: kind, pts: pts, frame: frame, now: now)
    fragments.put(accessUnit, kind: kind, pts: pts, frame: frame, now: now)
  }

  func described(as number: UInt32) { self.number = number }

  /// Says whether one is to be expected soon.
  @discardableResult
  func askForKeyframe(_ reason: KeyframeRequests.Reason, isServed: Bool = false) -> Bool {
    let now = Moment.now
    requests.ask(reason, isServed: isServed, now: now)
    pass(now: now)
    return requests.isExpected(now: now)
  }

  func keyframePassed() { requests.satisfied() }

  /// Another link: what was asked of the old one is void.
  func restart() { requests.restart() }

  func tick(now: Moment) {
    pass(now: now)
    if container.stream.isSuspended { container.keepAlive(now: now) }
  }

  /// The session is over.
  func finish() {
    container.finish()
    fragments.finish()
    number = nil
  }

  private func pass(now: Moment) {
    guard let tell, let number, requests.pass(now: now) else { return }
    tell(.keyframeRequest(stream: number))
  }
}
