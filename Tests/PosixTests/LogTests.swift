import Testing

@testable import Report

struct LogTests {
  @Test(
    "lines that are held are written at the release, and at the latest when there are 64 of them")
  func hold() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      Log.setProgram("held")
      Log.hold()
      for number in 1...63 { Log.note("first \(number)") }
      Log.release()
      Log.hold()
      for number in 1...64 { Log.note("second \(number)") }
      Log.hold()
      for number in 1...63 { Log.note("third \(number)") }
    }
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 63 + 64, "\(lines)")
    #expect(lines.first == "held: first 1" && lines.last == "held: second 64")
  }
}
