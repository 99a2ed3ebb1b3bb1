import PipeWire
import Report
import Wire

/// The screen, or what is broadcast in its place: the stream that the broadcast stands and falls with. Loop
/// thread only.
final class MainScreen {
  /// What the pipeline does for it.
  struct Outlet {
    let send: (Message) -> Void
    /// Why pictures of this format do not fit the memory plan; nil when they do.
    let refusal: (SourceFormat) -> String?
    /// Pictures of another format come; of another size, where it says so.
    let changed: (_ isResized: Bool) -> Void
    let ended: (SourceEnd) -> Void
  }

  let track: VideoTrack
  private let options: Options
  private let loop: Loop
  /// Of dma-bufs that the driver reads.
  private let modifiers: [UInt64]
  private let desktop: DesktopPresence
  private let outlet: Outlet
  /// Of the monitor that is shown, where the portal tells it.
  private var place: MonitorLayout.Place?
  private var size = (width: 0, height: 0)
  /// Why no pictures are shown though the source is there; empty while they are.
  private var loss = ""

  /// `onEvent` is told of its track, and hands the source's events to `take`.
  init(
    _ options: Options, loop: Loop, modifiers: [UInt64], desktop: DesktopPresence,
    onEvent: @escaping (VideoTrack.Event) -> Void, outlet: Outlet
  ) throws(PipeWireError) {
    track = try VideoTrack(.screen, loop: loop, onEvent: onEvent)
    self.options = options
    self.loop = loop
    self.modifiers = modifiers
    self.desktop = desktop
    self.outlet = outlet
  }

  /// Begins, unless it has begun.
  func start() {
    track.startSource { [options, loop, modifiers, slot = track.frames] onEvent in
      options.makeSource(on: loop, into: slot, modifiers: modifiers, onEvent: onEvent)
    }
  }

  /// Tells a relay that has just come of a loss.
  func announce() {
    if !loss.isEmpty { tell() }
  }

  func take(_ event: SourceEvent) {
    switch event {
    case .format(let format): take(format)
    case .placed(let place): self.place = place
    case .suspended(let isSuspended): desktop.screenSuspended(isSuspended)
    case .broken(let isBroken):
      loss = isBroken ? "its source gives no whole pictures" : ""
      Log.note(isBroken ? "the screen is lost: \(loss)" : "the screen's pictures are whole again")
      tell()
    case .ended(let end): outlet.ended(end)
    }
  }

  private func take(_ format: SourceFormat) {
    if let refusal = outlet.refusal(format) {
      return outlet.ended(SourceEnd(code: .memoryLimit, text: refusal))
    }
    let isResized = size != (format.width, format.height)
    size = (format.width, format.height)
    if isResized {
      Log.note("capturing \(size.width)x\(size.height)")
      tellDesktop()
    }
    outlet.changed(isResized)
  }

  /// A node says nothing of where it is from; the portal does, but of a window.
  private func tellDesktop() {
    if case .node = options.source {
      desktop.screenShown(at: nil, size: size)
    } else if let place {
      desktop.screenShown(at: place, size: size)
    }
  }

  private func tell() {
    outlet.send(.sourceState(.screen, loss.isEmpty ? .on : .lost, loss))
  }
}
