import CaptureSupport
import TestSupport
import Testing

extension EndToEnd {
  /// GNOME's compositor by its own screencast interface, which the portal of GNOME speaks to as well.
  @Suite struct GNOME {
    @Test func `mutter's pictures are broadcast, and the pointer that it describes`() throws {
      try withTestDirectory { directory in
        let desk = try MutterDesk(in: directory, size: (1280, 720), cursor: "metadata")
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:\(desk.node)", "--cursor", "drawn"],
          driver: desk.environment)
        try broadcast.waitUntilLive()

        // Pictures that nobody counts (their number is always 0), with the damage that mutter tells of.
        let player = try Player(broadcast.liveTS, in: directory)
        let window = try desk.show("counter", in: directory)
        let first = try player.waitForCounter(past: 10, within: .seconds(15))
        try player.waitForCounter(past: first + 40, within: .seconds(15))
        try desk.pointOver(window)
        let counters = player.counters.compactMap { $0 }
        let distinct = Set(counters.filter { $0 > first }).count
        print("of 40 pictures of mutter's \(distinct) were seen")
        #expect(distinct > 10)
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(player.complaints == [])
        player.end()

        // A still desktop: a viewer who joins sees it, and nothing changes but the pointer. What a new scene
        // could not pay for at once comes with the pictures that follow.
        let places = [(305, 200), (605, 400)]
        var pictures: [StillPicture] = []
        try waitUntil(
          "a desktop that stands still under its pointer", within: .seconds(20),
          isTrue: {
            let place = places[pictures.count % 2]
            pictures.append(
              try broadcast.arrow(at: place, of: (1280, 720), on: desk, in: directory))
            guard let before = pictures.dropLast().last, let now = pictures.last else {
              return false
            }
            #expect(!now.hasArrow(at: places[pictures.count % 2]))
            return now.differences(from: before, outside: places) == 0
          })
        #expect(broadcast.status?.agentFigure("frames_invalid") == 0)
        broadcast.end()
      }
    }

    // mutter ends a monitor's screencast when the monitor changes.
    @Test func `a monitor that is turned is found again under its name, in its new size`() throws {
      try withTestDirectory { directory in
        let desk = try MutterDesk(in: directory, size: (1280, 720), cursor: "metadata")
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "node:mutter", "--cursor", "drawn"],
          driver: desk.environment)
        try broadcast.waitUntilLive()
        try desk.order("turn 1")
        try waitUntil("the screencast's end", isTrue: { broadcast.status?.state == "interrupted" })
        try desk.order("record")
        try broadcast.waitUntilLive()
        try desk.pointOver(try desk.show("still", in: directory))
        for place in [(305, 200), (105, 900)] {
          _ = try broadcast.arrow(at: place, of: (720, 1280), on: desk, in: directory)
        }
        broadcast.end()
      }
    }
  }
}

extension Broadcast {
  /// Points there until the last picture shows mutter's arrow: mutter 43 now and then tells of a motion only
  /// with the next one.
  fileprivate func arrow(
    at tip: (Int, Int), of size: (Int, Int), on desk: MutterDesk, in directory: TestDirectory
  ) throws -> StillPicture {
    try waitUntil("the arrow at \(tip)", within: .seconds(15)) {
      try desk.order("pointer \(tip.0 + 1) \(tip.1)")
      try desk.order("pointer \(tip.0) \(tip.1)")
      for _ in 0..<3 {
        let seen = try? snapshot(width: size.0, height: size.1, in: directory)
        if let seen, seen.hasArrow(at: tip) { return seen }
      }
      return nil
    }
  }
}

extension StillPicture {
  /// How far mutter's arrow reaches at most, with what the codec smears around it.
  private static let arrow = 48

  /// Whether there is a black arrow with a white border, whose tip is there.
  fileprivate func hasArrow(at tip: (x: Int, y: Int)) -> Bool {
    func green(_ x: Int, _ y: Int) -> Int { Int(pixels[(y * width + x) * 3 + 1]) }
    let border = (tip.y + 2..<tip.y + 14).allSatisfy { y in
      (tip.x - 2..<tip.x + 2).contains { green($0, y) > 180 }
    }
    let inside = (tip.y + 6..<tip.y + 11).allSatisfy { green(tip.x + 1, $0) < 40 }
    let beside = (tip.y + 2..<tip.y + 14).allSatisfy { green(tip.x - 6, $0) < 160 }
    return border && inside && beside
  }

  /// How many pixels are others elsewhere.
  fileprivate func differences(from other: StillPicture, outside tips: [(x: Int, y: Int)]) -> Int {
    var count = 0
    for y in 0..<height {
      for x in 0..<width
      where !tips.contains(where: { abs($0.x - x) < Self.arrow && abs($0.y - y) < Self.arrow }) {
        let index = (y * width + x) * 3
        let isOther = (index..<index + 3).contains {
          abs(Int(pixels[$0]) - Int(other.pixels[$0])) > 24
        }
        if isOther { count += 1 }
      }
    }
    return count
  }
}
