import CVA

/// What libva and the driver say of a display, which would go to standard error otherwise: errors
/// are kept for whoever reports them, the rest is dropped.
final class Messages {
  private var last = ""

  /// Takes the messages of `display`, for as long as it lives: no longer than this object.
  func take(from display: VADisplay) {
    unsafe vaSetInfoCallback(display, nil, nil)
    unsafe vaSetErrorCallback(display, keepMessage, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The error and the last message since the one before it was asked for, in one line.
  func explained(_ error: VAError) -> String {
    defer { last = "" }
    return last.isEmpty ? "\(error)" : "\(error): \(last)"
  }

  fileprivate func put(_ message: UnsafePointer<CChar>) {
    let text = unsafe String(cString: message)
    last = String(text.split(whereSeparator: \.isNewline).joined(separator: "; "))
  }
}

/// Called by libva, on the thread whose call it is about.
private func keepMessage(
  _ messages: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?
) {
  guard let messages = unsafe messages, let text = unsafe text else { return }
  unsafe Unmanaged<Messages>.fromOpaque(messages).takeUnretainedValue().put(text)
}
