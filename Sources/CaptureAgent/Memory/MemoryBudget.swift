import VAAPI

/// What the agent will hold, pool by pool, added up before anything is made.
struct MemoryBudget: Equatable, Sendable {
  /// So many pieces of one size.
  struct Pool: Equatable, Sendable {
    let name: String
    let count: Int
    let byteCount: Int

    var total: Int { count * byteCount }
  }

  /// A plan that takes more of the limit than this is refused: the rest is for what nobody plans,
  /// and for the steps that are taken when memory gets scarce.
  static let largestShare = 0.88

  let pools: [Pool]
  let limit: Int

  var planned: Int { pools.reduce(0) { $0 + $1.total } }
  var isWithinLimit: Bool { Double(planned) <= Double(limit) * Self.largestShare }

  /// The plan of an agent that encodes in software: what it holds counts whole in either tier, but
  /// code and mapped frames only where addresses are counted.
  init(configuration: EncoderConfiguration, tier: MemoryTier, limit: Int) {
    self.limit = limit
    var pools: [Pool] = []
    func add(_ name: String, count: Int = 1, kB: Int) {
      pools.append(Pool(name: name, count: count, byteCount: kB << 10))
    }
    let stripe = configuration.width * 4 * FrameConverter.stripeRows
    switch tier {
    case .address:
      add("code, libraries and their data", kB: Self.codeKB)
      add("stripe of a frame", kB: stripe >> 10)
    case .data:
      add("data of the code and the libraries", kB: Self.ownDataKB)
    }
    add("thread stack", count: 2, kB: MemoryLimits.threadStackByteCount >> 10)
    add("reserve of the allocation guard", kB: AllocationGuard.reserveByteCount >> 10)
    if configuration.display == .none {
      // Input, and two reconstructions by turns; a device keeps them in memory of its own.
      add("NV12 surface", count: 3, kB: configuration.surfaceByteCount >> 10)
      add("tables of the software driver", kB: Self.driverKB)
    }
    add("coded buffer", kB: configuration.codedBufferByteCount >> 10)
    self.pools = pools
  }

  /// Measured on a release build that captures through the portal: VmPeak and VmData less what is
  /// planned beside them.
  private static let codeKB = 24_700
  private static let ownDataKB = 2_000
  private static let driverKB = 2_000

  /// One line a pool, and the sum: what `--explain-memory` prints.
  var lines: [String] {
    func kB(_ bytes: Int) -> String { "\((bytes + 1023) >> 10) kB" }
    let rows = pools.map { "\($0.name): \($0.count) x \(kB($0.byteCount)) = \(kB($0.total))" }
    return rows + ["planned: \(kB(planned)) of \(kB(limit)), at most \(kB(largest))"]
  }

  /// Why the plan is refused, in one line.
  var refusal: String {
    let sum = pools.map { "\($0.name) \($0.total >> 10)" }.joined(separator: " + ")
    return "the memory plan does not fit: \(sum) = \(planned >> 10) kB, of \(limit >> 10) kB at "
      + "most \(largest >> 10): choose a smaller --size or a larger --memory-limit"
  }

  private var largest: Int { Int(Double(limit) * Self.largestShare) }
}
