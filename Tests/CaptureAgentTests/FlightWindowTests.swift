import Testing

@testable import CaptureAgent

@Suite struct FlightWindowTests {
  @Test("two packets may be out before the first acknowledgement, and no third")
  func start() {
    var window = FlightWindow(framesPerSecond: 30)
    window.packetWent(at: 0)
    #expect(!window.isFull)
    window.packetWent(at: 1)
    #expect(window.isFull)
    let answer1 = window.acknowledge(1, at: 2)
    #expect(answer1)
    #expect(!window.isFull)
  }

  @Test("for want of memory one packet is out at a time, however long it takes")
  func narrow() {
    var window = FlightWindow(framesPerSecond: 30)
    window.isNarrow = true
    #expect(!window.isFull)
    window.packetWent(at: 0)
    #expect(window.isFull)
    let answer = window.acknowledge(1, at: 1_000_000_000)
    #expect(answer && !window.isFull)
    window.packetWent(at: 1_000_000_001)
    #expect(window.isFull)
    window.isNarrow = false
    #expect(!window.isFull)
  }

  @Test("a longer round trip allows more: rtt times rate and two")
  func roundTrip() {
    var window = FlightWindow(framesPerSecond: 30)
    window.packetWent(at: 0)
    let answer2 = window.acknowledge(1, at: 100_000_000)
    #expect(answer2)
    #expect(window.roundTrip == 100_000_000)
    #expect(window.limit == 5)
    for time in 0..<5 { window.packetWent(at: Int64(time)) }
    #expect(window.isFull)
  }

  @Test("what was never sent cannot be acknowledged, nor an acknowledgement taken back")
  func lies() {
    var window = FlightWindow(framesPerSecond: 30)
    window.packetWent(at: 0)
    window.packetWent(at: 0)
    let answer3 = window.acknowledge(3, at: 1)
    #expect(!answer3)
    let answer4 = window.acknowledge(2, at: 1)
    #expect(answer4)
    let answer5 = window.acknowledge(1, at: 1)
    #expect(!answer5)
    #expect(window.inFlight == 0)
  }
}
