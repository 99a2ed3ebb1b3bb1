import Testing
import Wire

@testable import CaptureAgent

@Suite struct SessionOriginTests {
  private func relay(_ instance: UInt64, session: UInt64, epoch: UInt32) -> Greeting {
    Greeting(role: .relay, pid: 1, instance: instance, session: session, epoch: epoch)
  }

  @Test(
    "an agent keeps its session and its epoch on the next link, and gives them to the next relay")
  func keeps() {
    var origin = SessionOrigin(relay(1, session: 7, epoch: 3))
    origin.follow(relay(1, session: 7, epoch: 4))
    #expect(origin.session == 7 && origin.epoch == 3)
    origin.follow(relay(2, session: 8, epoch: 1))
    #expect(origin.session == 7 && origin.epoch == 3)
    origin.follow(relay(2, session: 7, epoch: 4))
    #expect(origin.session == 7 && origin.epoch == 3)
  }

  // A relay that was started anew took over a session that the one before it had finished.
  @Test("what its relay has ended it does not carry on to the next one")
  func ended() {
    var origin = SessionOrigin(relay(1, session: 7, epoch: 3))
    origin.follow(relay(1, session: 8, epoch: 1))
    #expect(origin.session == 8 && origin.epoch == 1)
    origin.follow(relay(2, session: 9, epoch: 1))
    #expect(origin.session == 8)
    origin.follow(relay(2, session: 9, epoch: 1))
    #expect(origin.session == 9, "the second relay would not have it")
  }
}
