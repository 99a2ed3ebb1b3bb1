import Glibc
import Posix
import Report

/// The file that keeps the portal's permission from one start to the next: one line, which whoever
/// reads it may use to see the screen, so only its owner may.
struct RestoreToken {
  let path: String

  // The portal's tokens are UUIDs of 36 bytes; nothing much longer is one.
  private static let byteLimit = 256

  /// What an earlier start kept; nil when there is none, or nothing that can be one.
  func load() -> String? {
    guard let text = try? TextFile.read(path, limit: Self.byteLimit) else { return nil }
    let line = text.prefix { $0 != "\n" }
    return line.isEmpty ? nil : String(line)
  }

  /// Puts a token in the place of the old one, whole or not at all; folders that are missing are
  /// made for the owner alone.
  func save(_ token: String) throws(PosixError) {
    try StateDirectory.makeFolders(to: path)
    let unfinished = "\(path).\(getpid())"
    do throws(PosixError) {
      let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
      let file = OwnedFD(try check(unsafe open(unfinished, flags, 0o600), "open \(unfinished)"))
      let line = Array("\(token)\n".utf8)
      let written = try check(
        unsafe line.withUnsafeBytes { unsafe write(file.raw, $0.baseAddress, $0.count) },
        "write \(unfinished)")
      guard written == line.count else { throw PosixError("write \(unfinished)", code: ENOSPC) }
      try check(fsync(file.raw), "fsync \(unfinished)")
      try check(unsafe rename(unfinished, path), "rename \(unfinished)")
    } catch {
      unsafe unlink(unfinished)
      throw error
    }
  }

  /// Forgets it; the next start asks.
  func remove() { unsafe unlink(path) }
}

extension RestoreToken {
  /// In porthole's folder of `$XDG_STATE_HOME`, or of `~/.local/state`, `restore-token`; with the kind that
  /// was asked for behind it, for the portal restores whatever was picked, of any kind; and with the port of
  /// an agent that listens elsewhere than usual, for it shows another screen. nil when the user has no home.
  static func standard(for kind: SourceKind?, port: UInt16) -> RestoreToken? {
    var name = "restore-token"
    if let kind { name += "-\(kind.word)" }
    if port != 0, port != LastWords.usualPort { name += "-\(port)" }
    return StateDirectory.file(name).map(RestoreToken.init(path:))
  }
}
