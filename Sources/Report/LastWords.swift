internal import CLinux
internal import Glibc
package import Posix

/// The one record that an agent leaves when it dies, in a file of the runtime directory that it
/// holds open: written by whatever ends it, the allocation guard included, which is handed the bytes
/// beforehand because it may not allocate.
///
/// While an agent lives the record names it without an end, so that whoever learns of a signal can
/// write the end beside the name.
///
///     0       4      8          16     20      64
///     | PHLW  | pid  | instance | code | text  |      big-endian, text padded with zeros
package struct LastWords: Equatable, Sendable {
  package static let byteCount = 64
  /// Where an agent listens unless it is told otherwise.
  package static let usualPort: UInt16 = 13579
  /// The code of an agent that has not ended.
  package static let unended: Int32 = -1

  package let pid: UInt32
  package let instance: UInt64
  /// The exit code, or 128 and the signal's number; `unended` while it lives.
  package let code: Int32
  /// At most 44 bytes of UTF-8.
  package let text: String

  package init(pid: UInt32, instance: UInt64, code: Int32, text: String) {
    self.pid = pid
    self.instance = instance
    self.code = code
    self.text = text
  }

  package var bytes: [UInt8] {
    var bytes = Array("PHLW".utf8)
    func put<Value: FixedWidthInteger>(_ value: Value) {
      for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: value >> Value(shift)))
      }
    }
    put(pid)
    put(instance)
    put(code)
    bytes += Array(text.utf8.prefix(Self.byteCount - bytes.count))
    return bytes + [UInt8](repeating: 0, count: Self.byteCount - bytes.count)
  }

  /// nil when `bytes` are no record.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, Array(bytes[..<4]) == Array("PHLW".utf8) else {
      return nil
    }
    func number(_ range: Range<Int>) -> UInt64 {
      bytes[range].reduce(0) { $0 << 8 | UInt64($1) }
    }
    pid = UInt32(number(4..<8))
    instance = number(8..<16)
    code = Int32(truncatingIfNeeded: number(16..<20))
    text = String(decoding: bytes[20...].prefix { $0 != 0 }, as: UTF8.self)
  }

  /// Opens the file for an agent's life and writes its name there: the disk may be full when there is
  /// an end to write. Nobody can look for the words of an agent without a port (0): they go nowhere,
  /// until `move`.
  package static func open(
    in directory: RuntimeDirectory, port: UInt16 = usualPort, pid: UInt32, instance: UInt64
  ) throws(PosixError) -> OwnedFD {
    let path = port == 0 ? "/dev/null" : directory.file(fileName(port: port))
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
    let file = OwnedFD(try check(unsafe Glibc.open(path, flags, 0o600), "open \(path)"))
    let bytes = LastWords(pid: pid, instance: instance, code: unended, text: "").bytes
    try check(
      unsafe bytes.withUnsafeBytes { unsafe pwrite(file.raw, $0.baseAddress, $0.count, 0) },
      "write \(path)")
    return file
  }

  /// Has what was opened without a port, and is known by its number, be the file of that port.
  package static func move(
    _ file: Int32, to port: UInt16, in directory: RuntimeDirectory, pid: UInt32, instance: UInt64
  ) throws(PosixError) {
    let named = try open(in: directory, port: port, pid: pid, instance: instance)
    try check(dup3(named.raw, file, O_CLOEXEC), "dup3 of the last words")
  }

  /// Writes the record; what fails here has nobody left to tell.
  package func write(to file: Int32) {
    let bytes = bytes
    _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) }
  }

  /// The end that an agent of that port left in `directory`; nil when there is none.
  package static func read(
    from directory: RuntimeDirectory, port: UInt16 = usualPort
  ) -> LastWords? {
    guard let file = existing(in: directory, port: port, O_RDONLY) else { return nil }
    return record(in: file).flatMap { $0.code == unended ? nil : $0 }
  }

  /// Writes how the agent of that port ended, where it is gone and could not say so itself.
  package static func complete(
    with end: ServiceEnd, in directory: RuntimeDirectory, port: UInt16 = usualPort
  ) {
    guard let file = existing(in: directory, port: port, O_RDWR), let words = record(in: file),
      words.code == unended, kill(pid_t(truncatingIfNeeded: words.pid), 0) == -1
    else { return }
    LastWords(pid: words.pid, instance: words.instance, code: end.code, text: end.text)
      .write(to: file.raw)
  }

  /// Agents side by side have a port each, and a file.
  private static func fileName(port: UInt16) -> String {
    port == usualPort ? "last-words" : "last-words-\(port)"
  }

  private static func existing(
    in directory: RuntimeDirectory, port: UInt16, _ access: Int32
  ) -> OwnedFD? {
    let fd = unsafe Glibc.open(
      directory.file(fileName(port: port)), access | O_CLOEXEC | O_NOFOLLOW)
    return fd >= 0 ? OwnedFD(fd) : nil
  }

  private static func record(in file: borrowing OwnedFD) -> LastWords? {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe pread(file.raw, $0.baseAddress, $0.count, 0)
    }
    return count == byteCount ? LastWords(bytes: bytes) : nil
  }
}
