extension Message {
  /// The message as it goes on the wire: header and payload in one piece.
  package func encoded() -> [UInt8] {
    var fields = FieldWriter()
    var stream: UInt32 = 0
    switch self {
    case .greeting(let greeting): greeting.write(to: &fields)
    case .refusal(let code, let text), .finished(let code, let text):
      fields.put(code.rawValue)
      fields.put(text)
    case .heartbeat(let time, let echo):
      fields.put(time)
      fields.put(echo)
    case .started(let setup):
      fields.put(setup.name)
      fields.put(setup.source)
      fields.put(setup.driver)
    case .streamDescription(let number, let description):
      stream = number
      description.write(to: &fields)
    case .figures(let figures): figures.write(to: &fields)
    case .memoryStep(let step, let text):
      fields.put(step.rawValue)
      fields.put(text)
    case .sourceState(let source, let state, let text):
      fields.put(source.rawValue)
      fields.put(state.rawValue)
      fields.put(text)
    case .sessionState(let state, let session, let epoch, let text):
      fields.put(state.rawValue)
      fields.put(session)
      fields.put(epoch)
      fields.put(text)
    case .keyframeRequest(let number): stream = number
    case .finish(let reason): fields.put(reason)
    case .bitrate(let number, let rate):
      stream = number
      fields.put(rate)
    case .sound(let source, let isOn):
      fields.put(source.rawValue)
      fields.put(UInt8(isOn ? 1 : 0))
    case .acknowledgement(let packets): fields.put(packets)
    case .audience(let readers, let containers):
      fields.put(readers)
      fields.put(containers)
    case .paused(let reasons), .pause(let reasons): fields.put(reasons.rawValue)
    case .resumed, .resume: break
    }
    var bytes = fields.bytes
    let header = MessageHeader(
      kind: kind, stream: stream, length: bytes.count - MessageHeader.byteCount)
    var span = bytes.mutableSpan
    header.write(to: &span)
    return bytes
  }
}
