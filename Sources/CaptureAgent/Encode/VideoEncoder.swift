import PipeWire

/// Turns frames into access units, one in and one out. One thread at a time.
protocol VideoEncoder: AnyObject {
  /// What viewers must know before the first access unit; it changes only with `reconfigure` and,
  /// where the driver writes its own parameter sets, with the first keyframe after that.
  var stream: EncodedStream { get }

  /// Whether a picture is loaded; none is after a failure to load one, or once a device was lost.
  var hasPicture: Bool { get }

  /// Takes the frame's picture in. The frame has the configured shape. It goes back to its source by the
  /// end of this call, by the end of the next `encode` where the driver reads it itself, or by the next
  /// `load` or `recheck` where only its damage was looked at. So every frame that is taken from the slot
  /// is loaded: one that is not takes its damage with it.
  func load(_ frame: consuming Frame) throws(EncoderError)

  /// The pointer that is drawn over the pictures from the next one on; nil: none.
  var cursor: Cursor? { get set }

  /// When the frame that was loaded last is to be read again, since only what its source called damaged
  /// was; nil where all of it was, in nanoseconds of CLOCK_MONOTONIC.
  var recheckDue: Int64? { get }

  /// Reads all of that frame, and gives it back; false where it is gone.
  func recheck() throws(EncoderError) -> Bool

  /// Encodes the picture that was loaded last: again, when nothing was loaded since, for a keyframe
  /// or the tail of a still screen. After an error the next access unit is a keyframe.
  ///
  /// `pts` is handed through. The access unit lies in the encoder's memory until `release` or the
  /// next call of anything here.
  func encode(keyframe: Bool, pts: Int64) throws(EncoderError) -> AccessUnit

  /// Ends the use of the last access unit.
  func release()

  /// From the next picture on; nil takes what suits the size.
  func setBitrate(_ bitsPerSecond: Int?)

  /// Starts anew for frames of another size, or that are turned another way, after giving back
  /// everything of the old one. Halved pictures are half as wide and high, where that is not too small.
  func reconfigure(for frames: FrameShape, isHalved: Bool) throws(EncoderError)
}

/// Why there is no access unit.
enum EncoderError: Error, CustomStringConvertible {
  /// No driver here encodes what is asked for: one line for a user, exit code 69.
  case unavailable(String)
  /// The driver failed; the picture is lost.
  case driver(String)
  /// The frame's buffer could not be read; the picture is lost.
  case frame(String)
  /// The driver cannot read dma-bufs of this kind after all, or (nil) cannot make pictures of any as they
  /// are wanted.
  case importing(DMABufChoice?, String)
  /// There is no memory for it.
  case memory(String)

  var description: String {
    switch self {
    case .unavailable(let text), .driver(let text), .frame(let text), .memory(let text),
      .importing(_, let text):
      text
    }
  }
}
