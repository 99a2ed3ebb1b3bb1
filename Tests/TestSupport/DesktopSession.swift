import Glibc

/// A headless desktop of one test, with PipeWire and the portal, gone with the value.
package final class DesktopSession: Sendable {
  /// What a program needs to find this desktop.
  package let environment: [String: String]
  private let directory: TestDirectory
  private let folder: String

  package init(
    in directory: TestDirectory, size: (width: Int, height: Int) = (1920, 1080),
    outputs: Int = 1
  ) throws {
    self.directory = directory
    folder = directory.file("desktop")
    let start =
      ["start", folder, "--size", "\(size.width)x\(size.height)", "--outputs", "\(outputs)"]
    try Self.script(start, in: directory)
    let lines = try Self.script(["env", folder], in: directory).output.split(separator: "\n")
    var variables = ["DISPLAY": "", "WAYLAND_SOCKET": ""]
    for line in lines where line.hasPrefix("export ") {
      let parts = line.dropFirst("export ".count).split(separator: "=", maxSplits: 1)
      variables[String(parts[0])] = String(parts[1])
    }
    environment = variables
  }

  deinit { _ = try? Self.script(["stop", folder], in: directory) }

  /// Starts again what has died, and what hangs on it.
  package func mend() throws {
    try Self.script(["start", folder], in: directory)
  }

  /// Shows something to broadcast, by the words of `scripts/headless-desktop show`.
  package func show(_ thing: String) throws {
    try Self.script(["show", folder, thing], in: directory)
  }

  /// Which output the portal's next question is answered with, from 1 on.
  package func pick(_ output: Int) throws {
    try Self.script(["pick", folder, "\(output)"], in: directory)
  }

  package func hide(_ thing: String) throws {
    try Self.script(["hide", folder, thing], in: directory)
  }

  /// The pid of one of the desktop's processes, for a test that ends it.
  package func pid(of name: String) throws -> pid_t {
    let text = String(decoding: try readFile("\(folder)/pid/\(name)"), as: UTF8.self)
    guard let pid = text.split(separator: " ").first.flatMap({ pid_t($0) }) else {
      throw ProcessFailure(description: "\(folder)/pid/\(name): \(text)")
    }
    return pid
  }

  /// The path of its PipeWire's socket.
  package var pipeWire: String { "\(environment["XDG_RUNTIME_DIR"] ?? "")/pipewire-0" }

  /// The id of the PipeWire node with this name.
  package func node(named name: String) throws -> String {
    let list = try ProcessRun.run(
      "pw-cli", ["ls", "Node"], environment: environment, in: directory)
    var id = ""
    for line in list.output.split(separator: "\n") {
      let words = line.split(whereSeparator: { " \t,".contains($0) })
      if words.first == "id", words.count > 1 { id = String(words[1]) }
      if line.contains("node.name = \"\(name)\"") { return id }
    }
    throw ProcessFailure(description: "no node \(name): \(list.output)")
  }

  /// When the window of `show("window=…+flips")` turned a square black or white, in seconds of
  /// CLOCK_MONOTONIC.
  package func flips() throws -> [Double] {
    let log = String(decoding: try readFile("\(folder)/log/window.log"), as: UTF8.self)
    return log.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words.count == 3 && words[0] == "flip" ? Double(words[2]).map { $0 / 1e9 } : nil
    }
  }

  /// Takes a picture of the screen, as PNG.
  package func screenshot(to path: String) throws {
    let run = try ProcessRun.run("grim", [path], environment: environment, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: "grim: \(run.errors)") }
  }

  @discardableResult
  private static func script(_ words: [String], in directory: TestDirectory) throws -> ProcessRun {
    let run = try ProcessRun.run(
      packageRoot + "/scripts/headless-desktop", words, name: "desktop-\(words[0])",
      in: directory)
    guard run.exitCode == 0 else {
      throw ProcessFailure(description: "headless-desktop \(words): \(run.errors)")
    }
    return run
  }
}

/// The folder of Package.swift.
package let packageRoot: String = {
  let file = #filePath
  return file.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
}()
