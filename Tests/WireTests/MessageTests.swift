import Testing

@testable import Wire

@Suite struct MessageTests {
  @Test("the header has the bytes that are drawn")
  func goldenHeader() {
    let bytes = Samples.packet([0xee])
    #expect(
      bytes == [
        0, 0, 0, 18, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 1, 0, 0,
        0, 1, 0xee,
      ])
  }

  @Test("the greeting has the bytes that are drawn")
  func goldenGreeting() {
    let payload = Message.greeting(Samples.greeting).encoded().dropFirst(24)
    #expect(
      Array(payload) == Array("PORTHOLE".utf8) + [
        0, 0, 0, 2, 2, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 0, 0, 0,
        0, 0x21, 0, 0, 0, 3, 0, 2, 0xaa, 0xbb,
      ])
  }

  @Test("other layouts have the bytes that are drawn")
  func goldenOthers() {
    func payload(_ message: Message) -> [UInt8] { Array(message.encoded().dropFirst(24)) }
    #expect(payload(.refusal(.busy, "no")) == [0, 17, 0, 2, 0x6e, 0x6f])
    #expect(payload(.sound(.appSound, isOn: false)) == [3, 0])
    #expect(payload(.sourceState(.microphone, .lost, "no")) == [4, 2, 0, 2, 0x6e, 0x6f])
    #expect(payload(.paused([.control, .locked])) == [9])
    #expect(payload(.pause(.person)) == [4])
    #expect(
      payload(.audience(readers: 1, containers: 258)) == [0, 0, 0, 1, 0, 0, 1, 2])
    #expect(
      payload(.figures(Samples.figures)) == [
        0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0xab, 0xe0, 0, 25, 0, 0, 0, 0, 0, 0x5b, 0x8d, 0x80,
      ])
    #expect(
      payload(.streamDescription(stream: 1, Samples.description)) == [
        1, 1, 0, 0, 0, 1, 0x3b, 0x9a, 0xca, 0, 0, 0, 7, 0x80, 0, 0, 4, 0x40, 0, 0, 7, 0x80, 0, 0, 4,
        0x38, 0, 0, 0, 30, 0, 0, 0, 1, 0, 11,
      ] + Array("avc1.42C028".utf8) + [0, 5, 0, 0, 0, 1, 0x67])
  }

  @Test("every kind of message is read as it was written")
  func thereAndBack() throws {
    #expect(Set(Samples.all.map(\.kind)).union([.packet]) == Set(MessageKind.allCases))
    for message in Samples.all {
      let raw = try decode(message.encoded())
      #expect(raw.count == 1)
      #expect(try Message(raw[0]) == message)
    }
  }

  @Test("a stream cut at every byte gives the same messages")
  func cuts() throws {
    let stream = Samples.all.flatMap { $0.encoded() } + Samples.packet([1, 2, 3])
    let whole = try decode(stream)
    #expect(whole.count == Samples.all.count + 1)
    for cut in 1..<stream.count {
      #expect(try decode(stream, cuts: [cut]) == whole)
    }
    #expect(try decode(stream, cuts: Array(1..<stream.count)) == whole)
  }

  @Test("a payload is refused at its limit plus one, before it comes")
  func payloadLimit() throws {
    func header(_ length: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 24)
      var span = bytes.mutableSpan
      MessageHeader(kind: .packet, length: length).write(to: &span)
      return bytes
    }
    for limit in [WireLimits.greetingPayload, WireLimits.payload] {
      #expect(try decode(header(limit - 1), payloadLimit: limit).isEmpty)
      #expect(try decode(header(limit), payloadLimit: limit).isEmpty)
      #expect(throws: WireError.payloadTooLong(length: limit + 1, limit: limit)) {
        try decode(header(limit + 1), payloadLimit: limit)
      }
    }
  }

  @Test("HTTP is known by its first four bytes", arguments: ["GET ", "POST / HTTP/1.1", "OPTIONS"])
  func http(request: String) {
    #expect(throws: WireError.looksLikeHTTP) { try decode(Array(request.utf8)) }
  }

  @Test("another version is named before the rest of a greeting is read")
  func otherVersion() throws {
    var greeting = Samples.greeting
    greeting.version = 3
    let raw = try decode(Message.greeting(greeting).encoded())
    #expect(throws: WireError.otherVersion(3)) { try Message(raw[0]) }
  }

  @Test("a text is cut at its limit between characters, and a longer one is refused")
  func texts() throws {
    let long = String(repeating: "ä", count: WireLimits.text)
    let raw = try decode(Message.finish(long).encoded())
    #expect(try Message(raw[0]) == .finish(String(repeating: "ä", count: WireLimits.text / 2)))
    for (count, isTaken) in [(WireLimits.text, true), (WireLimits.text + 1, false)] {
      var bytes = Message.finish("").encoded()
      bytes.replaceSubrange(24..., with: [UInt8(count >> 8), UInt8(count & 255)])
      bytes += [UInt8](repeating: 0x61, count: count)
      var span = bytes.mutableSpan
      MessageHeader(kind: .finish, length: count + 2).write(to: &span)
      let message = try decode(bytes)[0]
      if isTaken {
        _ = try Message(message)
      } else {
        #expect(throws: WireError.invalid("reason")) { try Message(message) }
      }
    }
  }

  @Test("a payload that ends early or goes on is refused for every kind")
  func lengths() throws {
    for message in Samples.all {
      let bytes = message.encoded()
      for change in [-1, 1] where bytes.count + change >= 24 {
        var changed = change > 0 ? bytes + [0] : Array(bytes.dropLast())
        let length = changed.count - 24
        var span = changed.mutableSpan
        MessageHeader(kind: message.kind, stream: 1, length: length).write(to: &span)
        let raw = try decode(changed)[0]
        #expect(throws: WireError.self, "\(message) by \(change)") { try Message(raw) }
      }
    }
  }

  @Test("a pause without a reason, or with one that nobody knows, is refused")
  func reasons() throws {
    for (bits, isTaken) in [(0, false), (1, true), (63, true), (64, false)] as [(UInt8, Bool)] {
      var bytes = Message.paused(.control).encoded()
      bytes[24] = bits
      let raw = try decode(bytes)[0]
      if isTaken {
        #expect(try Message(raw) == .paused(PauseReasons(rawValue: bits)))
      } else {
        #expect(throws: WireError.invalid("reasons")) { try Message(raw) }
      }
    }
  }

  @Test("the words of a pause name what holds, and nothing where whoever controls is all there is")
  func reasonWords() {
    #expect(PauseReasons.control.text.isEmpty)
    #expect(PauseReasons([.control, .locked]).text == "the session is locked")
    #expect(
      PauseReasons([.locked, .person]).text == "the session is locked, by the person at the screen")
  }
}
