import Posix
import Report
import Wire

/// The consumers' port: programs that read the broadcast in Wire's own framing.
final class ConsumerOutput {
  private(set) var ends = ConsumerEndCounts()
  var address: SocketAddress { listener.address }

  private let broadcast: Broadcast
  private let identity: () -> Greeting
  private let viewerKey: AccessKey
  private let loop: EventLoop
  private let listener: Listener
  private var count = 0
  private var connections: [ObjectIdentifier: ConsumerConnection] = [:]
  private var antechamber = Antechamber(limitOfAddress: RelayLimits.ungreetedOfAddress)
  private var failures = RepeatedError("consumer")
  private var refusals = RepeatedError("consumers")

  /// `identity` is what the relay says of itself to a consumer.
  init(
    on socket: consuming OwnedFD, broadcast: Broadcast, viewerKey: AccessKey, loop: EventLoop,
    identity: @escaping () -> Greeting
  ) throws {
    self.broadcast = broadcast
    self.viewerKey = viewerKey
    self.loop = loop
    self.identity = identity
    listener = try Listener(socket, loop: loop)
    listener.accepted = { [weak self] in self?.accept($0) }
  }

  func tick(now: Moment) {
    for connection in connections.values { connection.tick(now: now) }
  }

  /// Takes no more, and lets those go who are here; what they must know was put before.
  func close() {
    listener.close()
    for connection in connections.values {
      broadcast.outputs.packets.leave(connection.reader)
      connection.leave()
    }
    connections = [:]
  }

  private func accept(_ socket: consuming OwnedFD) {
    guard let peer = SocketAddress.peer(of: socket.raw), antechamber.admits(peer),
      connections.count < RelayLimits.consumers
    else { return }
    do {
      count += 1
      let visitor = Visitor(on: socket.raw)
      let connection = try ConsumerConnection(
        socket, name: "consumer \(count)", visitor: visitor, viewerKey: viewerKey, loop: loop,
        now: .now)
      let identifier = ObjectIdentifier(connection)
      connections[identifier] = connection
      antechamber.enter(identifier, from: peer, now: .now)
      connection.greeted = { [weak self, weak connection] in
        connection.map { self?.greeted($0) ?? [] } ?? []
      }
      connection.joins = { [weak self, weak connection] in
        if let connection { self?.broadcast.outputs.packets.join(connection.reader, now: .now) }
      }
      connection.wantsKeyframe = { [weak self] in
        self?.broadcast.askForKeyframe(of: $0, .consumer)
      }
      connection.ended = { [weak self, weak connection] end in
        if let connection { self?.ended(connection, end) }
      }
      connection.start()
    } catch {
      if let line = failures.record("\(error)") { Log.note(line) }
    }
    if antechamber.isFull { listener.pause() }
  }

  /// What the new consumer reads first; its packets come after that.
  private func greeted(_ connection: ConsumerConnection) -> [Message] {
    leaveAntechamber(connection)
    return [.greeting(identity())] + broadcast.preface
  }

  private func ended(_ connection: ConsumerConnection, _ end: ConsumerEnd) {
    leaveAntechamber(connection)
    connections[ObjectIdentifier(connection)] = nil
    broadcast.outputs.packets.leave(connection.reader)
    ends.count(end)
    if end != .left, let line = refusals.record("\(connection.reader.name): \(end)") {
      Log.note(line)
    }
  }

  private func leaveAntechamber(_ connection: ConsumerConnection) {
    antechamber.leave(ObjectIdentifier(connection))
    if !antechamber.isFull { listener.resume() }
  }
}
