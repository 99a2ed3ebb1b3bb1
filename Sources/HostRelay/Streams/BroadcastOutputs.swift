import Wire

/// Every form in which a broadcast goes out.
final class BroadcastOutputs {
  /// Packets and messages in Wire's framing, as consumers of the TCP port get them.
  let packets = Stream()
  /// The screen as MPEG-TS.
  let container: ContainerOutput
  /// The screen alone as fragmented MP4, for pages.
  let fragments = FragmentOutput()
  /// The screen and its sounds as fragmented MP4, for players.
  let movie = FragmentOutput()
  /// The camera beside the screen.
  let camera: CameraStream

  init() throws(MuxerError) {
    container = try ContainerOutput()
    camera = try CameraStream()
    packets.requestCameraKeyframe = { [camera] in camera.askForKeyframe(.behind) }
  }

  var streams: [Stream] { screenStreams + camera.streams }

  /// Those whose keyframes are the screen's.
  var screenStreams: [Stream] { [packets, container.stream, fragments.stream, movie.stream] }

  /// Readers of all, and those of them that read a container.
  var audience: (readers: Int, containers: Int) {
    let containers = streams.dropFirst().reduce(0) { $0 + $1.readerCount }
    return (packets.readerCount + containers, containers)
  }

  /// What the containers of the screen carry beside it.
  var sounds: [StreamDescription.Source] {
    get { container.sounds }
    set {
      container.sounds = newValue
      movie.sounds = newValue
    }
  }

  /// Whether nothing is to be expected of the agent.
  var isSuspended = false {
    didSet { for stream in streams { stream.isSuspended = isSuspended } }
  }

  func put(_ message: Message) {
    packets.put(
      Packet(kind: .message, pts: 0, bytes: SharedBytes(message.encoded())), now: .now)
  }

  /// Passes a packet of the agent on to all whose content it is.
  func put(
    _ raw: RawMessage, _ kind: Packet.Kind, of description: StreamDescription,
    stamp: OutputClock.Stamp, now: Moment
  ) {
    packets.put(raw.packet(kind, stamp: stamp), now: now)
    let (pts, frame) = (stamp.pts, description.frameInterval)
    switch kind {
    case .sound:
      container.put(sound: raw.payload, of: description.source, pts: pts, now: now)
      movie.put(sound: raw.payload, of: description.source, pts: pts, now: now)
    case .cameraKeyframe, .cameraPicture:
      let kind: Packet.Kind = kind == .cameraKeyframe ? .keyframe : .picture
      camera.put(raw.payload, kind: kind, pts: pts, frame: frame, now: now)
    case .keyframe, .picture:
      guard description.source == .screen else { return }
      container.put(raw.payload, kind: kind, pts: pts, frame: frame, now: now)
      for output in [fragments, movie] {
        output.put(raw.payload, kind: kind, pts: pts, frame: frame, now: now)
      }
    case .message: break
    }
  }

  func tick(now: Moment) {
    for stream in streams { stream.tick(now: now) }
    if isSuspended { container.keepAlive(now: now) }
    camera.tick(now: now)
  }

  /// The session is over.
  func finish() {
    container.finish()
    fragments.finish()
    movie.finish()
    camera.finish()
    sounds = []
    packets.forgetCache()
    packets.forgetCameraCache()
  }
}
