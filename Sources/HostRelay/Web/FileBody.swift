/// The bytes of a file on their way to a client: one piece at a time, read on a thread beside the loop,
/// so that a disk that stalls keeps nobody else waiting.
final class FileBody {
  private let file: RecordingFile
  private let loop: EventLoop
  private var rest: Range<Int>
  private var piece: SharedBytes?
  private var isReading = false

  init(_ file: RecordingFile, _ range: Range<Int>, on loop: EventLoop) {
    self.file = file
    self.loop = loop
    rest = range
  }

  /// Nothing is left to send.
  var isOver: Bool { rest.isEmpty && piece == nil }

  /// The next piece, if it is there; otherwise it is read, and `ready` is called, with false where it
  /// cannot be.
  func take(ready: @escaping (Bool) -> Void) -> SharedBytes? {
    if let piece = piece.take() { return piece }
    guard !isReading, !rest.isEmpty else { return nil }
    isReading = true
    let (offset, count) = (rest.lowerBound, min(rest.count, RelayLimits.recordingPiece))
    BackgroundWork.run(on: loop) { [file] in
      file.read(count, at: offset)
    } done: { [weak self] bytes in
      guard let self else { return }
      isReading = false
      guard let bytes else { return ready(false) }
      rest = (offset + bytes.count)..<rest.upperBound
      piece = SharedBytes(bytes)
      ready(true)
    }
    return nil
  }
}
