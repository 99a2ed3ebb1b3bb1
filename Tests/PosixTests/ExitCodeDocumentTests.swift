import Report
import TestSupport
import Testing

@Suite struct ExitCodeDocumentTests {
  @Test("the architecture's page lists exactly the exit codes there are")
  func table() throws {
    let rows = try Document("architecture.md").numberedRows
    #expect(rows.keys.sorted() == ExitCode.allCases.map { Int($0.rawValue) }.sorted())
  }
}
