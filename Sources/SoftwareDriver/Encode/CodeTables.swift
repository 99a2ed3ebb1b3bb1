/// The variable length codes of CAVLC (clause 9.2), ready to be put: length << 16 | bits.
struct CodeTables {
  /// By class of nC, then total_coeff * 4 + trailing_ones (table 9-5).
  let coefficientToken: Table<UInt32>
  /// By total_coeff * 16 + total_zeros (tables 9-7 and 9-8); chroma DC (table 9-9) from 256 on.
  let totalZeros: Table<UInt32>
  /// By min(zeros_left, 7) * 16 + run_before (table 9-10).
  let runBefore: Table<UInt32>

  static let tokensPerClass = 68
  static let chromaDCClass = 4
  static let chromaDCZeros = 256

  /// Class of nC, the mean count of levels in the neighbouring blocks, 0 to 16.
  @inline(__always) static func tokenClass(nC: Int) -> Int {
    nC < 2 ? 0 : nC < 4 ? 1 : nC < 8 ? 2 : 3
  }

  init() throws(DriverError) {
    coefficientToken = try Table(count: 5 * Self.tokensPerClass)
    totalZeros = try Table(count: 256 + 64)
    runBefore = try Table(count: 8 * 16)
    for (index, pair) in zip(tokenLengths, tokenBits).enumerated() {
      coefficientToken[index] = pair.0 << 16 | pair.1
    }
    for total in 0...16 {
      for ones in 0...min(3, total) {
        // nC of 8 and more: six bits, total_coeff - 1 and trailing_ones; 3 stands for none.
        let bits = total == 0 ? 3 : UInt32(total - 1) << 2 | UInt32(ones)
        coefficientToken[3 * Self.tokensPerClass + total * 4 + ones] = 6 << 16 | bits
      }
    }
    for (index, pair) in zip(chromaTokenLengths, chromaTokenBits).enumerated() {
      coefficientToken[Self.chromaDCClass * Self.tokensPerClass + index] = pair.0 << 16 | pair.1
    }
    Self.fill(totalZeros, at: 16, lengths: zerosLengths, bits: zerosBits)
    Self.fill(
      totalZeros, at: Self.chromaDCZeros + 16, lengths: chromaZerosLengths, bits: chromaZerosBits)
    Self.fill(runBefore, at: 16, lengths: runLengths, bits: runBits)
  }

  private static func fill(
    _ table: Table<UInt32>, at start: Int, lengths: [[UInt32]], bits: [[UInt32]]
  ) {
    for (row, pair) in zip(lengths, bits).enumerated() {
      for (column, code) in zip(pair.0, pair.1).enumerated() {
        table[start + row * 16 + column] = code.0 << 16 | code.1
      }
    }
  }
}

private let tokenLengths: [UInt32] = [
  1, 0, 0, 0, 6, 2, 0, 0, 8, 6, 3, 0, 9, 8, 7, 5, 10, 9, 8, 6, 11, 10, 9, 7, 13, 11, 10, 8,
  13, 13, 11, 9, 13, 13, 13, 10, 14, 14, 13, 11, 14, 14, 14, 13, 15, 15, 14, 14, 15, 15, 15, 14,
  16, 15, 15, 15, 16, 16, 16, 15, 16, 16, 16, 16, 16, 16, 16, 16,

  2, 0, 0, 0, 6, 2, 0, 0, 6, 5, 3, 0, 7, 6, 6, 4, 8, 6, 6, 4, 8, 7, 7, 5, 9, 8, 8, 6,
  11, 9, 9, 6, 11, 11, 11, 7, 12, 11, 11, 9, 12, 12, 12, 11, 12, 12, 12, 11, 13, 13, 13, 12,
  13, 13, 13, 13, 13, 14, 13, 13, 14, 14, 14, 13, 14, 14, 14, 14,

  4, 0, 0, 0, 6, 4, 0, 0, 6, 5, 4, 0, 6, 5, 5, 4, 7, 5, 5, 4, 7, 5, 5, 4, 7, 6, 6, 4,
  7, 6, 6, 4, 8, 7, 7, 5, 8, 8, 7, 6, 9, 8, 8, 7, 9, 9, 8, 8, 9, 9, 9, 8,
  10, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
]

private let tokenBits: [UInt32] = [
  1, 0, 0, 0, 5, 1, 0, 0, 7, 4, 1, 0, 7, 6, 5, 3, 7, 6, 5, 3, 7, 6, 5, 4, 15, 6, 5, 4,
  11, 14, 5, 4, 8, 10, 13, 4, 15, 14, 9, 4, 11, 10, 13, 12, 15, 14, 9, 12, 11, 10, 13, 8,
  15, 1, 9, 12, 11, 14, 13, 8, 7, 10, 9, 12, 4, 6, 5, 8,

  3, 0, 0, 0, 11, 2, 0, 0, 7, 7, 3, 0, 7, 10, 9, 5, 7, 6, 5, 4, 4, 6, 5, 6, 7, 6, 5, 8,
  15, 6, 5, 4, 11, 14, 13, 4, 15, 10, 9, 4, 11, 14, 13, 12, 8, 10, 9, 8, 15, 14, 13, 12,
  11, 10, 9, 12, 7, 11, 6, 8, 9, 8, 10, 1, 7, 6, 5, 4,

  15, 0, 0, 0, 15, 14, 0, 0, 11, 15, 13, 0, 8, 12, 14, 12, 15, 10, 11, 11, 11, 8, 9, 10,
  9, 14, 13, 9, 8, 10, 9, 8, 15, 14, 13, 13, 11, 14, 10, 12, 15, 10, 13, 12, 11, 14, 9, 12,
  8, 10, 13, 8, 13, 7, 9, 12, 9, 12, 11, 10, 5, 8, 7, 6, 1, 4, 3, 2,
]

private let chromaTokenLengths: [UInt32] = [
  2, 0, 0, 0, 6, 1, 0, 0, 6, 6, 3, 0, 6, 7, 7, 6, 6, 8, 8, 7,
]

private let chromaTokenBits: [UInt32] = [
  1, 0, 0, 0, 7, 1, 0, 0, 4, 6, 1, 0, 3, 3, 2, 5, 2, 3, 2, 0,
]

private let zerosLengths: [[UInt32]] = [
  [1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9],
  [3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6],
  [4, 3, 3, 3, 4, 4, 3, 3, 4, 5, 5, 6, 5, 6],
  [5, 3, 4, 4, 3, 3, 3, 4, 3, 4, 5, 5, 5],
  [4, 4, 4, 3, 3, 3, 3, 3, 4, 5, 4, 5],
  [6, 5, 3, 3, 3, 3, 3, 3, 4, 3, 6],
  [6, 5, 3, 3, 3, 2, 3, 4, 3, 6],
  [6, 4, 5, 3, 2, 2, 3, 3, 6],
  [6, 6, 4, 2, 2, 3, 2, 5],
  [5, 5, 3, 2, 2, 2, 4],
  [4, 4, 3, 3, 1, 3],
  [4, 4, 2, 1, 3],
  [3, 3, 1, 2],
  [2, 2, 1],
  [1, 1],
]

private let zerosBits: [[UInt32]] = [
  [1, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 1],
  [7, 6, 5, 4, 3, 5, 4, 3, 2, 3, 2, 3, 2, 1, 0],
  [5, 7, 6, 5, 4, 3, 4, 3, 2, 3, 2, 1, 1, 0],
  [3, 7, 5, 4, 6, 5, 4, 3, 3, 2, 2, 1, 0],
  [5, 4, 3, 7, 6, 5, 4, 3, 2, 1, 1, 0],
  [1, 1, 7, 6, 5, 4, 3, 2, 1, 1, 0],
  [1, 1, 5, 4, 3, 3, 2, 1, 1, 0],
  [1, 1, 1, 3, 3, 2, 2, 1, 0],
  [1, 0, 1, 3, 2, 1, 1, 1],
  [1, 0, 1, 3, 2, 1, 1],
  [0, 1, 1, 2, 1, 3],
  [0, 1, 1, 1, 1],
  [0, 1, 1, 1],
  [0, 1, 1],
  [0, 1],
]

private let chromaZerosLengths: [[UInt32]] = [[1, 2, 3, 3], [1, 2, 2], [1, 1]]
private let chromaZerosBits: [[UInt32]] = [[1, 1, 1, 0], [1, 1, 0], [1, 0]]

private let runLengths: [[UInt32]] = [
  [1, 1],
  [1, 2, 2],
  [2, 2, 2, 2],
  [2, 2, 2, 3, 3],
  [2, 2, 3, 3, 3, 3],
  [2, 3, 3, 3, 3, 3, 3],
  [3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11],
]

private let runBits: [[UInt32]] = [
  [1, 0],
  [1, 1, 0],
  [3, 2, 1, 0],
  [3, 2, 1, 1, 0],
  [3, 2, 3, 2, 1, 0],
  [3, 0, 1, 3, 2, 5, 4],
  [7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1],
]
