import PipeWire
import VAAPI

/// What the agent will hold, pool by pool, added up before anything is made.
struct MemoryBudget: Equatable, Sendable {
  /// So many pieces of one size.
  struct Pool: Equatable, Sendable {
    let name: String
    let count: Int
    let byteCount: Int
    /// Private and written to: it counts to data as well as to addresses.
    let isData: Bool

    var total: Int { count * byteCount }
  }

  /// A plan that takes more of the limit than this is refused: the rest is for what nobody plans,
  /// and for the steps that are taken when memory gets scarce.
  static let largestShare = 0.88

  let pools: [Pool]
  let tier: MemoryTier
  let limit: Int

  /// By the tier's count.
  var planned: Int { tier == .address ? amount.address : amount.data }
  var isWithinLimit: Bool { Double(planned) <= Double(limit) * Self.largestShare }

  /// By both counts.
  var amount: MemoryLadder.Amount {
    MemoryLadder.Amount(
      data: pools.reduce(0) { $0 + ($1.isData ? $1.total : 0) },
      address: pools.reduce(0) { $0 + $1.total })
  }

  /// The plan of an agent with this encoder; nil stands for one that has no picture yet.
  init(
    configuration: EncoderConfiguration?, tier: MemoryTier, limit: Int, sounds: Int = 0,
    camera: EncoderConfiguration? = nil
  ) {
    self.tier = tier
    self.limit = limit
    var pools: [Pool] = []
    func add(_ name: String, count: Int = 1, bytes: Int, isData: Bool = false) {
      pools.append(Pool(name: name, count: count, byteCount: bytes, isData: isData))
    }
    add("code and libraries", bytes: Self.codeKB << 10)
    add("their data", bytes: Self.ownDataKB << 10, isData: true)
    add("thread stack", count: 2, bytes: MemoryLimits.threadStackByteCount, isData: true)
    add("reserve of the allocation guard", bytes: AllocationGuard.reserveByteCount, isData: true)
    func add(picturesOf configuration: EncoderConfiguration, _ whose: String) {
      func add(_ name: String, count: Int = 1, bytes: Int, isData: Bool = false) {
        pools.append(Pool(name: whose + name, count: count, byteCount: bytes, isData: isData))
      }
      let geometry = configuration.geometry
      let stripe = FrameConverter.stripeByteCount(width: geometry.frame.width)
      if configuration.takesJPEGs {
        // Samples are written by bands, and then read by stripes.
        let band = JPEGLayout.largestBandByteCount(width: geometry.frame.width)
        add("stripe of a frame, or band of a JPEG", bytes: max(stripe, band))
        add("JPEG decoder", bytes: JPEGDecoder.byteCount, isData: true)
        add("libjpeg", bytes: JPEGDecoder.codeByteCount)
      } else {
        add("stripe of a frame", bytes: stripe)
      }
      if configuration.mappedByteCount > 0 {
        add("buffers that are mapped whole", bytes: configuration.mappedByteCount)
      }
      if configuration.takesAnyFormat {
        add("unpacked rows", bytes: FrameRows.byteCount(width: geometry.frame.width), isData: true)
      }
      if geometry.isScaled {
        add("scaled rows", bytes: FrameScaler.byteCount(geometry: geometry), isData: true)
      }
      if configuration.drawsCursor {
        add(
          "description of the cursor", count: Stream.bufferCount,
          bytes: Stream.largestCursorByteCount)
        // What the encoder draws, the newest, and the one that is being read.
        add("cursor", count: 3, bytes: CursorShape.largestByteCount, isData: true)
        add(
          "cursor in the picture", bytes: CursorOverlay.byteCount(geometry: geometry), isData: true)
      }
      if configuration.display == .none {
        let driver = SoftwareDriverPlan(configuration)
        add("tables of the software driver", bytes: driver.tableByteCount, isData: true)
        if driver.keepsSurfaces {
          add("NV12 surface", count: 3, bytes: configuration.surfaceByteCount)
        } else {
          add("NV12 surface, whole or by windows", bytes: driver.windowByteCount)
        }
        add("coded buffer", bytes: configuration.codedBufferByteCount)
      }
    }
    if let configuration { add(picturesOf: configuration, "") }
    if let camera {
      add("camera: thread stack", bytes: 2 * MemoryLimits.threadStackByteCount, isData: true)
      add("camera: what PipeWire takes", bytes: Self.cameraKB << 10, isData: true)
      add(picturesOf: camera, "camera: ")
    }
    if sounds > 0 {
      add("libraries for sound", bytes: Self.soundCodeKB << 10)
      add("sound: converter and encoder", count: sounds, bytes: Self.soundKB << 10, isData: true)
    }
    self.pools = pools
  }

  /// Of the tier and the limit that the options name.
  init(
    options: Options, configuration: EncoderConfiguration?, sounds: Int? = nil,
    camera: EncoderConfiguration? = nil
  ) {
    self.init(
      configuration: configuration, tier: options.memoryTier, limit: options.memoryLimit,
      sounds: sounds ?? options.sounds.count, camera: camera)
  }

  /// Measured on a release build that captures through the portal: VmPeak and VmData less what is
  /// planned beside them.
  private static let soundKB = 5_000
  private static let cameraKB = 600
  private static let soundCodeKB = 1_300
  private static let codeKB = 15_230
  private static let ownDataKB = 1_700

  /// One line a pool that counts, and the sum: what `--explain-memory` prints.
  var lines: [String] {
    func kB(_ bytes: Int) -> String { "\((bytes + 1023) >> 10) kB" }
    let rows = counted.map { "\($0.name): \($0.count) x \(kB($0.byteCount)) = \(kB($0.total))" }
    return rows + [
      "planned: \(kB(planned)) of \(kB(limit)) in the \(tier.rawValue) tier, at most \(kB(largest))"
    ]
  }

  /// Why the plan is refused, in one line.
  var refusal: String {
    let sum = counted.map { "\($0.name) \($0.total >> 10)" }.joined(separator: " + ")
    return "the memory plan does not fit: \(sum) = \(planned >> 10) kB, of \(limit >> 10) kB at "
      + "most \(largest >> 10): choose a smaller --size or a larger --memory-limit"
  }

  private var counted: [Pool] { pools.filter { tier == .address || $0.isData } }
  private var largest: Int { Int(Double(limit) * Self.largestShare) }
}

/// What the software driver takes for a picture size; a device keeps surfaces in memory of its own.
struct SoftwareDriverPlan {
  /// Surfaces up to this stay mapped, as the driver has it.
  static let keptByteCount = 4 << 20
  // For each macroblock 38 bytes of what was coded and of two reconstructions; and code tables.
  private static let macroblockByteCount = 38
  private static let fixedByteCount = 600 << 10
  // Of source, target and reference together.
  private static let windowRows = 1488

  let tableByteCount: Int
  /// Whether the input and two reconstructions stay mapped.
  let keepsSurfaces: Bool
  /// Else the input is mapped while a frame is written into it, and at another time windows of all
  /// three while a picture is coded.
  let windowByteCount: Int

  init(_ configuration: EncoderConfiguration) {
    let macroblocks = configuration.codedWidth * configuration.codedHeight / 256
    tableByteCount = macroblocks * Self.macroblockByteCount + Self.fixedByteCount
    keepsSurfaces = configuration.surfaceByteCount <= Self.keptByteCount
    windowByteCount = max(
      configuration.surfaceByteCount, Self.windowRows * configuration.codedWidth * 3 / 2)
  }
}
