import Testing

@testable import SoftwareDriver

struct CodeTablesTests {
  /// Codes of one table as strings of 0 and 1.
  private func words(_ codes: [UInt32]) -> [String] {
    codes.filter { $0 != 0 }.map { code in
      let bits = String(code & 0xffff, radix: 2)
      return String(repeating: "0", count: Int(code >> 16) - bits.count) + bits
    }
  }

  private func expectPrefixFree(_ codes: [UInt32], _ name: String) {
    let words = words(codes)
    for (index, word) in words.enumerated() {
      for (other, longer) in words.enumerated() where other != index {
        #expect(!longer.hasPrefix(word), "\(name): \(word) begins \(longer)")
      }
    }
  }

  @Test("no code of a table begins another")
  func prefixFree() throws {
    let tables = try CodeTables()
    for kind in 0..<5 {
      let start = kind * CodeTables.tokensPerClass
      let codes = (start..<start + CodeTables.tokensPerClass).map { tables.coefficientToken[$0] }
      expectPrefixFree(codes, "coeff_token \(kind)")
    }
    for total in 1...15 {
      expectPrefixFree((0..<16).map { tables.totalZeros[total * 16 + $0] }, "total_zeros \(total)")
    }
    for total in 1...3 {
      let start = CodeTables.chromaDCZeros + total * 16
      expectPrefixFree((0..<4).map { tables.totalZeros[start + $0] }, "chroma zeros \(total)")
    }
    for left in 1...7 {
      expectPrefixFree((0..<15).map { tables.runBefore[left * 16 + $0] }, "run_before \(left)")
    }
  }
}
