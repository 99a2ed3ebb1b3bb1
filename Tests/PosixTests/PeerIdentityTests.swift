import Foundation
import Glibc
import Posix
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

  static func python(_ script: String, as prefix: [String] = []) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = prefix + ["python3", "-c", script]
    process.standardInput = Pipe()
    try process.run()
    return process
  }

  @Test("a peer of this user is known by its uid, before and after it writes")
  func sameUser() throws {
    let listener = try Self.listener()
    let address = try #require(SocketAddress.local(of: listener.raw))
    let peer = try Self.python(
      "import socket,sys; s=socket.create_connection(('127.0.0.1',\(address.port)));"
        + "s.send(b'x'); sys.stdin.read()")
    defer {
      peer.terminate()
      peer.waitUntilExit()
    }
    let connection = try Self.accept(on: listener)
    #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == getuid())
    #expect(try PeerIdentity.isSameUser(peerOf: connection.raw))
  }

  @Test("a peer that wrote and closed is nobody, though its bytes can still be read")
  func closed() throws {
    let listener = try Self.listener()
    let address = try #require(SocketAddress.local(of: listener.raw))
    let peer = try Self.python(
      "import socket; s=socket.create_connection(('127.0.0.1',\(address.port)));"
        + "s.send(b'x'); s.close()")
    peer.waitUntilExit()
    let connection = try Self.accept(on: listener)
    #expect(try PeerIdentity.uid(ofPeerOf: connection.raw) == nil)
    var byte: UInt8 = 0
    #expect(recv(connection.raw, &byte, 1, 0) == 1)
  }

  @Test(
    "another user is told apart, also when it writes and closes at once",
    .enabled(if: getuid() == 0, "needs root to become another user"))
  func otherUser() throws {
    let listener = try Self.listener()
    let address = try #require(SocketAddress.local(of: listener.raw))
    for ending in ["sys.stdin.read()", "s.close()"] {
      let peer = try Self.python(
        "import socket,sys; s=socket.create_connection(('127.0.0.1',\(address.port)));"
          + "s.send(b'x'); \(ending)",
        as: ["setpriv", "--reuid=65534", "--clear-groups"])
      if ending == "s.close()" { peer.waitUntilExit() }
      let connection = try Self.accept(on: listener)
      let uid = try PeerIdentity.uid(ofPeerOf: connection.raw)
      #expect(uid == (ending == "s.close()" ? nil : 65534))
      #expect(try !PeerIdentity.isSameUser(peerOf: connection.raw))
      peer.terminate()
      peer.waitUntilExit()
    }
  }

  @Test("a listener is known by its uid, and a port where nobody listens has none")
  func listenerOwner() throws {
    let listener = try Self.listener()
    let address = try #require(SocketAddress.local(of: listener.raw))
    #expect(try PeerIdentity.uid(ofListenerOn: address) == getuid())
    _ = consume listener
    #expect(try PeerIdentity.uid(ofListenerOn: address) == nil)
  }
}
