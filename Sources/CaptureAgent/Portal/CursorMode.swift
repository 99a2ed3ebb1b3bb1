/// How the portal is asked for the pointer (`cursor_mode`).
enum CursorMode: UInt32 {
  case hidden = 1
  case embedded = 2
  case metadata = 4

  /// What the wish asks for, of a desktop that has the modes whose bits are in `offered`; nil asks for
  /// nothing, which stands for hidden.
  init?(_ wish: Options.CursorWish, among offered: UInt32) {
    let modes: [CursorMode] =
      switch wish {
      case .embedded: [.embedded]
      case .hidden: [.hidden]
      case .drawn: [.metadata, .embedded]
      }
    guard let mode = modes.first(where: { offered & $0.rawValue != 0 }) else { return nil }
    self = mode
  }
}
