import Foundation

/// A page of `docs/`, for tests that hold it to the code.
package struct Document {
  package let text: String

  package init(_ name: String) throws {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    text = try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
  }

  /// The cells of each table row whose first cell is a number, by that number.
  package var numberedRows: [Int: [String]] {
    var rows: [Int: [String]] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("|") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if let first = cells.first, let number = Int(first) { rows[number] = cells }
    }
    return rows
  }
}
