import Posix
import Report

/// The screen as MPEG-TS: muxed once, read by any number of players.
final class ContainerOutput {
  let stream = Stream()
  /// Called for each reader at the end of a session, which in a container is the end of the file.
  var finished: (() -> Void)?

  private let muxer: TransportStreamMuxer
  private var start: Int64?
  private var failures = RepeatedError("MPEG-TS")

  init() throws(MuxerError) {
    muxer = try TransportStreamMuxer()
  }

  /// Muxes one access unit; what libavformat refuses is counted and left out.
  func put(_ accessUnit: ArraySlice<UInt8>, kind: Packet.Kind, pts: Int64, now: Moment) {
    // TS has 33 bits of time: begin near 0, so that they last for 26 hours.
    let start = start ?? pts
    self.start = start
    do {
      let bytes = try unsafe accessUnit.withUnsafeBytes {
        try unsafe muxer.mux($0, pts: pts - start, isKeyframe: kind == .keyframe)
      }
      stream.put(Packet(kind: kind, pts: pts, bytes: SharedBytes(bytes)), now: now)
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
  }

  /// Ends the file for those who have seen some of it; the others wait for the next session.
  func finish() {
    stream.forgetCache()
    finished?()
  }
}
