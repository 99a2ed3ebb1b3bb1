import PipeWire
import Posix
import Report
import Wire

/// The camera beside a screen: a stream that comes when the screen's size is known and the memory plan has
/// room for it, that may go, and that comes back by itself. Loop thread only.
final class SideCamera {
  /// What the pipeline does for it.
  struct Outlet {
    let send: (Message) -> Void
    /// Why a camera of this kind does not fit the memory plan; nil when it does.
    let refusal: (SourceFormat) -> String?
    /// It takes its memory from now on, or has given it back.
    let changed: () -> Void
  }

  // A camera that went is looked for so often; one that comes and goes again and again up to 8 times more seldom.
  private static let retryPause: Int64 = 2_000_000_000
  private static let mostFlaps = 4

  let track: VideoTrack
  private let wish: CameraWish
  private let loop: Loop
  private let outlet: Outlet
  private var state = SourceState.off
  private var text = ""
  /// It gives frames, or is about to, and takes memory for them.
  private var hasFormat = false
  /// It is on, and gives no whole pictures.
  private var isBroken = false
  /// When it is tried again; nil: it is not.
  private var retry: Int64?
  private var hasBegun = false
  /// How often it went soon after it had come.
  private var flaps = 0
  private var began: Int64 = 0

  /// nil where no camera is wished for. `onEvent` is told of its track.
  init?(
    _ wish: CameraWish?, loop: Loop, onEvent: @escaping (VideoTrack.Event) -> Void, outlet: Outlet
  ) throws(PipeWireError) {
    guard let wish else { return nil }
    self.wish = wish
    track = try VideoTrack(.camera, loop: loop, onEvent: onEvent)
    self.loop = loop
    self.outlet = outlet
  }

  /// Of its pictures; nil while it takes no memory.
  var format: SourceFormat? { hasFormat ? track.format : nil }

  /// The screen's size is known.
  func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    become(.off, "no picture yet")
    let wanted = SourceFormat(width: wish.size.width, height: wish.size.height)
    if let refusal = outlet.refusal(wanted) { return lose(refusal) }
    start()
  }

  /// Once a second.
  func tick(now: Int64) {
    guard let retry, now >= retry else { return }
    self.retry = nil
    track.forgetSource()
    start()
  }

  /// Tells a relay that has just come how it stands.
  func announce() {
    guard hasBegun else { return }
    let (state, text) = isBroken ? (.lost, "the camera gives no whole pictures") : (state, text)
    outlet.send(.sourceState(.camera, state, text))
  }

  func take(_ event: SourceEvent) {
    switch event {
    case .format(let format):
      if !hasFormat { began = MonotonicClock.now() }
      hasFormat = true
      // Its first frames may have come before.
      if let refusal = outlet.refusal(format) {
        track.stopSource()
        return lose(refusal)
      }
      outlet.changed()
    case .placed, .suspended: break  // One that stops has ended.
    case .broken(let isBroken):
      self.isBroken = isBroken
      announce()
    case .ended(let end):
      let now = MonotonicClock.now()
      if hasFormat {
        flaps = now - began < Self.retryPause << 4 ? min(flaps + 1, Self.mostFlaps) : 0
      }
      lose(end.text)
      // Who said no is not asked again.
      if end.code != .notAllowed { retry = now + Self.retryPause << max(0, flaps - 1) }
    }
  }

  /// There is a picture of it: only then it is on.
  func tookPicture() {
    if hasFormat { become(.on, "") }
  }

  /// Its encoder cannot go on.
  func fail(_ text: String) {
    track.stopSource()
    retry = nil
    lose(text)
  }

  private func start() {
    track.startSource { [loop, wish, slot = track.frames] onEvent in
      CameraSource(loop: loop, slot: slot, wish: wish, onEvent: onEvent)
    }
  }

  private func lose(_ text: String) {
    if hasFormat {
      hasFormat = false
      track.rest()
      outlet.changed()
    }
    become(.lost, text)
  }

  private func become(_ state: SourceState, _ text: String) {
    guard (state, text) != (self.state, self.text) else { return }
    self.state = state
    self.text = text
    isBroken = false
    Log.note("camera \(state.word)\(text.isEmpty ? "" : ": \(text)")")
    announce()
  }
}
