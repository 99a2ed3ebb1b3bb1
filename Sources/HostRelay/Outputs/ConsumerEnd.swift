/// How a consumer's connection ended; the text is for the log.
enum ConsumerEnd: Equatable, CustomStringConvertible {
  /// It went, in order.
  case left
  /// It could not keep up.
  case slow(String)
  /// It was not let in, or broke the rules.
  case refused(String)
  /// The connection broke.
  case lost(String)

  var description: String {
    switch self {
    case .left: "left"
    case .slow(let text): "closed: \(text)"
    case .refused(let text): "refused: \(text)"
    case .lost(let text): "lost: \(text)"
    }
  }
}

/// Ended connections by kind, for the status.
struct ConsumerEndCounts {
  private(set) var left = 0
  private(set) var slow = 0
  private(set) var refused = 0
  private(set) var lost = 0

  mutating func count(_ end: ConsumerEnd) {
    switch end {
    case .left: left += 1
    case .slow: slow += 1
    case .refused: refused += 1
    case .lost: lost += 1
    }
  }
}
