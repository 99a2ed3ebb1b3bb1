internal import Bitstream

/// The states of CABAC's contexts, and how they move, in memory of the workspace.
@safe struct CABACStates {
  /// By context: pStateIdx * 2 + valMPS.
  private let states: UnsafeMutablePointer<UInt8>
  private let copy: UnsafeMutablePointer<UInt8>
  /// The state behind each bin, by state * 2 + bin.
  private let next: UnsafePointer<UInt8>
  /// By pStateIdx * 4 + qCodIRangeIdx: rangeTabLPS, from bit 8 on how far it has to be shifted to be a
  /// range again, from bit 16 on what that makes of it.
  private let parts: UnsafePointer<UInt32>

  static let byteCount = 2 * contextCount + 256 + 4 * 256
  /// More than `CABACContexts.count`, so that all that follows is aligned.
  private static let contextCount = 512

  /// Lives no longer than `memory`, of `byteCount` bytes.
  @unsafe init(memory: UnsafeMutableRawPointer) {
    let bytes = unsafe memory.bindMemory(to: UInt8.self, capacity: 2 * Self.contextCount + 256)
    unsafe states = bytes
    unsafe copy = bytes + Self.contextCount
    let next = unsafe bytes + 2 * Self.contextCount
    for state in UInt8(0)..<128 {
      for bin in UInt8(0)..<2 {
        unsafe next[Int(state) * 2 + Int(bin)] = CABACTables.next(
          state, isLess: state & 1 != bin)
      }
    }
    unsafe self.next = UnsafePointer(next)
    let parts = unsafe UnsafeMutableRawPointer(next + 256).bindMemory(
      to: UInt32.self, capacity: 256)
    for (index, less) in CABACTables.rangeLPS.enumerated() {
      let shift = UInt32(less.leadingZeroBitCount + 1)
      unsafe parts[index] = UInt32(less) | shift << 8 | UInt32(less) << (16 + shift)
    }
    unsafe self.parts = UnsafePointer(parts)
  }

  /// Sets all for a slice; `kind` as `CABACContexts` counts them.
  func begin(kind: Int, qp: Int) { unsafe CABACContexts.begin(states, kind: kind, qp: qp) }

  /// How likely a bin was.
  struct Odds {
    /// The less probable value's entry in `parts`.
    let part: UInt32
    /// All ones where the bin has that value, else 0.
    let isLess: UInt32
  }

  /// Moves a context's state on by a bin, 0 or 1; `range` is codIRange.
  @inline(__always) func step(_ bin: Int, _ context: Int, range: UInt32) -> Odds {
    let state = unsafe Int(states[context])
    unsafe states[context] = next[state &<< 1 | bin]
    // The range's highest bit is always set.
    return unsafe Odds(
      part: parts[(state & ~1) &<< 1 &- 4 &+ Int(range &>> 6)],
      isLess: 0 &- UInt32(truncatingIfNeeded: (state ^ bin) & 1))
  }

  /// Keeps the states, to be taken back by `restore`.
  func keep() { unsafe copy.update(from: states, count: CABACContexts.count) }

  func restore() { unsafe states.update(from: copy, count: CABACContexts.count) }
}
