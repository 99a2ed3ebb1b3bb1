import Foundation
import TestSupport

/// A page in a real browser. Each call is answered within 20 s, or throws.
final class Browser {
  enum Kind: String {
    case chromium, firefox
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var answers: [UInt8] = []

  /// `trusted` is what `CertificateKey.digest` says of one that no authority vouches for; `user` is
  /// another one than the test's.
  init(
    _ address: String, in kind: Kind = .chromium, trusting trusted: String? = nil,
    as user: Int? = nil
  ) throws {
    // Found by name: what stands first in the path may have no websockets.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    var words = [packageRoot + "/scripts/page/browser.py"]
    if kind == .firefox { words.append("--firefox") }
    if let trusted { words += ["--trust", trusted] }
    if let user { words += ["--user", "\(user)"] }
    process.arguments = words + [address]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  /// Of the script whose child the browser is.
  var pid: pid_t { process.processIdentifier }

  /// Its end of input ends the browser.
  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The value of a JavaScript expression; a promise's is waited for.
  @discardableResult
  func evaluate(_ expression: String) throws -> Any? {
    try say(expression.split(whereSeparator: \.isNewline).joined(separator: " "))
  }

  /// Opens another page in its place.
  func go(to address: String) throws { try say("go \(address)") }

  func resize(width: Int, height: Int) throws { try say("resize \(width) \(height)") }

  /// A screenshot in the test's folder, which is kept when the test fails, and in the one that
  /// `PORTHOLE_KEEP` names.
  func shot(_ name: String, in directory: TestDirectory) throws {
    let file = directory.file("\(name).png")
    try say("shot \(file)")
    guard let kept = ProcessInfo.processInfo.environment["PORTHOLE_KEEP"] else { return }
    try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
    let copy = "\(kept)/\(name).png"
    try? FileManager.default.removeItem(atPath: copy)
    try FileManager.default.copyItem(atPath: file, toPath: copy)
  }

  @discardableResult
  private func say(_ words: String) throws -> Any? {
    let line = words + "\n"
    try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
    while !answers.contains(UInt8(ascii: "\n")) {
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw ProcessFailure(description: "the browser is gone") }
      answers += piece
    }
    let end = answers.firstIndex(of: UInt8(ascii: "\n"))!
    let answer = try JSONSerialization.jsonObject(with: Data(answers[..<end])) as? [String: Any]
    answers.removeFirst(end + 1)
    if let error = answer?["error"] { throw ProcessFailure(description: "\(words): \(error)") }
    return answer?["value"]
  }

  /// Waits in the page until `condition` holds, looked at with each of its pictures; milliseconds. One that fails
  /// does not hold yet: the page may still be read.
  @discardableResult
  func wait(until condition: String) throws -> Double {
    try evaluate(
      """
      (async () => {
        const begin = performance.now();
        const holds = async () => { try { return \(condition); } catch { return false; } };
        while (!(await holds())) await new Promise((go) => setTimeout(go, 5));
        return performance.now() - begin;
      })()
      """) as? Double ?? .infinity
  }
}

/// What a browser is told of a certificate that it shall take.
enum CertificateKey {
  /// Base 64 of the SHA-256 of the public key of the PEM certificate in `file`.
  static func digest(of file: String, in directory: TestDirectory) throws -> String {
    let run = try ProcessRun.run(
      "sh",
      [
        "-c",
        """
        openssl x509 -in "$0" -noout -pubkey | openssl pkey -pubin -outform der |
          openssl dgst -sha256 -binary | base64
        """, file,
      ], in: directory)
    guard run.exitCode == 0, run.errors.isEmpty else {
      throw ProcessFailure(description: run.errors)
    }
    return run.output.filter { !$0.isNewline }
  }
}
