import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// The files of `packaging/`, as the programs that read them judge them.
  @Suite struct Packaging {
    @Test func `systemd has no fault to find with the units`() throws {
      try withTestDirectory { directory in
        let names = ["porthole-agent.service", "porthole-relay.service", "porthole-relay.socket"]
        for name in names {
          let unit = try text("systemd/\(name)").replacing("/usr/local/bin/", with: program(""))
          try Data(unit.utf8).write(to: URL(filePath: directory.file(name)))
        }
        let run = try ProcessRun.run(
          "systemd-analyze", ["--user", "verify", "--man=no"] + names.map(directory.file),
          environment: ["XDG_RUNTIME_DIR": directory.path], in: directory)
        #expect(run.exitCode == 0)
        #expect(run.errors == "")
      }
    }

    /// The order and the names of avahi.service(5).
    @Test func `the Avahi service is valid, and names the port that the relay has by default`()
      throws
    {
      try withTestDirectory { directory in
        let grammar = """
          <!ELEMENT service-group (name,service+)> <!ELEMENT name (#PCDATA)>
          <!ATTLIST name replace-wildcards (yes|no) "no">
          <!ELEMENT service (type,subtype*,domain-name?,host-name?,port,txt-record*)>
          <!ATTLIST service protocol (ipv4|ipv6|any) "any">
          <!ELEMENT type (#PCDATA)> <!ELEMENT subtype (#PCDATA)> <!ELEMENT domain-name (#PCDATA)>
          <!ELEMENT host-name (#PCDATA)> <!ELEMENT port (#PCDATA)> <!ELEMENT txt-record (#PCDATA)>
          """
        try Data(grammar.utf8).write(to: URL(filePath: directory.file("avahi.dtd")))
        let file = packageRoot + "/packaging/avahi/porthole.service"
        let check = try ProcessRun.run(
          "xmllint", ["--nonet", "--noout", "--dtdvalid", directory.file("avahi.dtd"), file],
          in: directory)
        #expect(check.exitCode == 0, "\(check.errors)")
        let run = try ProcessRun.run(
          "xmllint", ["--nonet", "--xpath", "string(//port)", file], in: directory)
        let help = try ProcessRun.run(program("host-relay"), ["--help"], in: directory).output
        let port = run.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(help.contains("(127.0.0.1:\(port))"))
      }
    }

    @Test(arguments: [["capture-agent"], ["host-relay"], ["host-relay", "ctl"]])
    func `the help fits a screen of 80 columns and 40 lines, and the manual page has all of it`(
      words: [String]
    ) throws {
      try withTestDirectory { directory in
        let arguments = Array(words.dropFirst())
        let help = try ProcessRun.run(
          program(words[0]), arguments + ["--help"], name: "help", in: directory
        ).output
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 40)
        #expect(lines.allSatisfy { $0.count <= 80 })
        let page = try ProcessRun.run(
          program(words[0]), arguments + ["--man"], name: "page", in: directory)
        let shown = try ProcessRun.run(
          "man", ["--warnings", "-l", page.outputPath],
          environment: ["LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": ""],
          in: directory)
        #expect(shown.exitCode == 0)
        #expect(shown.errors == "")
        for line in lines {
          let option = line.drop { $0 == " " }.prefix { $0 != " " }
          if option.hasPrefix("--") { #expect(shown.output.contains(option), "\(option)") }
        }
        let index = try ProcessRun.run("lexgrog", [page.outputPath], in: directory)
        #expect(index.output.contains(words.joined(separator: "-") + " - "), "\(index.output)")
      }
    }

    @Test(arguments: ["capture-agent", "host-relay"])
    func `every line of the example configuration is an option`(name: String) throws {
      try withTestDirectory { directory in
        // An example is behind a `#` without a space.
        let lines = try text("config/\(name).conf").split(separator: "\n")
        let examples = lines.filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0 != "#" }
        #expect(examples.count > 3)
        let file = directory.file("all.conf")
        try Data(examples.map { $0.dropFirst() }.joined(separator: "\n").utf8).write(
          to: URL(filePath: file))
        for path in [file, "\(packageRoot)/packaging/config/\(name).conf"] {
          let run = try ProcessRun.run(program(name), ["--config", path, "--help"], in: directory)
          #expect(run.exitCode == 0, "\(run.errors)")
        }
      }
    }

    private func text(_ name: String) throws -> String {
      try String(contentsOfFile: packageRoot + "/packaging/" + name, encoding: .utf8)
    }
  }
}
