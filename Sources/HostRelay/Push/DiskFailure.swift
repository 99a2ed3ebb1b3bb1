import Glibc

/// What ends a recording: its disk takes no more, and a new file would fare no better.
enum DiskFailure {
  /// As the C library says it (ENOSPC, EDQUOT, EFBIG, EROFS), and so ffmpeg.
  private static let texts = [
    "No space left on device", "Disk quota exceeded", "File too large", "Read-only file system",
  ]

  static func isNamed(in complaint: String) -> Bool { texts.contains { complaint.contains($0) } }

  /// The reason in words, if that is how an ffmpeg ended.
  static func reason(of end: ChildEnd, saying complaint: String) -> String? {
    if isNamed(in: complaint) { return complaint }
    return end.signal == SIGXFSZ ? "File too large" : nil
  }
}
