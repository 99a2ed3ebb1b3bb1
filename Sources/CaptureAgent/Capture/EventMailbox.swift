import PipeWire

/// Carries a source's events out of the callbacks in which they come up, so that their reader may
/// stop the source. Loop thread only.
final class EventMailbox {
  private var waiting: [SourceEvent] = []
  private var event: EventSource?
  private let deliver: (SourceEvent) -> Void

  /// `deliver` is called from the loop, outside of any library's callback.
  init(loop: Loop, deliver: @escaping (SourceEvent) -> Void) throws(PipeWireError) {
    self.deliver = deliver
    event = try loop.addEvent { [weak self] in self?.empty() }
  }

  deinit { event?.remove() }

  /// Delivers soon; nothing that comes after an end, which others of the same cause may follow.
  func post(_ new: SourceEvent) {
    if case .ended = waiting.last { return }
    waiting.append(new)
    event?.signal()
  }

  /// Drops what was not delivered yet, and what comes.
  func close() {
    waiting = []
    event?.remove()
    event = nil
  }

  private func empty() {
    while !waiting.isEmpty { deliver(waiting.removeFirst()) }
  }
}
