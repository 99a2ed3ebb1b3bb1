import CaptureSupport
import TestSupport

/// A screen that draws, and a broadcast of it. Ends with what holds of each: PipeWire's calls wait for
/// nothing, so that none takes as long as a frame.
func withDrawnScreen(
  size: (Int, Int), agent: [String] = [], rate: Double = 30,
  offer: ScreenProducer.Offer = .init(), driver: [String: String] = [:],
  _ body: (DrawnScreen, Broadcast, TestDirectory) throws -> Void
) throws {
  try withTestDirectory { directory in
    let pauses = MachinePauses()
    let daemon = try PipeWireDaemon(in: directory)
    let screen = try DrawnScreen(on: daemon, width: size.0, height: size.1, offer: offer)
    defer { screen.end() }
    screen.change { $0.rate = rate }
    let broadcast = try Broadcast(
      in: directory, agent: ["--source", "node:drawn"] + agent,
      driver: daemon.environment.merging(driver) { $1 })
    try broadcast.waitUntilLive()
    try body(screen, broadcast, directory)
    try broadcast.expectQuickCallbacks(but: pauses)
    broadcast.end()
  }
}
