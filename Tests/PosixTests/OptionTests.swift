import CommandOptions
import Foundation
import Glibc
import Testing

@Suite(.serialized) struct OptionTests {
  let table = OptionTable(
    program: "tool", summary: "does a thing",
    options: [
      Option("rate", .value("N"), "how often", standard: "30"), Option("loud", .flag, "say more"),
      Option("camera", .optionalValue("NAME"), "a camera too"),
      Option("push", .value("URL"), "where to", isRepeatable: true),
    ])

  @Test("later beats earlier: file, environment, command line")
  func order() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "porthole-\(UUID()).conf")
    try "# a comment\n\n rate = 10 \nloud\npush = a\npush = b\n".write(
      to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(try table.parse([])["rate"] == "30")
    let fromFile = try table.parse(["--config", file.path])
    #expect(fromFile["rate"] == "10")
    #expect(fromFile.isOn("loud"))
    #expect(fromFile.all("push") == ["a", "b"])
    setenv("PORTHOLE_RATE", "20", 1)
    defer { unsetenv("PORTHOLE_RATE") }
    #expect(try table.parse(["--config", file.path])["rate"] == "20")
    let last = try table.parse(["--config=" + file.path, "--rate=40", "--loud=no", "--push", "c"])
    #expect(last["rate"] == "40")
    #expect(!last.isOn("loud"))
    #expect(last.all("push") == ["c"])
  }

  @Test(
    "a wrong line is named",
    arguments: [
      (["--rat", "1"], "unknown option --rat (see --help)"),
      (["--rate"], "--rate needs a value: N"),
      (["--loud=maybe"], "--loud takes yes or no, not maybe"),
      (["--camera="], "--camera= names nothing: --camera alone, or a value"),
      (["-x"], "unknown option -x (see --help)"),
      (
        ["--config", "/nonexistent"], "configuration: open /nonexistent: No such file or directory"
      ),
    ])
  func wrong(arguments: [String], line: String) {
    #expect(throws: UsageError(line)) { try table.parse(arguments) }
  }

  @Test("an optional value is only taken behind an equals sign")
  func optionalValue() throws {
    let values = try table.parse(["--camera", "word"])
    #expect(values["camera"] == "")
    #expect(values.words == ["word"])
    #expect(try table.parse(["--camera=front"])["camera"] == "front")
    #expect(try table.parse([])["camera"] == nil)
  }

  @Test("the help shows each option and its default")
  func help() {
    #expect(table.help.contains("--rate N"))
    #expect(table.help.contains("how often (30)"))
    #expect(table.help.contains("--camera[=NAME]"))
  }

  @Test("a long help goes on below itself, and no line is wider than a terminal")
  func wrapping() {
    let text = Array(repeating: "word", count: 30).joined(separator: " ")
    let table = OptionTable(
      program: "tool", summary: "does a thing", options: [Option("rate", .value("N"), text)])
    let lines = table.help.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 80 && $0.last != " " })
    #expect(lines.joined(separator: " ").split(separator: " ").count { $0 == "word" } == 30)
    #expect(lines.filter { $0.hasPrefix("                 word") }.count >= 2)
  }

  @Test("the user's own file is read where no other is named, and one that is wrong is named")
  func standardFile() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "porthole-\(UUID())")
    try FileManager.default.createDirectory(
      at: folder.appending(path: "porthole"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "porthole/tool.conf")
    let table = OptionTable(
      program: "tool", summary: "does a thing", standardFile: "tool.conf",
      options: [Option("rate", .value("N"), "how often", standard: "30")])
    let before = ProcessInfo.processInfo.environment["PORTHOLE_CONFIG"]
    unsetenv("PORTHOLE_CONFIG")
    setenv("XDG_CONFIG_HOME", folder.path, 1)
    defer {
      unsetenv("XDG_CONFIG_HOME")
      if let before { setenv("PORTHOLE_CONFIG", before, 1) }
    }
    #expect(try table.parse([])["rate"] == "30")
    try "rate = 10\n".write(to: file, atomically: true, encoding: .utf8)
    #expect(try table.parse([])["rate"] == "10")
    #expect(try table.parse(["--config", "/dev/null"])["rate"] == "30")
    #expect(try self.table.parse([])["rate"] == "30", "a table without a file of its own")
    try "rat = 10\n".write(to: file, atomically: true, encoding: .utf8)
    #expect(throws: UsageError("\(file.path):1: unknown option rat")) { try table.parse([]) }
  }

  @Test("sizes, rates and byte counts are read as people write them, and nothing else is")
  func formats() throws {
    #expect(try #require(OptionFormat.preset("1080p30")) == (1920, 1080, 30))
    #expect(try #require(OptionFormat.preset("720p60")) == (1280, 720, 60))
    for text in ["", "1080", "1081p30", "1080p", "1080p0", "1080p241", "1080i30", "1080p30p30"] {
      #expect(OptionFormat.preset(text) == nil, "\(text)")
    }
    #expect(try #require(OptionFormat.size("1920x1080")) == (1920, 1080))
    for text in ["1920", "0x1", "1x16385", "axb", "1x2x3", "-1x2"] {
      #expect(OptionFormat.size(text) == nil, "\(text)")
    }
    #expect(OptionFormat.bitrate("2.5M") == 2_500_000)
    #expect(OptionFormat.bitrate("800k") == 800_000)
    #expect(OptionFormat.bitrate("6000000") == 6_000_000)
    #expect(OptionFormat.byteCount("50MiB") == 52_428_800)
    for text in ["", "M", "1.5", "-3", "1e3", "6MB", "nan", "99999999M"] {
      #expect(OptionFormat.bitrate(text) == nil, "\(text)")
    }
  }
}
