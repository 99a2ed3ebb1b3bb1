import Glibc
import Posix
import TestSupport
import Testing
import Wire

extension EndToEnd {
  /// Peers that mean harm, or speak something else, on every port.
  @Suite struct HostilePeers {
    @Test func `hostile peers on every port are cut, cost no memory, and no viewer notices`() throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, agent: ["--size", "640x480"])
        let agent = try #require(try broadcast.waitUntilLive().agentPID)
        let good = try ScriptedPeer.consumer(of: address(broadcast.ports.consumers))
        let first = try good.receivePacket().pts
        // The first round brings every table to its size.
        try attack(broadcast, beside: good, seed: 0)
        let before = try [broadcast.relay.pid, agent].map { try ProcessFootprint(of: $0) }
        for seed in 1...(isLongRun ? 20 : 1) {
          try attack(broadcast, beside: good, seed: UInt64(seed))
        }
        let after = try [broadcast.relay.pid, agent].map { try ProcessFootprint(of: $0) }
        for (before, after) in zip(before, after) {
          print("private memory \(before.privateKB) kB before, \(after.privateKB) kB after")
          #expect(after.privateKB - before.privateKB < 1024)
          #expect(after.descriptorCount <= before.descriptorCount)
        }
        #expect(try good.receivePacket().pts > first)
        #expect(broadcast.agentPID == agent)
        #expect(broadcast.status?.state == "live")
      }
    }

    /// One peer of each kind on each port, ended by the other side; the good one reads all the while.
    private func attack(_ broadcast: Broadcast, beside good: ScriptedPeer, seed: UInt64) throws {
      let ports = [broadcast.ports.agent, broadcast.ports.consumers, broadcast.ports.http]
      var flood: [ScriptedPeer] = []
      for port in ports {
        for _ in 0..<40 { flood.append(try ScriptedPeer(to: address(port))) }
      }
      flood = []
      // Openings of which some bytes are not what they were; whoever sends them is gone at once.
      var numbers = SplitMix(seed: seed)
      for _ in 0..<300 {
        let (_, bytes) = Self.openings[numbers.below(Self.openings.count)]
        let peer = try ScriptedPeer(to: address(ports[numbers.below(ports.count)]))
        try? peer.send(Self.mutated(bytes, &numbers))
      }
      var peers: [(port: UInt16, what: String, peer: ScriptedPeer)] = []
      for port in ports {
        for (what, bytes) in Self.openings {
          let peer = try ScriptedPeer(to: address(port))
          try? peer.send(bytes)
          peers.append((port, what, peer))
        }
      }
      let slow = try ports.map { try ScriptedPeer(to: address($0)) }
      var greeting = Greeting(role: .consumer, pid: 1, instance: 1, key: []).bytes[...]
      let begin = ContinuousClock.now
      var last = try good.receivePacket()
      while ContinuousClock.now - begin < .seconds(6) {
        if ContinuousClock.now - begin > .milliseconds(700) * (64 - greeting.count) {
          for peer in slow { try? peer.send(Array(greeting.prefix(1))) }
          greeting = greeting.dropFirst()
        }
        let next = try good.receivePacket()
        #expect(next.pts > last.pts)
        #expect(next.pts - last.pts < 500_000_000, "the good reader waited")
        last = next
      }
      for (port, what, peer) in peers {
        #expect(try peer.isCut(within: .seconds(3)), "\(what) on \(port) was not cut")
      }
      for peer in slow { #expect(try peer.isCut(within: .seconds(3))) }
    }

    private static func mutated(_ bytes: [UInt8], _ numbers: inout SplitMix) -> [UInt8] {
      var bytes = bytes
      for _ in 0...numbers.below(4) where !bytes.isEmpty {
        let place = numbers.below(bytes.count)
        switch numbers.below(3) {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: numbers.next())
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1 + numbers.below(20)))
        default: bytes.insert(UInt8(truncatingIfNeeded: numbers.next()), at: place)
        }
      }
      return bytes
    }

    /// What no port lets pass; the good consumers' own greeting is not among them.
    private static let openings: [(String, [UInt8])] = {
      var future = Greeting(role: .consumer, pid: 1, instance: 1)
      future.version = 999
      let greeting = Greeting(role: .consumer, pid: 1, instance: 1).bytes
      func header(_ kind: UInt32, length: UInt32) -> [UInt8] {
        [kind, 0, 0, 0, 0, length].flatMap { word in
          stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
      }
      return [
        ("silence", []), ("half a greeting", Array(greeting.prefix(30))),
        ("a length that lies", header(1, length: .max)),
        ("a length over the greeting's", header(1, length: 4097)),
        ("more than it says", header(1, length: 2) + greeting),
        ("a version from the future", future.bytes), ("an unknown kind", header(77, length: 0)),
        ("a packet first", header(18, length: 100) + [UInt8](repeating: 0, count: 100)),
        ("a TLS hello", [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
        ("a second greeting", greeting + greeting),
        ("a packet behind the greeting", greeting + header(18, length: 4) + [0, 0, 0, 1]),
        ("an unknown kind behind the greeting", greeting + header(77, length: 0)),
        ("a length that lies behind the greeting", greeting + header(2, length: .max)),
        ("an endless head", Array("GET /live.ts?".utf8) + [UInt8](repeating: 0x61, count: 9000)),
      ] + requests.map { ("\($0.prefix(40))", Array($0.utf8)) }
    }()

    private static let requests = [
      "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: elsewhere\r\n\r\n",
      "GET /\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
      "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 1000) + "\r\n",
      "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\n\r\n",
      "POST /api/v1/bitrate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000\r\n\r\n{",
      "POST /api/v1/bitrate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n{}",
      "POST /api/v1/bitrate HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "ffffffffffffffff\r\n{",
      String(repeating: "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", count: 20),
    ]

    private func address(_ port: UInt16) -> SocketAddress {
      SocketAddress(bytes: [127, 0, 0, 1], port: port)
    }
  }
}

extension Greeting {
  fileprivate var bytes: [UInt8] { Message.greeting(self).encoded() }
}
