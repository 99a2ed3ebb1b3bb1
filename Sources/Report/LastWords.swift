internal import Glibc
package import Posix

/// The one record that an agent leaves when it dies, in a file of the runtime directory that it
/// holds open: written by whatever ends it, the allocation guard included, which is handed the bytes
/// beforehand because it may not allocate.
///
///     0       4      8          16     20      64
///     | PHLW  | pid  | instance | code | text  |      big-endian, text padded with zeros
package struct LastWords: Equatable, Sendable {
  package static let byteCount = 64
  package static let fileName = "last-words"

  package let pid: UInt32
  package let instance: UInt64
  /// The exit code.
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

  /// Opens the file for an agent's life and fills it with zeros, which are no record: the disk may be
  /// full when there is something to write.
  package static func open(in directory: RuntimeDirectory) throws(PosixError) -> OwnedFD {
    let path = directory.file(fileName)
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
    let file = OwnedFD(try check(unsafe Glibc.open(path, flags, 0o600), "open \(path)"))
    let zeros = [UInt8](repeating: 0, count: byteCount)
    try check(
      unsafe zeros.withUnsafeBytes { unsafe pwrite(file.raw, $0.baseAddress, $0.count, 0) },
      "write \(path)")
    return file
  }

  /// Writes the record; what fails here has nobody left to tell.
  package func write(to file: Int32) {
    let bytes = bytes
    _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) }
  }

  /// The record that an agent left in `directory`; nil when there is none.
  package static func read(from directory: RuntimeDirectory) -> LastWords? {
    let fd = unsafe Glibc.open(directory.file(fileName), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard fd >= 0 else { return nil }
    let file = OwnedFD(fd)
    var bytes = [UInt8](repeating: 0, count: byteCount)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe pread(file.raw, $0.baseAddress, $0.count, 0)
    }
    return count == byteCount ? LastWords(bytes: bytes) : nil
  }
}
