import Posix
import Report

/// Accepts TCP connections of one port and hands each on.
///
/// Those that would take a reserved descriptor are closed. When none are left at all it rests for a
/// moment instead of spinning on a port that stays readable. While paused, newcomers wait in the
/// kernel's backlog.
final class Listener {
  /// Called for each connection.
  var accepted: ((consuming OwnedFD) -> Void)?
  /// The address that was bound, with the kernel's choice of port where 0 was asked for.
  let address: SocketAddress

  private let socket: OwnedFD
  private let poll: LoopPoll
  private let rest: LoopTimer
  private var failures: RepeatedError
  private var isPaused = false
  private let firstReserved = Descriptors.firstReserved()

  private static let connectionsATurn = 16
  private static let restTime = Duration.milliseconds(250)

  /// `socket` listens already.
  init(_ socket: consuming OwnedFD, loop: EventLoop) throws {
    guard let address = SocketAddress.local(of: socket.raw) else { throw PosixError("getsockname") }
    self.address = address
    poll = try LoopPoll(socket.raw, on: loop)
    self.socket = socket
    failures = RepeatedError("cannot accept on \(address)")
    rest = try LoopTimer(on: loop)
    start()
  }

  func pause() {
    guard !isPaused else { return }
    isPaused = true
    poll.stop()
  }

  func resume() {
    guard isPaused else { return }
    isPaused = false
    start()
  }

  func close() {
    poll.close()
    rest.close()
  }

  private func start() {
    poll.start { [weak self] in self?.acceptWaiting() }
  }

  private func acceptWaiting() {
    for _ in 0..<Self.connectionsATurn where !isPaused {
      do {
        guard let connection = try TCPSocket.accept(on: socket.raw) else { return }
        if connection.raw < firstReserved {
          accepted?(connection)
        } else if let line = failures.record("what is left of ulimit -n is for the agent") {
          Log.note(line)
        }
      } catch {
        if let line = failures.record("\(error)") { Log.note(line) }
        poll.stop()
        rest.start(after: Self.restTime) { [weak self] in
          guard let self, !self.isPaused else { return }
          self.start()
        }
        return
      }
    }
  }
}
