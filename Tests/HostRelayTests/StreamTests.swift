import Testing

@testable import HostRelay

/// A packet of `count` bytes at `milliseconds` of the output clock.
func packet(_ kind: Packet.Kind, at milliseconds: Int64 = 0, bytes count: Int = 100) -> Packet {
  Packet(
    kind: kind, pts: milliseconds * 1_000_000,
    bytes: SharedBytes([UInt8](repeating: 0, count: count)))
}

@Suite struct GOPCacheTests {
  private let start = Moment.now

  @Test("nothing is kept before a keyframe, and a keyframe begins anew")
  func beginsAtKeyframe() {
    var cache = GOPCache()
    cache.put(packet(.picture), now: start)
    cache.put(packet(.sound), now: start)
    #expect(cache.packets.isEmpty)
    cache.put(packet(.keyframe), now: start)
    cache.put(packet(.picture, at: 33), now: start)
    cache.put(packet(.message), now: start)
    #expect(cache.packets.map(\.kind) == [.keyframe, .picture])
    cache.put(packet(.keyframe, at: 66), now: start + .milliseconds(66))
    #expect(cache.packets.map(\.kind) == [.keyframe])
    #expect(cache.keyframeTime == start + .milliseconds(66))
  }

  @Test("300 packets are kept, the next one empties the cache")
  func packetBound() {
    var cache = GOPCache()
    cache.put(packet(.keyframe), now: start)
    for _ in 1..<RelayLimits.cachePackets { cache.put(packet(.picture), now: start) }
    #expect(cache.packets.count == RelayLimits.cachePackets)
    cache.put(packet(.picture), now: start)
    #expect(cache.packets.isEmpty && cache.byteCount == 0 && cache.keyframeTime == nil)
  }

  @Test("8 MiB are kept, one byte more empties the cache")
  func byteBound() {
    for (last, isKept) in [(-1, true), (0, true), (1, false)] {
      var cache = GOPCache()
      cache.put(packet(.keyframe, bytes: 1 << 20), now: start)
      cache.put(packet(.picture, bytes: RelayLimits.cacheBytes - (1 << 20) + last), now: start)
      #expect(!cache.packets.isEmpty == isKept)
    }
  }

  @Test("two seconds are kept, one millisecond more empties the cache")
  func spanBound() {
    for (last, isKept) in [(1999, true), (2000, true), (2001, false)] as [(Int64, Bool)] {
      var cache = GOPCache()
      cache.put(packet(.keyframe, at: 0), now: start)
      cache.put(packet(.picture, at: last), now: start)
      #expect(!cache.packets.isEmpty == isKept)
    }
  }
}

@Suite struct KeyframeRequestsTests {
  private let start = Moment.now

  @Test("the first request passes at once, the next ones together after a second")
  func coalesced() {
    var requests = KeyframeRequests()
    var passed = [requests.pass(now: start)]
    requests.ask(.join, now: start)
    passed.append(requests.pass(now: start))
    requests.ask(.join, now: start)
    requests.ask(.behind, now: start)
    for milliseconds in [999, 1000, 5000] {
      passed.append(requests.pass(now: start + .milliseconds(milliseconds)))
    }
    #expect(passed == [false, true, false, true, false])
    #expect(requests.passed == 2)
    #expect(requests.counts[.join] == 2)
  }

  // A second keyframe came a second after the first one, for joiners that had all begun with that.
  @Test("who has an older keyframe to begin with wants a new one now or not at all")
  func served() {
    var requests = KeyframeRequests()
    var passed: [Bool] = []
    for milliseconds in [0, 600, 999, 1000] {
      let now = start + .milliseconds(milliseconds)
      requests.ask(.join, isServed: true, now: now)
      passed.append(requests.pass(now: now))
      requests.satisfied()
    }
    passed.append(requests.pass(now: start + .seconds(5)))
    #expect(passed == [true, false, false, true, false])
    #expect(requests.counts[.join] == 4)
  }

  @Test("a keyframe is expected from when its request passed, until it comes or patience ends")
  func expected() {
    var requests = KeyframeRequests()
    let patience = RelayLimits.joinerPatience
    requests.ask(.join, now: start)
    #expect(!requests.isExpected(now: start))
    _ = requests.pass(now: start)
    #expect(requests.isExpected(now: start + patience - .milliseconds(1)))
    #expect(!requests.isExpected(now: start + patience))
    requests.satisfied()
    #expect(!requests.isExpected(now: start))
  }

  @Test("a keyframe that comes meanwhile serves all who wait")
  func satisfied() {
    var requests = KeyframeRequests()
    requests.ask(.join, now: start)
    let first = requests.pass(now: start)
    requests.ask(.join, now: start)
    requests.satisfied()
    let second = requests.pass(now: start + .seconds(2))
    #expect(first && !second)
  }
}

@Suite struct StreamTests {
  private let start = Moment.now

  /// `comes`: whether a keyframe that is asked for is to be expected.
  private func stream(asked: Counter, comes: Bool = true) -> HostRelay.Stream {
    let stream = HostRelay.Stream()
    stream.requestKeyframe = { _, _ in
      asked.count += 1
      return comes
    }
    return stream
  }

  /// Counts what a closure is told.
  final class Counter { var count = 0 }

  @Test("a joiner within half a second of a keyframe gets the cache in one burst, then live")
  func freshJoin() {
    let asked = Counter()
    let stream = stream(asked: asked)
    stream.put(packet(.keyframe, at: 0), now: start)
    stream.put(packet(.picture, at: 33), now: start)
    let reader = Reader(name: "reader")
    stream.join(reader, now: start + RelayLimits.freshKeyframe)
    stream.put(packet(.picture, at: 66), now: start + RelayLimits.freshKeyframe)
    #expect((0..<3).compactMap { _ in reader.take()?.pts } == [0, 33_000_000, 66_000_000])
    #expect(asked.count == 0)
  }

  @Test("a later joiner waits for the keyframe it asked for")
  func staleJoin() {
    let asked = Counter()
    let stream = stream(asked: asked)
    stream.put(packet(.keyframe, at: 0), now: start)
    let reader = Reader(name: "reader")
    let join = start + RelayLimits.freshKeyframe + .milliseconds(1)
    stream.join(reader, now: join)
    stream.put(packet(.picture, at: 500), now: join)
    #expect(asked.count == 1)
    #expect(reader.take() == nil)
    stream.put(packet(.keyframe, at: 533), now: join)
    stream.tick(now: join + .seconds(1))
    #expect(reader.take()?.pts == 533_000_000)
    #expect(reader.take() == nil)
  }

  @Test("when that keyframe does not come, the joiner takes the old picture")
  func impatientJoin() {
    let stream = stream(asked: Counter())
    stream.put(packet(.keyframe, at: 0), now: start)
    let reader = Reader(name: "reader")
    let join = start + .seconds(60)
    stream.join(reader, now: join)
    stream.tick(now: join + RelayLimits.joinerPatience - .milliseconds(1))
    #expect(reader.take() == nil)
    stream.tick(now: join + RelayLimits.joinerPatience)
    #expect(reader.take()?.kind == .keyframe)
  }

  @Test("a joiner takes the old picture at once when no new one is to be expected")
  func joinWithoutProspect() {
    let asked = Counter()
    let stream = stream(asked: asked, comes: false)
    stream.put(packet(.keyframe, at: 0), now: start)
    let reader = Reader(name: "reader")
    stream.join(reader, now: start + .milliseconds(900))
    #expect(asked.count == 1)
    #expect(reader.take()?.kind == .keyframe)
  }

  @Test("who joins while nothing follows gets the last keyframe, however old, and asks for none")
  func suspendedJoin() {
    let asked = Counter()
    let stream = stream(asked: asked)
    stream.put(packet(.keyframe, at: 0), now: start)
    stream.put(packet(.picture, at: 5000), now: start + .seconds(5))
    #expect(stream.cache.packets.isEmpty)
    stream.isSuspended = true
    let reader = Reader(name: "reader")
    stream.join(reader, now: start + .seconds(60))
    #expect(reader.take()?.pts == 0)
    #expect(reader.take() == nil)
    #expect(asked.count == 0)
  }

  @Test("what a reader lost stays counted when it has left")
  func dropsStayCounted() {
    let stream = stream(asked: Counter())
    let reader = Reader(name: "reader")
    stream.join(reader, now: start)
    stream.put(packet(.keyframe), now: start)
    stream.put(packet(.picture), now: start + RelayLimits.softDelay)
    stream.leave(reader)
    #expect(stream.readerCount == 0)
    #expect(stream.drops.behind == 1)
  }
}
