import TestSupport

/// How a process's private memory went, second by second.
struct Growth: CustomStringConvertible {
  private var samples: [(hours: Double, kB: Double)] = []
  private var dataKB: Set<Int> = []

  mutating func add(_ footprint: ProcessFootprint, second: Int) {
    samples.append((Double(second) / 3600, Double(footprint.privateKB)))
    dataKB.insert(footprint.dataKB)
  }

  /// Whether nothing more was mapped to be written to, and nothing grew. A page or two of 4 kB make any
  /// slope in so short a time as the default takes.
  var isFlat: Bool { dataKB.count == 1 && (isLongRun ? slope < 100 : grown <= 16) }

  var description: String {
    "\(Int(grown)) kB more private memory, \(Int(slope)) kB an hour; \(dataKB.sorted()) kB of data"
  }

  private var grown: Double { (samples.last?.kB ?? 0) - (samples.first?.kB ?? 0) }

  /// Of the straight line that is nearest to the samples, by least squares.
  private var slope: Double {
    let count = Double(samples.count)
    let meanHours = samples.reduce(0) { $0 + $1.hours } / count
    let meanKB = samples.reduce(0) { $0 + $1.kB } / count
    let spread = samples.reduce(0) { $0 + ($1.hours - meanHours) * ($1.hours - meanHours) }
    return samples.reduce(0) { $0 + ($1.hours - meanHours) * ($1.kB - meanKB) } / spread
  }
}
