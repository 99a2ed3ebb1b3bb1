extension BitWriter {
  /// Writes the slice data of `count` P_Skip macroblocks, a whole picture, and its trailing bits
  /// (clause 7.3.4). The slice's header has cabac_init_idc 0 and no slice_qp_delta.
  package mutating func putSkippedSlice(count: UInt32, picture: PictureParameterSet) {
    guard picture.usesCABAC else {
      putUE(count)  // mb_skip_run
      return putTrailingBits()
    }
    while bitCount & 7 != 0 { put(true) }  // cabac_alignment_one_bit
    var coder = ArithmeticEncoder()
    // Where no neighbour is coded mb_skip_flag has context 11 (tables 9-13 and 9-39).
    var state = CABACTables.first(m: 23, n: 33, qp: Int(picture.initialQP))
    for index in 1...count {
      coder.put(true, state: &state, into: &self)
      coder.putEnd(index == count, into: &self)
    }
    alignWithZeros()
  }
}
