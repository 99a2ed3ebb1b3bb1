internal import CVA

/// What this driver shows of another one, so that a client's other branches can be tried on it.
/// As it stands, the driver offers all it can.
struct Personality: Equatable {
  /// The words that made it.
  var name = ""
  /// Encoding entrypoints, in the order that they are listed.
  var entrypoints = [VAEntrypointEncSlice, VAEntrypointEncSliceLP]
  /// Rate control of EncSlice and of EncSliceLP, in bits of VAConfigAttribRateControl.
  var rateControl = UInt32(VA_RC_CQP | VA_RC_CBR | VA_RC_VBR)
  var lowPowerRateControl = UInt32(VA_RC_CQP | VA_RC_CBR | VA_RC_VBR)
  var packedHeaders = PackedHeaderKinds.all
  var headers = HeaderStyle.described
  var hasSyncBuffer = true
  var hasSyncSurface2 = true
  /// A coded buffer comes as one segment for each NAL unit.
  var splitsSegments = false
  /// A coded buffer that is too small says so by its status alone, when it is mapped.
  var overflowsByStatus = false
  /// `vaDeriveImage` works; without it a client copies through images of its own.
  var derivesImages = true

  /// Where the headers come from that the client does not bring.
  enum HeaderStyle {
    /// From its parameter structures.
    case described
    /// From Mesa 22.3.6, which follows them only in part and takes no slice header.
    case mesa22
    /// A slice without a header of the client's has the NAL unit byte 0, as in Mesa 25.
    case needsSlice
  }

  func rateControl(of entrypoint: VAEntrypoint) -> UInt32 {
    entrypoint == VAEntrypointEncSliceLP ? lowPowerRateControl : rateControl
  }
}

extension Personality {
  /// From words with commas between them, each laid over the ones before; nil for an unknown one.
  init?(words: String) {
    for word in words.split(separator: ",") {
      guard let change = Self.changes[String(word)] else { return nil }
      change(&self)
    }
    name = words
  }

  /// The drivers that it can stand in for, then single traits of drivers.
  private static let changes: [String: @Sendable (inout Personality) -> Void] = [
    // iHD with the shaders or HuC firmware that rate control runs on.
    "intel": {
      $0.rateControl |= UInt32(VA_RC_ICQ | VA_RC_QVBR)
      $0.lowPowerRateControl |= UInt32(VA_RC_QVBR)
      $0.overflowsByStatus = true
    },
    // iHD without either: the fixed-function encoder alone, with constant QP alone.
    "intel-cqp": {
      $0.entrypoints = [VAEntrypointEncSliceLP]
      $0.lowPowerRateControl = UInt32(VA_RC_CQP)
      $0.overflowsByStatus = true
    },
    // Mesa 22.3.6, which Debian 12 has.
    "amd-old": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.packedHeaders = []
      $0.headers = .mesa22
      $0.hasSyncSurface2 = false
    },
    // Mesa 24: parameter sets are taken, slice headers are not.
    "amd-24": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.packedHeaders = .sequence
    },
    // Mesa 25, which writes no slice header of its own.
    "amd-new": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.headers = .needsSlice
    },
    // Drivers older than VA-API 1.9.
    "sync-old": {
      $0.hasSyncBuffer = false
      $0.hasSyncSurface2 = false
    },
    "segments": { $0.splitsSegments = true },
    "no-derive": { $0.derivesImages = false },
    // A driver built without encoders lists profiles, and nothing but decoding for them.
    "decode-only": { $0.entrypoints = [VAEntrypointVLD] },
  ]
}
