import Wire

/// The session that this agent belongs to, which it names to each relay.
///
/// A relay that was started anew takes it over. The same relay has ended it when it names another
/// one, which then is the agent's: a session that is over never comes back.
struct SessionOrigin: Equatable {
  private(set) var session: UInt64
  private(set) var epoch: UInt32
  /// The relay that was heard last.
  private var relay: UInt64

  /// The first relay's session.
  init(_ greeting: Greeting) {
    session = greeting.session
    epoch = greeting.epoch
    relay = greeting.instance
  }

  /// Another link's greeting.
  mutating func follow(_ greeting: Greeting) {
    if greeting.instance == relay, greeting.session != session {
      self = SessionOrigin(greeting)
    }
    relay = greeting.instance
  }
}
