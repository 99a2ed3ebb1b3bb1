import Wire

extension Ingest {
  /// What the broadcast is told.
  struct Events {
    /// What to say of ourselves to the next agent.
    var greeting: () -> Greeting
    var greeted: (Greeting) -> Void
    var message: (Message) -> Void
    var packet: (RawMessage) -> Void
    /// The link of a greeted agent is gone, with what is known of why.
    var lost: (LinkEnd) -> Void
    /// Somebody answers, but there is no link: why.
    var troubled: (LinkEnd) -> Void
    /// A better word for why the last agent is gone, or why none comes.
    var explained: (AgentEnd) -> Void
    /// The agent that was started ended for good; nothing more will come.
    var final: (AgentEnd) -> Void
  }
}
