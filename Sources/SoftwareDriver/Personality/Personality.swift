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

  /// What of a client's memory can be a surface; nil for nothing.
  var imports: Imports? = Imports()

  struct Imports: Equatable {
    /// DRM_FORMAT_MOD_* that are taken. No device tiles memory here, so all of them are read as linear.
    var modifiers = [DRMModifier.linear]
    /// Whether `vaQuerySurfaceAttributes` names DRM_PRIME_2.
    var isListed = true
  }

  /// What the video processor does; nil where there is none.
  var processing: Processing? = Processing()

  struct Processing: Equatable {
    var rotates = true
    var mirrors = true
    var colour = Colour.asAsked
    /// The source is read when the target is used, and not before, whatever was waited for.
    var isLate = false

    /// By which standard RGB becomes NV12: the one of the output, always BT.709, or the one that the
    /// client says the input has.
    enum Colour { case asAsked, bt709, ofInput }
  }

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

  /// Linear, then X, Y, Yf and 4 tiled.
  private static let intelModifiers: [UInt64] =
    [DRMModifier.linear] + [1, 2, 3, 9].map { 1 << 56 | $0 }

  /// The drivers that it can stand in for, then single traits of drivers.
  private static let changes: [String: @Sendable (inout Personality) -> Void] = [
    // iHD with the shaders or HuC firmware that rate control runs on.
    "intel": {
      $0.rateControl |= UInt32(VA_RC_ICQ | VA_RC_QVBR)
      $0.lowPowerRateControl |= UInt32(VA_RC_QVBR)
      $0.overflowsByStatus = true
      $0.imports?.modifiers = intelModifiers
    },
    // iHD without either: the fixed-function encoder alone, with constant QP alone.
    "intel-cqp": {
      $0.entrypoints = [VAEntrypointEncSliceLP]
      $0.lowPowerRateControl = UInt32(VA_RC_CQP)
      $0.overflowsByStatus = true
      $0.imports = Imports(modifiers: intelModifiers, isListed: false)
    },
    // Mesa 22.3.6, which Debian 12 has.
    "amd-old": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.packedHeaders = []
      $0.headers = .mesa22
      $0.hasSyncSurface2 = false
      $0.processing = Processing(rotates: false, mirrors: false, colour: .bt709)
    },
    // Mesa 24: parameter sets are taken, slice headers are not.
    "amd-24": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.packedHeaders = .sequence
      $0.processing?.colour = .ofInput
    },
    // Mesa 25, which writes no slice header of its own.
    "amd-new": {
      $0.entrypoints = [VAEntrypointEncSlice]
      $0.headers = .needsSlice
      $0.processing?.colour = .ofInput
    },
    // Drivers older than VA-API 1.9.
    "sync-old": {
      $0.hasSyncBuffer = false
      $0.hasSyncSurface2 = false
    },
    // i965 takes no DRM_PRIME_2 at all.
    "no-import": { $0.imports = nil },
    "no-processor": { $0.processing = nil },
    "no-rotation": { $0.processing?.rotates = false },
    // AMD's encoder may read what the processor was given in the place of what it made.
    "late-processor": { $0.processing?.isLate = true },
    "no-mirror": { $0.processing?.mirrors = false },
    "segments": { $0.splitsSegments = true },
    "no-derive": { $0.derivesImages = false },
    // A driver built without encoders lists profiles, and nothing but decoding for them.
    "decode-only": { $0.entrypoints = [VAEntrypointVLD] },
  ]
}
