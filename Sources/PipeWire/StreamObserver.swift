/// What a stream tells, on the loop's thread, inside the stream's own callbacks: the stream must
/// not be dropped there.
package protocol StreamObserver: AnyObject {
  /// The pictures that follow have this format.
  func streamAgreed(on format: VideoFormat)
  /// A picture came; its buffer goes back to the producer with the lease.
  func streamTook(_ lease: consuming BufferLease, _ layout: PictureLayout)
  /// Buffers came, and what they hold is no picture: marked as corrupt, or not as they say.
  func streamRefused()
  /// The pointer looks otherwise or is elsewhere; nil: it is not to be seen. Unless that comes alone,
  /// `streamTook` follows with the picture that it stands on.
  func streamMoved(_ cursor: Cursor?, isAlone: Bool)
  /// The producer has stopped, and may go on; it does (false) with the next buffers.
  func streamSuspended(_ isSuspended: Bool)
  /// No picture follows.
  func streamEnded(_ end: StreamEnd)
}

extension StreamObserver {
  package func streamRefused() {}
  package func streamMoved(_ cursor: Cursor?, isAlone: Bool) {}
  package func streamSuspended(_ isSuspended: Bool) {}
}

/// Why a stream has no more pictures.
package enum StreamEnd: Error, Equatable, Sendable {
  /// Nobody linked the stream to its node.
  case neverStarted
  /// A format was agreed on, and no buffers came.
  case noBuffers
  /// The node, or the link to it, is gone.
  case unlinked
  /// PipeWire's own words.
  case failed(String)

  package var words: String {
    switch self {
    case .neverStarted: "PipeWire started no stream"
    case .noBuffers: "PipeWire gave no buffers"
    case .unlinked: "PipeWire took the stream away"
    case .failed(let words): words
    }
  }
}
