import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// The page of a relay that waits for a start.
  @Suite struct SetupPages {
    private static let form = "document.getElementById('setup')"

    private static func fill(_ field: String, _ value: String) -> String {
      """
      (() => {
        const field = \(form).elements['\(field)'];
        field.focus();
        field.value = '\(value)';
        field.dispatchEvent(new Event('input', { bubbles: true }));
        return document.activeElement === field;
      })()
      """
    }

    @Test func `who may control sets a broadcast up on the page, starts it, and cancels it`() throws
    {
      try withTestDirectory { directory in
        let broadcast = try Broadcast(in: directory, relay: ["--setup"])
        defer { broadcast.end() }
        try waitUntil("the relay", isTrue: { broadcast.status != nil })
        let page = try Browser(broadcast.page)
        try page.wait(until: "\(Self.form) && !\(Self.form).hidden")
        for (name, width) in [("setup", 1280), ("setup-narrow", 390)] {
          try page.resize(width: width, height: 800)
          #expect(
            try page.evaluate(
              "[\(Self.form), document.documentElement].every((one) => one.scrollWidth <= one.clientWidth)"
            ) as? Bool == true)
          try page.shot(name, in: directory)
        }
        for (field, value) in [("name", "on the page"), ("source", "pattern"), ("fps", "20")] {
          #expect(try page.evaluate(Self.fill(field, value)) as? Bool == true)
        }
        // What is wrong is said there, and what was typed stays.
        try page.evaluate(Self.fill("size", "12"))
        try page.evaluate("\(Self.form).requestSubmit()")
        try page.wait(until: "\(Self.form).innerText.includes('size 12: expected')")
        #expect(try page.evaluate("\(Self.form).elements.name.value") as? String == "on the page")
        try page.evaluate(Self.fill("size", "640x360"))
        try page.evaluate("\(Self.form).requestSubmit()")
        try page.waitForPictures(3, width: 640)
        #expect(try page.evaluate("\(Self.form).hidden") as? Bool == true)
        #expect(broadcast.status?.agent["name"] as? String == "on the page")

        // Its end is shown with its reason, and the form again, with what was set up.
        try broadcast.control("finish", "enough of it")
        try page.wait(
          until: "!\(Self.form).hidden && \(Self.form).innerText.includes('enough of it')")
        #expect(try page.evaluate(Page.state) as? String == "finished")
        #expect(try page.evaluate("\(Self.form).elements.name.value") as? String == "on the page")
        try page.shot("setup-ended", in: directory)

        // One that comes to nothing is taken back.
        try page.evaluate(Self.fill("size", "16384x16384"))
        try page.evaluate("\(Self.form).requestSubmit()")
        let cancel = "document.getElementById('cancel')"
        try page.wait(until: "!\(cancel).hidden && \(cancel).checkVisibility()")
        try page.evaluate("\(cancel).click()")
        try page.wait(until: "!\(Self.form).hidden && \(Self.form).innerText.includes('cancelled')")
        // It stood above the form, too.
        #expect(
          try page.evaluate("document.body.innerText.split('cancelled').length") as? Int == 2)
        try page.shot("setup-cancelled", in: directory)
        #expect(try page.evaluate("\(Self.form).elements.name.value") as? String == "")
      }
    }

    @Test func `who may only watch reads that a start is waited for, and sees no form`() throws {
      try withTestDirectory { directory in
        try #require(getuid() == 0, "only root can be somebody else")
        let relay = try RelayRun(
          ["--setup", "--agent", "127.0.0.1:1"], in: directory, program: program("host-relay"))
        defer { relay.process.end() }
        let page = try Browser("http://\(relay.http)/#key=\(relay.viewerKey)", as: 65534)
        try page.wait(until: "\(Page.cover).includes('waiting for the start')")
        // A status has been read, and has changed nothing.
        try page.wait(until: "document.getElementById('control').hidden")
        #expect(try page.evaluate("\(Self.form).hidden") as? Bool == true)
      }
    }
  }
}
