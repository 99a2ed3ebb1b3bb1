import Posix

/// What lets a browser's player, which sends no keys, read one recording for a while.
struct RecordingTickets {
  private struct Ticket {
    let text: [UInt8]
    let name: String
    let until: Moment
  }

  private var tickets: [Ticket] = []

  /// A ticket for the recording of this name. Beyond the limit the oldest serves no more.
  mutating func issue(for name: String, now: Moment) -> String {
    var random = SystemRandomNumberGenerator()
    let text = (0..<4).map { _ in
      let digits = String(UInt32.random(in: .min ... .max, using: &random), radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
    tickets.removeAll { $0.until <= now }
    tickets = tickets.suffix(RelayLimits.tickets - 1)
    tickets.append(
      Ticket(text: Array(text.utf8), name: name, until: now + RelayLimits.ticketTime))
    return text
  }

  /// The recording of this name is gone, and another one may be given it.
  mutating func forget(_ name: String) { tickets.removeAll { $0.name == name } }

  /// Whether `text` is a ticket for that recording.
  func admits(_ text: [UInt8], to name: String, now: Moment) -> Bool {
    tickets.contains { $0.until > now && $0.name == name && constantTimeEqual($0.text, text) }
  }
}
