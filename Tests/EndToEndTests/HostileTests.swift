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
        try attack(broadcast, beside: good)
        let before = try [broadcast.relay.pid, agent].map { try ProcessFootprint(of: $0) }
        for _ in 0..<(isLongRun ? 20 : 1) { try attack(broadcast, beside: good) }
        let after = try [broadcast.relay.pid, agent].map { try ProcessFootprint(of: $0) }
        for (before, after) in zip(before, after) {
          print("memory \(before.residentKB) kB before, \(after.residentKB) kB after")
          #expect(after.residentKB - before.residentKB < 1024)
          #expect(after.descriptorCount <= before.descriptorCount)
        }
        #expect(try good.receivePacket().pts > first)
        #expect(broadcast.agentPID == agent)
        #expect(broadcast.status?.state == "live")
      }
    }

    /// One peer of each kind on each port, ended by the other side; the good one reads all the while.
    private func attack(_ broadcast: Broadcast, beside good: ScriptedPeer) throws {
      let ports = [broadcast.ports.agent, broadcast.ports.consumers, broadcast.ports.http]
      var flood: [ScriptedPeer] = []
      for port in ports {
        for _ in 0..<40 { flood.append(try ScriptedPeer(to: address(port))) }
      }
      flood = []
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
        ("an endless head", Array("GET /live.ts?".utf8) + [UInt8](repeating: 0x61, count: 9000)),
      ]
    }()

    private func address(_ port: UInt16) -> SocketAddress {
      SocketAddress(bytes: [127, 0, 0, 1], port: port)
    }
  }
}

extension Greeting {
  fileprivate var bytes: [UInt8] { Message.greeting(self).encoded() }
}
