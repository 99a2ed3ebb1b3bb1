import PipeWire

/// Whether a source gives nothing but broken pictures: told once they have come for two seconds without a
/// whole one among them, and told again when one comes. Loop thread only.
final class BrokenSpell {
  private static let patience = Duration.seconds(2)

  private var timer: TimerSource?
  private var isOn = false
  private var isTold = false
  private let tell: (_ isBroken: Bool) -> Void

  init(loop: Loop, tell: @escaping (_ isBroken: Bool) -> Void) throws(PipeWireError) {
    self.tell = tell
    timer = try loop.addTimer { [unowned self] in
      isTold = true
      self.tell(true)
    }
  }

  func sawBroken() {
    guard !isOn else { return }
    isOn = true
    timer?.arm(after: Self.patience)
  }

  func sawWhole() {
    guard isOn else { return }
    isOn = false
    timer?.disarm()
    guard isTold else { return }
    isTold = false
    tell(false)
  }
}
