import Glibc
import PipeWire
import Posix
import Report
import Wire

/// Listens on 13579, lets in one relay of this user's, and refuses everybody else with a reason.
/// Loop thread only.
final class RelayListener {
  /// What became of the one link.
  enum Event {
    case linked(RelayConnection, Greeting)
    case message(Message)
    case packetSent
    case unlinked(String)
  }

  // Connections that have not greeted; accepting pauses until one greets or is cut.
  private static let waitingLimit = 64
  // Accepting is tried again this long after descriptors ran out.
  private static let descriptorPause = Duration.milliseconds(100)

  let address: SocketAddress
  private let loop: Loop
  private let token: LinkToken
  private let framesPerSecond: Int
  private let onEvent: (Event) -> Void
  private let socket: OwnedFD
  private var io: IOSource?
  private var pause: TimerSource?
  private var waiting: [RelayConnection] = []
  private var refusal = RepeatedError("not linked")
  private var count = 0
  private(set) var link: RelayConnection?

  /// Binds at once; the address tells the port that the kernel chose for port 0.
  init(
    address: SocketAddress, token: LinkToken, framesPerSecond: Int, loop: Loop,
    onEvent: @escaping (Event) -> Void
  ) throws(PosixError) {
    socket = try TCPSocket.listen(on: address, backlog: Int32(Self.waitingLimit))
    self.address = SocketAddress.local(of: socket.raw) ?? address
    self.loop = loop
    self.token = token
    self.framesPerSecond = framesPerSecond
    self.onEvent = onEvent
  }

  func start() throws(PipeWireError) {
    io = try loop.addIO(fd: socket.raw, for: .readable) { [weak self] _ in self?.accept() }
    pause = try loop.addTimer { [weak self] in self?.setAccepting(true) }
  }

  /// Once a second.
  func tick(now: Int64) {
    for connection in waiting { connection.tick(now: now) }
    link?.tick(now: now)
  }

  private func accept() {
    while waiting.count < Self.waitingLimit {
      do throws(PosixError) {
        guard let fd = try TCPSocket.accept(on: socket.raw) else { return }
        try take(fd)
      } catch {
        note("\(error)")
        setAccepting(false)
        pause?.arm(after: Self.descriptorPause)
        return
      }
    }
    setAccepting(false)
  }

  /// Who it is comes before anything is read: only this user's processes may speak.
  private func take(_ fd: consuming OwnedFD) throws(PosixError) {
    count += 1
    let isOurs = try PeerIdentity.isSameUser(peerOf: fd.raw)
    let connection: RelayConnection
    do {
      connection = try RelayConnection(
        number: count, fd: fd, token: token, framesPerSecond: framesPerSecond, loop: loop
      ) { [weak self] in self?.handle($0, $1) }
    } catch {
      return note("\(error)")
    }
    waiting.append(connection)
    if !isOurs { connection.refuse(.notAllowed, "another user's process") }
  }

  private func note(_ text: String) {
    if let line = refusal.record(text) { Log.note(line) }
  }

  private func handle(_ connection: RelayConnection, _ event: RelayConnection.Event) {
    switch event {
    case .greeted(let greeting):
      guard link == nil else {
        return connection.refuse(.busy, "another relay is linked; one at a time")
      }
      waiting.removeAll { $0 === connection }
      link = connection
      connection.becomeLink()
      setAccepting(true)
      onEvent(.linked(connection, greeting))
    case .message(let message): onEvent(.message(message))
    case .packetSent: onEvent(.packetSent)
    case .closed(let cause):
      if connection === link {
        link = nil
        onEvent(.unlinked(cause))
      } else {
        note("connection \(connection.number): \(cause)")
        waiting.removeAll { $0 === connection }
        setAccepting(true)
      }
    }
  }

  private func setAccepting(_ isAccepting: Bool) {
    // Taking a watch off and on fails only for want of memory, and then the next try may do.
    try? io?.update(for: isAccepting ? .readable : [])
  }
}
