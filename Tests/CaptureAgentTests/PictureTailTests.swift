import Testing

@testable import CaptureAgent

@Suite struct PictureTailTests {
  static let interval: Int64 = 33_000_000

  /// Sends unchanged pictures as they fall due until none is, or until `limit` of them; when each
  /// was due.
  func run(
    _ tail: inout PictureTail, byteCount: Int, hasContainers: Bool = false, limit: Int = 100
  ) -> [Int64] {
    var times: [Int64] = []
    while times.count < limit, let due = tail.nextDue(hasContainers: hasContainers) {
      times.append(due)
      tail.pictureWent(at: due, isUnchanged: true, isKeyframe: false, byteCount: byteCount)
    }
    return times
  }

  @Test("nothing is due before the first picture")
  func beginning() {
    #expect(PictureTail(frameInterval: Self.interval).nextDue(hasContainers: true) == nil)
  }

  @Test("a lone change is followed by three unchanged pictures an interval apart")
  func loneChange() {
    var tail = PictureTail(frameInterval: Self.interval)
    tail.pictureWent(at: 1_000_000_000, isUnchanged: false, isKeyframe: false, byteCount: 9000)
    let times = run(&tail, byteCount: 30)
    #expect(times == (1...3).map { 1_000_000_000 + $0 * Self.interval })
  }

  @Test("within a motion an unchanged picture does not race the next frame")
  func motion() throws {
    var tail = PictureTail(frameInterval: Self.interval)
    for number in 1...5 as ClosedRange<Int64> {
      tail.pictureWent(
        at: number * 34_000_000, isUnchanged: false, isKeyframe: false, byteCount: 9000)
    }
    #expect(tail.nextDue(hasContainers: true) == 5 * 34_000_000 + 2 * Self.interval)
  }

  @Test("then one a second, and only while a container is read")
  func stillScreen() {
    var tail = PictureTail(frameInterval: Self.interval)
    tail.pictureWent(at: 1_000_000_000, isUnchanged: false, isKeyframe: false, byteCount: 9000)
    let times = run(&tail, byteCount: 30, hasContainers: true, limit: 5)
    #expect(times[4] - times[3] == 1_000_000_000)
    #expect(times[3] - times[2] == 1_000_000_000)
    #expect(run(&tail, byteCount: 30).isEmpty)
  }

  @Test("a picture that is still bettered goes on being sent, but not for ever")
  func betterments() {
    var tail = PictureTail(frameInterval: Self.interval)
    tail.pictureWent(at: 1_000_000_000, isUnchanged: false, isKeyframe: false, byteCount: 9000)
    let better = run(&tail, byteCount: 5000, limit: 1000)
    #expect(better.count == PictureTail.betterments + PictureTail.length)
  }

  @Test("behind a keyframe a container's reader gets pictures at full rate while players look")
  func keyframe() throws {
    var tail = PictureTail(frameInterval: Self.interval)
    tail.pictureWent(at: 1_000_000_000, isUnchanged: false, isKeyframe: false, byteCount: 9000)
    _ = run(&tail, byteCount: 30)
    tail.pictureWent(at: 9_000_000_000, isUnchanged: true, isKeyframe: true, byteCount: 90_000)
    var quiet = tail
    #expect(run(&quiet, byteCount: 30).count == PictureTail.length)
    let times = run(&tail, byteCount: 30, hasContainers: true, limit: 200)
    let atFullRate = Int(PictureTail.joinTime / Self.interval) + 1
    #expect(times[atFullRate - 1] - times[atFullRate - 2] == Self.interval)
    #expect(times[atFullRate] - times[atFullRate - 1] == PictureTail.stillInterval)
  }
}
