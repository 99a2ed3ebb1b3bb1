/// Why a broadcast, a link or a connection ended; goes with a text for people.
package enum FinishCode: UInt16, CaseIterable, Sendable {
  /// Ended as wanted: `finish`, Ctrl-C, the end of `--for`.
  case finished = 0
  /// The user took the permission back.
  case revoked = 1
  /// The screen, window or camera went away.
  case sourceEnded = 2
  /// The portal said no, or the user did.
  case refused = 3
  /// Something that is needed is not there: PipeWire, the portal, a device.
  case unavailable = 4
  case memory = 5
  /// No agent within the hold time.
  case agentLost = 6
  case failed = 7
  // The next ones refuse or close a single connection.
  case notAllowed = 16
  case busy = 17
  case otherVersion = 18
  case protocolError = 19
  case tooSlow = 20
  case silent = 21
  case wrongUse = 22

  /// The word of documents, logs and the status.
  package var word: String {
    switch self {
    case .finished: "finished"
    case .revoked: "revoked"
    case .sourceEnded: "source-ended"
    case .refused: "refused"
    case .unavailable: "unavailable"
    case .memory: "memory"
    case .agentLost: "agent-lost"
    case .failed: "failed"
    case .notAllowed: "not-allowed"
    case .busy: "busy"
    case .otherVersion: "other-version"
    case .protocolError: "protocol-error"
    case .tooSlow: "too-slow"
    case .silent: "silent"
    case .wrongUse: "wrong-use"
    }
  }
}
