import Glibc
import PipeWire
import Posix
import Report
import Wire

/// Where frames come from; everything on the loop's thread, but the frames it puts in the slot.
protocol ScreenSource: AnyObject {
  /// Whether the source was started and has not ended. A still screen is alive without a frame.
  var isAlive: Bool { get }

  /// What became of the pictures that came so far.
  var counts: FrameCounts { get }

  /// Begins; what goes wrong, now or later, comes as `.ended`.
  func start()

  /// Asks for frames without this kind of dma-bufs, which the encoder could not import after all; nil
  /// stands for all of them.
  func drop(_ choice: DMABufChoice?)

  /// Gives up everything it holds, in the order its makers need; no event comes after it.
  func stop()
}

extension ScreenSource {
  /// A source of its own frames has none.
  func drop(_ choice: DMABufChoice?) {}
}

/// What became of a source's pictures.
struct FrameCounts: Equatable, Sendable {
  /// Put into the slot.
  var taken = 0
  /// Overtaken by a newer one before they got there.
  var replaced = 0
  /// No pictures at all, or none for want of a buffer.
  var rejected = 0
  /// With a time that could not be right, and ours in its place.
  var mistimed = 0
  /// Of PipeWire's calls.
  var callbacks = CallbackTimes()
}

/// What a source's frames are, as far as memory depends on it.
struct SourceFormat: Equatable, Sendable {
  var width: Int
  var height: Int
  /// Whether they are JPEGs.
  var isCoded = false
  /// What is mapped of the source's buffers however little is read of them.
  var mappedByteCount = 0
}

/// What a source tells, on the loop's thread.
enum SourceEvent: Sendable {
  /// What frames follow; a crop may make single ones smaller. The same size comes again where more is known of
  /// the memory.
  case format(SourceFormat)
  /// Those that follow are of the monitor that is there on the desktop.
  case placed(MonitorLayout.Place)
  /// The producer has stopped for a while, as one whose monitor is off, or goes on.
  case suspended(Bool)
  /// Whether nothing but broken pictures comes, and has for a while.
  case broken(Bool)
  /// No frame follows.
  case ended(SourceEnd)
}

/// Why a source ended.
struct SourceEnd: Error, Equatable, Sendable {
  /// What the process exits with for it.
  let code: ExitCode
  /// One line: what happened, and what to do where something can be done.
  let text: String
  /// What viewers are told where it is more than the code says.
  var word: FinishCode?

  static func withoutPipeWire(_ error: any Error) -> SourceEnd {
    SourceEnd(
      code: .unavailable,
      text: "PipeWire cannot be reached (\(error)): start its service, pipewire")
  }
}

extension SourceEnd {
  static let byPerson = SourceEnd(code: .finished, text: "ended by the person at the screen")

  /// What cannot be opened for want of memory is the limit's doing, and so is a thread.
  init(opening error: any Error, listening address: SocketAddress) {
    if let error = error as? PosixError, error.code == EADDRINUSE {
      self.init(
        code: .temporary,
        text: "\(address) is in use: end the other program or choose --listen")
      return
    }
    let number = (error as? PosixError)?.code ?? (error as? PipeWireError)?.code
    let isMemory = number == ENOMEM || number == EAGAIN || AllocationGuard.hasShed
    self.init(code: isMemory ? .memoryLimit : .unavailable, text: "\(error)")
  }

  /// The word that viewers are told.
  var finishCode: FinishCode {
    if let word { return word }
    return switch code {
    case .finished: .finished
    case .usage, .bug: .failed
    case .unavailable, .temporary: .unavailable
    case .notAllowed: .refused
    case .memoryLimit: .memory
    }
  }
}
