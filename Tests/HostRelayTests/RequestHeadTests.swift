import Testing

@testable import HostRelay

@Suite struct RequestHeadTests {
  private func kind(of text: String) -> RequestHead.Kind {
    RequestHead.kind(of: Array(text.utf8).span)
  }

  @Test("a request is known when its head is whole, and whose it is")
  func kinds() {
    let request = "GET /live.ts?key=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for count in 0..<request.utf8.count {
      #expect(RequestHead.kind(of: Array(request.utf8.prefix(count)).span) == .unknown)
    }
    #expect(kind(of: request + "more") == .ours(end: request.utf8.count))
    #expect(kind(of: "HEAD /live.ts HTTP/1.1\n\n") == .ours(end: 24))
    for unknown in ["P", "POST ", "HEAD", "GET /api", "PUT /live.ts HTTP/1.1\r\n"] {
      #expect(kind(of: unknown) == .unknown)
    }
    for other in ["POST /", "GET /l", "GET /api", "HEAD /x", "GET http://x/live.ts"] {
      #expect(kind(of: other + "\n\nmore") == .other(end: other.utf8.count + 2))
    }
  }

  // A CONNECT was left to libwebsockets, which kept the connection open for ever.
  @Test("another method than GET, HEAD and POST is ours")
  func methods() {
    for text in ["CONNECT x:1 HTTP/1.1\n\n", "OPTIONS * HTTP/1.1\n\n", "PUT / HTTP/1.1\n\n"] {
      #expect(kind(of: text) == .ours(end: text.utf8.count))
    }
  }

  @Test("what begins no request is foreign at its first odd byte")
  func foreign() {
    for text in ["get / HTTP/1.1", "GET/", " GET", "\r", "\u{17}", "\0", "ABCDEFGHIJKLMNOPQ"] {
      #expect(kind(of: text) == .foreign)
    }
    #expect(kind(of: "ABCDEFGHIJKLMNOP") == .unknown)
    #expect(kind(of: "\u{16}\u{3}") == .handshake)
  }

  @Test("a head of more than 4,096 bytes is too large")
  func limit() {
    let start = "GET /live.ts HTTP/1.1\r\n"
    for (count, kind) in [(4095, RequestHead.Kind.unknown), (4096, .tooLarge), (4097, .tooLarge)] {
      let text = start + String(repeating: "a", count: count - start.utf8.count)
      #expect(self.kind(of: text) == kind)
    }
    let whole = start + String(repeating: "a", count: 4094 - start.utf8.count) + "\n\n"
    #expect(kind(of: whole) == .ours(end: 4096))
  }

  @Test("what is asked for is read, with the key and the fields that say who asks")
  func reads() throws {
    let head = try #require(
      RequestHead(
        "GET /live.ts?a=b&key=secret HTTP/1.1\r\nHOST: here:1\r\norigin:\thttp://here:1\r\n"
          + "Sec-Fetch-Site: none\r\nAuthorization: Bearer abc\r\n\r\n"))
    let request = head.request(from: .stranger)
    #expect(request.method == "GET" && request.path == "/live.ts")
    #expect(request.host == "here:1" && request.origin == "http://here:1")
    #expect(request.fetchSite == "none")
    #expect(request.key == Array("secret".utf8) && request.bearer == Array("abc".utf8))
  }

  @Test(
    "what two readers could understand in two ways is no head",
    arguments: [
      "", "GET /live.ts\r\n\r\n", "GET /live.ts HTTP/2\r\n\r\n", "GET  /live.ts HTTP/1.1\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\nHost : a\r\n\r\n", "GET /live.ts HTTP/1.1\r\nHost\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\nHost: a\r\n\tb: c\r\n\r\n",
      "GET /live.ts HTTP/1.1\r\n: a\r\n\r\n",
      "POST /x HTTP/1.1\r\nContent-Length: 2\r\ncontent-length: 3\r\n\r\n",
    ])
  func refused(text: String) {
    #expect(RequestHead(text) == nil)
  }

  @Test("what proxies add each for itself may be there twice")
  func repeated() {
    #expect(RequestHead("GET / HTTP/1.1\r\nHost: a\r\nVia: b\r\nVia: c\r\n\r\n") != nil)
  }

  @Test("who has asked is told from who has begun to, whatever is asked")
  func whole() {
    for (text, isWhole) in [
      ("", false), ("GET / HTTP/1.1\r\n", false), ("GET / HTTP/1.1\r\nHost: a\r\n", false),
      ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true), ("POST /x HTTP/1.1\n\nbody", true),
      ("\u{16}\u{3}\u{1}", false),
    ] {
      #expect(RequestHead.isWhole(Array(text.utf8).span) == isWhole, "\(text)")
    }
  }
}
