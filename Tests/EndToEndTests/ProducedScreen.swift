import CaptureSupport
import TestSupport

/// A screen that draws, and a broadcast of it, with a beep at each whole second of CLOCK_MONOTONIC where it
/// `beeps`. Ends with what holds of each: PipeWire's calls wait for nothing, so that none takes as long as a
/// frame.
func withDrawnScreen(
  size: (Int, Int), agent: [String] = [], rate: Double = 30, beeps: Bool = false,
  offer: ScreenProducer.Offer = .init(), driver: [String: String] = [:],
  picture: (@Sendable (Int) -> ScreenProducer.Picture)? = nil,
  _ body: (DrawnScreen, Broadcast, TestDirectory) throws -> Void
) throws {
  try withTestDirectory { directory in
    let pauses = MachinePauses()
    let daemon = try PipeWireDaemon(in: directory)
    let screen = try DrawnScreen(on: daemon, width: size.0, height: size.1, offer: offer)
    defer { screen.end() }
    screen.change {
      $0.rate = rate
      if let picture { $0.picture = picture }
    }
    let player = beeps ? try beepPlayer(on: daemon, in: directory) : nil
    defer { withExtendedLifetime(player) {} }
    let broadcast = try Broadcast(
      in: directory,
      agent: ["--source", "node:drawn"] + (beeps ? ["--audio", "app:beeper"] : []) + agent,
      driver: daemon.environment.merging(driver) { $1 })
    try broadcast.waitUntilLive()
    if beeps { try broadcast.waitForSounds(["app": "on"]) }
    try body(screen, broadcast, directory)
    try broadcast.expectQuickCallbacks(but: pauses)
    broadcast.end()
  }
}

/// Beeps into an output that it makes, `beeper`.
private func beepPlayer(
  on daemon: PipeWireDaemon, in directory: TestDirectory
) throws -> BeepPlayer {
  let node = """
    { factory.name=support.null-audio-sink node.name=beeper media.class=Audio/Sink object.linger=true
    audio.position=[FL FR] }
    """
  let made = try ProcessRun.run(
    "pw-cli", ["create-node", "adapter", node], environment: daemon.environment, in: directory)
  guard made.exitCode == 0 else { throw ProcessFailure(description: made.errors) }
  return try BeepPlayer(remote: daemon.connect(), sink: "beeper")
}
