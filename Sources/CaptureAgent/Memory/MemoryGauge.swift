import Glibc
import Posix

/// The process's own memory as the kernel counts it, read without allocating. One thread at a time.
final class MemoryGauge {
  /// Cheap enough for every frame: 1 us.
  struct Footprint: Equatable, Sendable {
    /// Counts against RLIMIT_AS.
    var sizeKB = 0
    var residentKB = 0
    /// The part of it that is shared or backed by files.
    var sharedKB = 0
    /// Counts against RLIMIT_DATA, but for the main thread's stack, which is in it too.
    var dataKB = 0
  }

  /// For once a second: 6 us.
  struct Status: Equatable, Sendable {
    var sizePeakKB = 0
    var sizeKB = 0
    var dataKB = 0
    var residentKB = 0
    var residentPeakKB = 0
    var threads = 0
  }

  private let statm: OwnedFD
  private let status: OwnedFD
  private let pageKB = Int(getpagesize()) / 1024
  private var text = [UInt8](repeating: 0, count: 4096)

  init() throws(PosixError) {
    statm = OwnedFD(
      try check(unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC), "open statm"))
    status = OwnedFD(
      try check(unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC), "open status"))
  }

  func footprint() -> Footprint {
    withText(of: statm) { text in
      // size resident shared text lib data dt, in pages.
      var fields = InlineArray<7, Int>(repeating: 0)
      var field = 0
      for index in text.indices where field < fields.count {
        if let digit = Self.digit(text[index]) {
          fields[field] = fields[field] * 10 + digit
        } else {
          field += 1
        }
      }
      return Footprint(
        sizeKB: fields[0] * pageKB, residentKB: fields[1] * pageKB, sharedKB: fields[2] * pageKB,
        dataKB: fields[5] * pageKB)
    }
  }

  func currentStatus() -> Status {
    withText(of: status) { text in
      Status(
        sizePeakKB: Self.number(after: "VmPeak:", in: text),
        sizeKB: Self.number(after: "VmSize:", in: text),
        dataKB: Self.number(after: "VmData:", in: text),
        residentKB: Self.number(after: "VmRSS:", in: text),
        residentPeakKB: Self.number(after: "VmHWM:", in: text),
        threads: Self.number(after: "Threads:", in: text))
    }
  }

  private func withText<Result>(
    of file: borrowing OwnedFD, _ body: (Span<UInt8>) -> Result
  ) -> Result {
    unsafe text.withUnsafeMutableBytes { bytes in
      let count = unsafe pread(file.raw, bytes.baseAddress, bytes.count, 0)
      let read = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<max(0, count)])
      return unsafe body(Span(_unsafeBytes: read))
    }
  }

  /// The number that stands behind `key` and blanks; 0 when the key is not there.
  private static func number(after key: StaticString, in text: Span<UInt8>) -> Int {
    let length = key.utf8CodeUnitCount
    var start = 0
    while start + length <= text.count {
      let isKey = (0..<length).allSatisfy { unsafe key.utf8Start[$0] == text[start + $0] }
      if isKey { break }
      start += 1
    }
    var number = 0
    var hasDigits = false
    var index = start + length
    while index < text.count {
      if let digit = digit(text[index]) {
        number = number * 10 + digit
        hasDigits = true
      } else if hasDigits {
        break
      }
      index += 1
    }
    return number
  }

  private static func digit(_ byte: UInt8) -> Int? {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
  }
}
