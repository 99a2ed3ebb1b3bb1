import Glibc
import Posix
import TestSupport
import Testing

@Suite struct PeerIdentityTests {
  /// A listener on a port of the kernel's choice.
  static func listener() throws -> OwnedFD {
    try TCPSocket.listen(on: SocketAddress("127.0.0.1:0")!, backlog: 8)
  }

  /// Accepts one connection, waiting at most ten seconds for it.
  static func accept(on listener: borrowing OwnedFD) throws -> OwnedFD {
    var entry = pollfd(fd: listener.raw, events: Int16(POLLIN), revents: 0)
    #expect(poll(&entry, 1, 10_000) == 1)
    let accepted = try TCPSocket.accept(on: listener.raw)
    guard let accepted else { throw PosixError("accept", code: EAGAIN) }
    return accepted
  }

  /// A process that connects to `port`, writes a byte, and then ends or stays, perhaps as `nobody`.
  static func peer(
    of port: UInt16, stays: Bool, saysAll: Bool = false, isNobody: Bool = false,
    in directory: TestDirectory
  ) throws -> ProcessRun {
    let script =
      "import socket, time; s = socket.create_connection(('127.0.0.1', \(port))); s.send(b'x'); "
      + (saysAll ? "s.shutdown(socket.SHUT_WR); " : "") + (stays ? "time.sleep(60)" : "s.close()")
    let python = ["/usr/bin/python3", "-c", script]
    return isNobody
      ? try ProcessRun("setpriv", ["--reuid=65534", "--clear-groups"] + python, in: directory)
      : try ProcessRun(python[0], Array(python.dropFirst()), in: directory)
  }

  @Test("a peer of this user is known by its uid")
  func sameUser() throws {
    try withTestDirectory { directory in
      let listener = try Self.listener()
      let address = try #require(SocketAddress.local(of: listener.raw))
      let peer = try Self.peer(of: address.port, stays: true, in: directory)
      defer { peer.end() }
      let connection = try Self.accept(on: listener)
      #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == getuid())
      #expect(try PeerIdentity.isSameUser(peerOf: connection.raw))
    }
  }

  @Test("a peer that has said all that it will and waits for the answer is known as well")
  func halfClosed() throws {
    try withTestDirectory { directory in
      let listener = try Self.listener()
      let address = try #require(SocketAddress.local(of: listener.raw))
      let peer = try Self.peer(of: address.port, stays: true, saysAll: true, in: directory)
      defer { peer.end() }
      let connection = try Self.accept(on: listener)
      try waitUntil("its end", isTrue: { TCPSocket.hasPeerEnded(connection.raw) })
      #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == getuid())
    }
  }

  @Test("a peer that wrote and closed is nobody, though its bytes can still be read")
  func closed() throws {
    try withTestDirectory { directory in
      let listener = try Self.listener()
      let address = try #require(SocketAddress.local(of: listener.raw))
      let peer = try Self.peer(of: address.port, stays: false, in: directory)
      try peer.waitForEnd(within: .seconds(10))
      let connection = try Self.accept(on: listener)
      #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == nil)
      var byte: UInt8 = 0
      #expect(recv(connection.raw, &byte, 1, 0) == 1)
    }
  }

  @Test(
    "another user is told apart, also when it writes and closes at once",
    .enabled(if: getuid() == 0, "needs root to become another user"), arguments: [true, false])
  func otherUser(stays: Bool) throws {
    try withTestDirectory { directory in
      let listener = try Self.listener()
      let address = try #require(SocketAddress.local(of: listener.raw))
      let peer = try Self.peer(of: address.port, stays: stays, isNobody: true, in: directory)
      defer { peer.end() }
      if !stays { try peer.waitForEnd(within: .seconds(10)) }
      let connection = try Self.accept(on: listener)
      #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == (stays ? 65534 : nil))
      #expect(try !PeerIdentity.isSameUser(peerOf: connection.raw))
    }
  }

  @Test("a listener is known by its uid, and a port where nobody listens has none")
  func listenerOwner() throws {
    // An address of its own: tests beside this one are given ports of 127.0.0.1.
    let listener = try TCPSocket.listen(on: SocketAddress("127.0.0.77:0")!, backlog: 8)
    let address = try #require(SocketAddress.local(of: listener.raw))
    #expect(try PeerIdentity.uid(ofListenerOn: address) == getuid())
    _ = consume listener
    // A child that another test is just starting holds a copy until it runs its program.
    try waitUntil("nobody listens", isTrue: { try PeerIdentity.uid(ofListenerOn: address) == nil })
  }
}
