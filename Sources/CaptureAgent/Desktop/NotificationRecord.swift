import Glibc
import Posix

/// The file that tells the next agent which notification stands, for one that is killed cannot take it away:
/// its number and the unique name of the service that gave it.
struct NotificationRecord {
  let path: String

  private static let byteLimit = 128

  /// In the runtime directory, for the agent that listens there.
  init(port: UInt16) throws(PosixError) {
    path = try RuntimeDirectory().file("notification-\(port)")
  }

  func load() -> (id: UInt32, owner: String)? {
    guard let text = try? TextFile.read(path, limit: Self.byteLimit) else { return nil }
    let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
    guard words.count == 2, let id = UInt32(words[0]), id != 0 else { return nil }
    return (id, String(words[1]))
  }

  /// One that cannot be written stands until its service goes, if this agent is killed.
  func save(id: UInt32, owner: String) {
    try? TextFile.keep(Array("\(id) \(owner)\n".utf8), at: path)
  }

  func remove() { unsafe unlink(path) }
}
