import Foundation
import TestSupport

/// A page in a real Chromium. Each call is answered within 20 s, or throws.
final class Browser {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var answers: [UInt8] = []

  init(_ address: String) throws {
    // Found by name: what stands first in the path may have no websockets.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [packageRoot + "/scripts/page/browser.py", address]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  /// Its end of input ends the browser.
  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The value of a JavaScript expression; a promise's is waited for.
  @discardableResult
  func evaluate(_ expression: String) throws -> Any? {
    let line = expression.split(whereSeparator: \.isNewline).joined(separator: " ") + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
    while !answers.contains(UInt8(ascii: "\n")) {
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw ProcessFailure(description: "the browser is gone") }
      answers += piece
    }
    let end = answers.firstIndex(of: UInt8(ascii: "\n"))!
    let answer = try JSONSerialization.jsonObject(with: Data(answers[..<end])) as? [String: Any]
    answers.removeFirst(end + 1)
    if let error = answer?["error"] { throw ProcessFailure(description: "\(expression): \(error)") }
    return answer?["value"]
  }

  /// Waits in the page until `condition` holds, looked at with each of its pictures; milliseconds.
  @discardableResult
  func wait(until condition: String) throws -> Double {
    try evaluate(
      """
      (async () => {
        const begin = performance.now();
        while (!(\(condition))) await new Promise((go) => setTimeout(go, 5));
        return performance.now() - begin;
      })()
      """) as? Double ?? .infinity
  }
}
