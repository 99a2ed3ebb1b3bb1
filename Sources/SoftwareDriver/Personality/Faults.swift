internal import CVA

/// Calls that are made to fail: `vaEndPicture@3` is the third one, `@3+` that and every later one,
/// and `=18` gives the status in place of OPERATION_FAILED. Several have commas between them.
///
/// `overflow` and `bad-bitstream` count pictures: their coded buffers say so by the status bit, and no
/// call fails.
struct Faults {
  private struct Fault {
    let call: String
    let first: Int
    let isLasting: Bool
    let status: VAStatus
    var count = 0
  }

  private var faults: [Fault] = []

  /// None.
  init() {}

  /// As `PORTHOLE_DRIVER_FAULTS` has them; nil for a word that means nothing.
  init?(text: String) {
    for entry in text.split(separator: ",") {
      let parts = entry.split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      let times = parts[1].split(separator: "=", omittingEmptySubsequences: false)
      let isLasting = times[0].hasSuffix("+")
      let status = times.count == 2 ? VAStatus(times[1]) : VA_STATUS_ERROR_OPERATION_FAILED
      guard let first = Int(isLasting ? times[0].dropLast() : times[0]), first > 0, let status
      else { return nil }
      faults.append(
        Fault(call: String(parts[0]), first: first, isLasting: isLasting, status: status))
    }
  }

  /// Counts a call, and throws when it is one that is to fail.
  mutating func count(_ call: StaticString) throws(DriverError) {
    guard let status = strike(call) else { return }
    throw DriverError(status: status, reason: "a fault that was asked for")
  }

  /// Counts a call; the status it is to fail with, if it is.
  mutating func strike(_ call: StaticString) -> VAStatus? {
    guard !faults.isEmpty else { return nil }
    let name = call.description
    var struck: VAStatus?
    for index in faults.indices where faults[index].call == name {
      faults[index].count += 1
      let fault = faults[index]
      if fault.count == fault.first || fault.isLasting && fault.count > fault.first {
        struck = fault.status
      }
    }
    return struck
  }
}
