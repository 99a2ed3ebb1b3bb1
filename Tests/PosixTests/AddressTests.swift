import Posix
import Testing

@Suite struct AddressTests {
  @Test("addresses are read and written in their usual form")
  func text() throws {
    for text in ["127.0.0.1:13579", "0.0.0.0:1", "[::1]:80", "[fe80::1]:65535"] {
      #expect(SocketAddress(text)?.description == text)
    }
    for text in ["localhost:1", "127.0.0.1", "127.0.0.1:70000", "::1", "1.2.3:4", "", ":1"] {
      #expect(SocketAddress(text) == nil, "\(text)")
    }
  }

  @Test("loopback is 127.0.0.0/8, ::1 and the first mapped into IPv6")
  func loopback() throws {
    for text in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
      #expect(try #require(SocketAddress(text)).isLoopback, "\(text)")
    }
    for text in ["10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
      #expect(try !#require(SocketAddress(text)).isLoopback, "\(text)")
    }
  }
}
