/// CABAC's arithmetic encoder (clause 9.3.4): bins in their contexts go in, words of bits come out.
struct CABACEncoder {
  let states: CABACStates
  var interval = CodingInterval()
  private var words = HeldWords()

  init(states: CABACStates) { self.states = states }

  /// Begins a slice; `kind` as `CABACContexts` counts them.
  mutating func begin(kind: Int, qp: Int) {
    interval = CodingInterval()
    words = HeldWords()
    states.begin(kind: kind, qp: qp)
  }

  /// Bits that have not reached the sink.
  var bitCount: Int { interval.waiting &+ words.bitCount }

  /// One bin, 0 or 1, of the context with this number (ctxIdx).
  @inline(__always)
  mutating func put(_ bin: Int, _ context: Int, into sink: inout BitSink) {
    let odds = states.step(bin, context, range: interval.range)
    interval.put(odds, &words, &sink)
  }

  /// One bin as a flag.
  @inline(__always)
  mutating func put(_ flag: Bool, _ context: Int, into sink: inout BitSink) {
    put(flag ? 1 : 0, context, into: &sink)
  }

  /// Works on a copy of the interval, which a loop keeps in registers.
  @inline(__always)
  mutating func put(
    _ bin: Int, _ context: Int, _ interval: inout CodingInterval, into sink: inout BitSink
  ) {
    let odds = states.step(bin, context, range: interval.range)
    interval.put(odds, &words, &sink)
  }

  /// At most 16 bins, on a copy of the interval.
  @inline(__always)
  mutating func putBypass(
    _ bins: Int, count: Int, _ interval: inout CodingInterval, into sink: inout BitSink
  ) {
    interval.putBypass(UInt32(truncatingIfNeeded: bins), count: count, &words, &sink)
  }

  /// The suffix of UEGk: Exp-Golomb of order `order` (clause 9.3.2.3), on a copy of the interval.
  mutating func putSuffix(
    _ value: Int, order: Int, _ interval: inout CodingInterval, into sink: inout BitSink
  ) {
    var left = value
    var order = order
    while left >= 1 &<< order {
      putBypass(1, count: 1, &interval, into: &sink)
      left &-= 1 &<< order
      order &+= 1
    }
    // The 0 that ends the prefix stands above the value.
    putBypass(left, count: order &+ 1, &interval, into: &sink)
  }

  /// The bin that ends a slice, or says I_PCM, being 0.
  @inline(__always)
  mutating func putContinuation(into sink: inout BitSink) {
    interval.putContinuation(&words, &sink)
  }

  /// The same being 1. Its last bit is a one, the stop bit at the end of a slice; behind I_PCM the
  /// encoder begins anew.
  mutating func finish(into sink: inout BitSink) {
    interval.finish(&words, &sink)
    interval = CodingInterval()
  }
}
