import TestSupport
import Testing

@testable import CaptureAgent

@Suite struct SoundTests {
  @Test("times that jitter by a cycle come out even, and within a cycle of what was said")
  func jitter() {
    var random = SplitMix(seed: 7)
    var clock = SoundClock(samplesPerSecond: 48_000)
    let cycle: Int64 = 21_333_333
    var last: Int64?
    for index in 0..<2_000 {
      let exact = 1_000_000_000 + Int64(index) * cycle
      let said = exact + Int64(random.below(20_000_000)) - 10_000_000
      let stamp = clock.stamp(said, count: 1024)
      #expect(!stamp.isJump)
      #expect(abs(stamp.time - exact) < 15_000_000)
      if let last { #expect(abs(stamp.time - last - cycle) < 2_000_000) }
      last = stamp.time
    }
  }

  @Test("a device whose clock is off is followed for hours", arguments: [-300.0, 300, 3000])
  func skew(partsPerMillion: Double) {
    var clock = SoundClock(samplesPerSecond: 48_000)
    // Nanoseconds that 1,024 of its samples take.
    let cycle = 1024 / 48_000 * 1e9 / (1 + partsPerMillion / 1e6)
    for index in 0..<(4 * 3_600 * 47) {
      let exact = Int64(Double(index) * cycle)
      let stamp = clock.stamp(exact, count: 1024)
      #expect(!stamp.isJump)
      guard abs(stamp.time - exact) < 2_000_000 else {
        Issue.record("\(stamp.time - exact) ns off after \(index) cycles")
        return
      }
    }
  }

  @Test("a few missing samples are made up for by and by", arguments: [64, 1024, 8192])
  func missing(pieceLength: Int) {
    var clock = SoundClock(samplesPerSecond: 48_000)
    let piece = Int64(pieceLength) * 1_000_000_000 / 48_000
    var last = clock.stamp(0, count: pieceLength).time
    var claimed: Int64 = 0
    let piecesOfPacket = max(1, 20_000_000 / piece)
    for index in 1..<(10_000_000_000 / piece) {
      claimed = index * piece + 40_000_000
      let stamp = clock.stamp(claimed, count: pieceLength)
      let step = stamp.time - last - piece
      #expect(!stamp.isJump && step >= 0 && step * piecesOfPacket < 3_000_000)
      last = stamp.time
    }
    #expect(claimed - last < 2_000_000)
  }

  @Test("samples that are missing are a jump, and what follows has its own time")
  func jump() {
    var clock = SoundClock(samplesPerSecond: 48_000)
    let first = clock.stamp(0, count: 960)
    #expect(first == .init(time: 0, isJump: false))
    let later = clock.stamp(500_000_000, count: 960)
    #expect(later == .init(time: 500_000_000, isJump: true))
    let back = clock.stamp(100_000_000, count: 960)
    #expect(back == .init(time: 100_000_000, isJump: true))
  }

  @Test("pieces of any length become the same frames", arguments: [1, 7, 441, 960, 1024, 5000])
  func frames(piecePairs: Int) {
    var frames = SoundFrames(pairs: 960, samplesPerSecond: 48_000)
    let all = (0..<2 * 9600).map { Float($0) }
    var got: [Float] = []
    var at = 0
    while at < all.count {
      let count = min(2 * piecePairs, all.count - at)
      let time = Int64(at / 2) * 1_000_000_000 / 48_000
      frames.take(all.span.extracting(at..<at + count), at: time) { frame, pts, followsGap in
        #expect(frame.count == 1920 && !followsGap)
        #expect(abs(pts - Int64(got.count / 2) * 1_000_000_000 / 48_000) < 1_000)
        for index in frame.indices { got.append(frame[index]) }
      }
      at += count
    }
    #expect(got == all)
  }

  @Test("half a frame from before a gap is thrown away, and the first behind it says so")
  func gap() {
    var frames = SoundFrames(pairs: 960, samplesPerSecond: 48_000)
    let piece = [Float](repeating: 1, count: 2 * 500)
    var marks: [Bool] = []
    frames.take(piece.span, at: 0) { _, _, _ in Issue.record("not whole yet") }
    for index in 0..<4 {
      let time = 1_000_000_000 + Int64(index) * 500 * 1_000_000_000 / 48_000
      frames.take(piece.span, at: time) { _, pts, followsGap in
        if marks.isEmpty { #expect(pts == 1_000_000_000) }
        marks.append(followsGap)
      }
    }
    #expect(marks == [true, false])
    frames.cut()
    frames.take(piece.span, at: 9_000_000_000) { _, _, _ in Issue.record("not whole yet") }
  }

  @Test("packets of noise take the bits that are set", arguments: [32_000, 64_000, 128_000])
  func bits(perSecond: Int) throws {
    let encoder = try SoundEncoder(bitsPerSecond: perSecond)
    var random = SplitMix(seed: 5)
    var bytes = 0
    for _ in 0..<100 {
      let noise = (0..<2 * SoundEncoder.framePairs).map { _ in
        Float(random.below(20_001)) / 20_000 - 0.5
      }
      try encoder.encode(noise.span) { bytes += $0.count }
    }
    // 2 s.
    #expect(abs(Double(bytes * 4) / Double(perSecond) - 1) < 0.25, "\(bytes) bytes")
  }

  @Test("what --audio may say, and nothing else")
  func wishes() throws {
    #expect(SoundWish(argument: "none")?.count == 0)
    #expect(SoundWish(argument: "app")?.application == .defaultOutput)
    #expect(SoundWish(argument: "both")?.count == 2)
    #expect(SoundWish(argument: "app:Firefox")?.application == .application("Firefox"))
    #expect(SoundWish(argument: "mic:usb mic")?.microphone == .microphone("usb mic"))
    for (word, names) in [
      ("app,mic", [SoundCapture.Choice.defaultOutput, .defaultMicrophone]),
      ("app:Firefox,mic", [.application("Firefox"), .defaultMicrophone]),
      (
        "app:Built-in, analog,mic:USB, left",
        [.application("Built-in, analog"), .microphone("USB, left")]
      ),
    ] {
      let wish = SoundWish(argument: word)
      #expect([wish?.application, wish?.microphone] == names)
    }
    #expect(SoundWish(argument: "app:one, two")?.application == .application("one, two"))
    for word in [
      "", "app:", "mic:", "all", "App", ",", "app,", ",mic", "app:,mic:", "mic:x,app:y",
      "app:a,app:b",
      "app:x,mic:y,mic:z", "app:x,mic:",
    ] {
      #expect(SoundWish(argument: word) == nil)
    }
  }
}
