import Glibc
import Posix

/// Where a setup outlives its relay: in a file of the state directory, which holds secrets. That it was
/// started stands in the runtime directory, and ends with the desktop's session.
struct SetupFile {
  private let path: String
  private let startMark: String

  private static let byteLimit = 64 << 10

  init(path: String, startMark: String) {
    self.path = path
    self.startMark = startMark
  }

  /// Of the relay that is reached at `port`.
  init(port: UInt16, directory: RuntimeDirectory) {
    let name = "setup-\(port).json"
    self.init(
      path: StateDirectory.file(name) ?? directory.file(name),
      startMark: directory.file("started-\(port)"))
  }

  /// What was kept last; empty where there is nothing.
  func read() throws(SetupError) -> Setup {
    var setup = Setup()
    do {
      let text = try TextFile.read(path, limit: Self.byteLimit)
      try setup.change(JSONReader.object(Array(text.utf8)))
      return setup
    } catch let error as PosixError where error.code == ENOENT {
      return setup
    } catch {
      throw SetupError("\(path): \(error)")
    }
  }

  func keep(_ setup: Setup) throws(PosixError) {
    try StateDirectory.makeFolders(to: path)
    try TextFile.keep(Array("\(setup.kept.encoded)\n".utf8), at: path)
  }

  func remove() { _ = unsafe unlink(path) }

  /// Whether a relay that is gone without a word had started it.
  var isStarted: Bool { unsafe access(startMark, F_OK) == 0 }

  func markStarted() throws(PosixError) { try TextFile.keep([], at: startMark) }

  func unmarkStarted() { _ = unsafe unlink(startMark) }
}
