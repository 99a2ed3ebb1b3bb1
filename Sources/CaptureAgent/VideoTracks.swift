import Wire

/// The link's streams of pictures, which take turns: one packet is on its way at a time. Loop thread only.
final class VideoTracks {
  /// The main one, which the link ends with.
  let screen: VideoTrack
  /// nil where none is wanted.
  let camera: VideoTrack?
  private var sending: VideoTrack?
  private var last: VideoTrack?

  init(screen: VideoTrack, camera: VideoTrack?) {
    self.screen = screen
    self.camera = camera
  }

  /// The one of a stream's number; the screen for any other.
  subscript(stream: UInt32) -> VideoTrack {
    if let camera, camera.stream == stream { camera } else { screen }
  }

  /// Changes what all encoders are to do.
  func order(_ body: @Sendable (inout EncoderOrders.Current) -> Void) {
    screen.orders.change(body)
    camera?.orders.change(body)
  }

  func begin() {
    screen.begin()
    camera?.begin()
  }

  /// The packet that goes next; nil while one is on its way, and where none waits. It allocates nothing.
  func next() -> (track: VideoTrack, packet: OutgoingPacket)? {
    guard sending == nil else { return nil }
    guard let camera else { return take(from: screen) }
    return last === screen
      ? take(from: camera) ?? take(from: screen) : take(from: screen) ?? take(from: camera)
  }

  private func take(from track: VideoTrack) -> (track: VideoTrack, packet: OutgoingPacket)? {
    guard let packet = track.packets.next() else { return nil }
    sending = track
    last = track
    return (track, packet)
  }

  /// The packet that was on its way is out, or will not be.
  func sent() {
    let track = sending
    sending = nil
    track?.packets.free()
  }

  /// The link is gone, and with it what was to go over it.
  func unlinked() {
    order {
      $0.link = nil
      $0.hasContainers = false
    }
    sending = nil
    drop(screen)
    if let camera { drop(camera) }
  }

  private func drop(_ track: VideoTrack) {
    _ = track.packets.next()
    track.packets.free()
  }

  /// For how many nanoseconds an encoder has been at one picture.
  func busyTime(now: Int64) -> Int64 {
    max(screen.counts.busyTime(now: now), camera?.counts.busyTime(now: now) ?? 0)
  }

  /// Ends sources and encoders. Threads that do not come back are not waited for.
  func stop(hasHung: Bool) {
    camera?.stop(hasHung: hasHung)
    screen.stop(hasHung: hasHung)
  }
}
