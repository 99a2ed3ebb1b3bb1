import Glibc
import TestSupport
import Testing

@testable import CaptureAgent

/// Where the screen's permission is kept.
@Suite struct RestoreTokenTests {
  @Test func `a token comes back, from a file and folders of its owner's alone`() throws {
    try withTestDirectory { directory in
      let token = RestoreToken(path: directory.file("new/folder/token"))
      #expect(token.load() == nil)
      try token.save("first")
      try token.save("second")
      #expect(token.load() == "second")
      #expect(mode(token.path) == 0o600)
      #expect(mode(directory.file("new/folder")) == 0o700)
      token.remove()
      #expect(token.load() == nil)
    }
  }

  @Test func `a save that cannot be finished leaves nothing behind`() throws {
    try withTestDirectory { directory in
      // A folder stands where the token should.
      let token = RestoreToken(path: directory.file("token"))
      mkdir(token.path, 0o700)
      #expect(throws: (any Error).self) { try token.save("new") }
      #expect(access(directory.file("token.\(getpid())"), F_OK) != 0)
    }
  }

  @Test func `what is no token is none`() throws {
    try withTestDirectory { directory in
      let token = RestoreToken(path: directory.file("token"))
      for content in ["", "\n", String(repeating: "x", count: 300)] {
        let file = open(token.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        write(file, content, content.utf8.count)
        close(file)
        #expect(token.load() == nil)
      }
    }
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    stat(path, &status)
    return status.st_mode & 0o777
  }
}
