import Posix
import TestSupport

/// A relay with a scripted agent that it finds.
func withRelay(
  _ arguments: [String] = [], environment: [String: String] = [:],
  _ body: (RelayRun, ScriptedAgent, TestDirectory) throws -> Void
) throws {
  try withTestDirectory { directory in
    let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
    let relay = try RelayRun(
      ["--agent", "\(agent.address)"] + arguments, in: directory, environment: environment)
    defer { relay.process.end() }
    try body(relay, agent, directory)
  }
}

/// The same, with a picture that has come on its first link, and a consumer that has read so.
func withLiveLink(
  _ body: (RelayRun, ScriptedAgent, ScriptedPeer, ScriptedPeer) throws -> Void
) throws {
  try withRelay { relay, agent, _ in
    let consumer = try ScriptedPeer.consumer(of: relay.consumers)
    let link = try agent.begin()
    try makeLive(link, consumer)
    try body(relay, agent, link, consumer)
  }
}

/// Has a picture come, and waits until the consumer has read so.
func makeLive(_ link: ScriptedPeer, _ consumer: ScriptedPeer) throws {
  try link.sendPacket([0, 0, 0, 1, 0x65], pts: MonotonicClock.now(), isKeyframe: true)
  try consumer.receiveState(.live)
}
