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

    private func text(_ name: String) throws -> String {
      try String(contentsOfFile: packageRoot + "/packaging/" + name, encoding: .utf8)
    }
  }
}
