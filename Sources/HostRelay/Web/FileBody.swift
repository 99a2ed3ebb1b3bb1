/// A file, or a range of its bytes, as the body of an answer.
struct FilePart {
  let file: RecordingFile
  let range: Range<Int>
  /// What the answer's head says of it.
  let fields: [(name: String, value: String)]
}

extension HTTPDocument {
  /// What a request with this `Range` gets of `file`.
  static func file(_ file: RecordingFile, range field: String) -> HTTPDocument {
    let total = file.byteCount
    var (status, range): (UInt32, Range<Int>) = (200, 0..<total)
    var fields = [("accept-ranges", "bytes")]
    switch ByteRange(field, of: total) {
    case .whole: break
    case .part(let part):
      (status, range) = (206, part)
      fields.append(
        ("content-range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total)"))
    case .unsatisfiable:
      (status, range) = (416, 0..<0)
      fields.append(("content-range", "bytes */\(total)"))
    }
    var document = HTTPDocument(status: status, type: file.mediaType, "")
    document.file = FilePart(file: file, range: range, fields: fields)
    return document
  }
}

/// The bytes of a file on their way to a client: one piece at a time, read on a thread beside the loop,
/// so that a disk that stalls keeps nobody else waiting.
final class FileBody {
  private let file: RecordingFile
  private let loop: EventLoop
  private var rest: Range<Int>
  private var piece: SharedBytes?
  private var isReading = false

  init(_ part: FilePart, on loop: EventLoop) {
    file = part.file
    self.loop = loop
    rest = part.range
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
