import PipeWire

extension Options {
  /// The source that was chosen, not started yet. `modifiers` are those of dma-bufs that the encoder reads.
  func makeSource(
    on loop: Loop, into slot: FrameSlot, modifiers: [UInt64],
    onEvent: @escaping (SourceEvent) -> Void
  ) -> any ScreenSource {
    switch source {
    case .pattern:
      return TestPatternSource(
        loop: loop, slot: slot, width: patternSize.width, height: patternSize.height,
        framesPerSecond: framesPerSecond, onEvent: onEvent)
    case .node(let name):
      return PipeWireSource(
        loop: loop, slot: slot, target: .nameOrSerial(name), frameRate: framesPerSecond,
        modifiers: modifiers, asksForCursor: cursor == .drawn, onEvent: onEvent)
    case .camera(let name):
      return CameraSource(
        loop: loop, slot: slot, wish: cameraWish(name: name), onEvent: onEvent)
    case .portal:  // Which kind of it, the wishes say.
      let wishes = ScreenCastPortal.Wishes(self)
      if asksAnew { wishes.token?.remove() }
      return PortalSource(
        loop: loop, slot: slot, wishes: wishes, frameRate: framesPerSecond, modifiers: modifiers,
        onEvent: onEvent)
    }
  }
}
