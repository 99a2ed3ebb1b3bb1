/// Why a broadcast is paused: one bit each, for several may hold at once. None is left when it goes on.
package struct PauseReasons: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Whoever controls the broadcast.
  package static let control = PauseReasons(rawValue: 1)
  /// SIGUSR1 at the agent, until SIGUSR2.
  package static let signal = PauseReasons(rawValue: 2)
  /// The person at the screen, by the desktop's notification.
  package static let person = PauseReasons(rawValue: 4)
  package static let locked = PauseReasons(rawValue: 8)
  /// From before it falls asleep until it is awake, as where its lid is closed.
  package static let asleep = PauseReasons(rawValue: 16)
  /// The desktop has switched the monitor off that is seen, or gives no pictures of it for now.
  package static let outputOff = PauseReasons(rawValue: 32)

  private static let words: [(PauseReasons, String)] = [
    (.asleep, "the computer is asleep"), (.locked, "the session is locked"),
    (.outputOff, "the screen is off"), (.person, "by the person at the screen"),
    (.signal, "by a signal"),
  ]
  private static let all: PauseReasons = [
    .control, .signal, .person, .locked, .asleep, .outputOff,
  ]

  /// For people, empty where whoever controls is all there is: they know.
  package var text: String {
    Self.words.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }

  /// Of a message: none at all, or one that nobody knows, is no reason.
  init(from fields: inout FieldReader) throws(WireError) {
    self.init(rawValue: try fields.read())
    guard !isEmpty, Self.all.isSuperset(of: self) else { throw .invalid("reasons") }
  }
}
