import CPixelKernels
import TestSupport
import Testing

/// The kernels against plain loops; prediction, transform and deblocking are held by the decoder.
struct KernelTests {
  private static let stride = 40

  /// Rows of chance, of `KernelTests.stride` bytes.
  private func samples(rows: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix(seed: seed)
    return (0..<rows * Self.stride).map { _ in UInt8(random.below(256)) }
  }

  private func hash(_ luma: [UInt8], _ chroma: [UInt8]) -> UInt64 {
    var hash: UInt64 = 0
    porthole_hash_macroblocks(luma, chroma, Self.stride, 1, &hash)
    return hash
  }

  @Test("a macroblock's hash depends on each of its samples, and on no other")
  func hashes() {
    let luma = samples(rows: 16, seed: 1)
    let chroma = samples(rows: 8, seed: 2)
    let known = hash(luma, chroma)
    var seen: Set<UInt64> = [known]
    for row in 0..<16 {
      for column in 0..<Self.stride {
        var changed = luma
        changed[row * Self.stride + column] ^= 1
        if column < 16 {
          seen.insert(hash(changed, chroma))
        } else {
          #expect(hash(changed, chroma) == known)
        }
      }
    }
    for row in 0..<8 {
      for column in 0..<16 {
        var changed = chroma
        changed[row * Self.stride + column] ^= 1
        seen.insert(hash(luma, changed))
      }
    }
    #expect(seen.count == 1 + 16 * 16 + 8 * 16)
  }

  @Test("rows that change places change the hash")
  func hashOrder() {
    let luma = samples(rows: 16, seed: 3)
    let chroma = samples(rows: 8, seed: 4)
    let width = Self.stride
    let turned = (0..<16).flatMap { luma[(15 - $0) * width..<(16 - $0) * width] }
    #expect(hash(turned, chroma) != hash(luma, chroma))
    let flat = [UInt8](repeating: 0, count: 16 * width)
    let lighter = [UInt8](repeating: 1, count: 16 * width)
    #expect(hash(flat, flat) != hash(lighter, flat))
  }

  @Test("distances equal their plain sums", arguments: 0..<8 as Range<UInt64>)
  func distances(seed: UInt64) {
    let a = samples(rows: 16, seed: seed)
    let b = samples(rows: 16, seed: seed + 100)
    var squares = 0
    var absolutes = 0
    var chromaSquares = 0
    for row in 0..<16 {
      for column in 0..<16 {
        let difference =
          Int(a[row * Self.stride + column]) - Int(b[row * Self.stride + column])
        squares += difference * difference
        absolutes += abs(difference)
        if row < 8 { chromaSquares += difference * difference }
      }
    }
    #expect(porthole_sad_16x16(a, Self.stride, b, Self.stride) == UInt32(absolutes))
    #expect(
      porthole_macroblock_ssd(a, a, Self.stride, b, b, Self.stride)
        == UInt32(squares + chromaSquares))
  }

  @Test("a search finds the block, at the first place it is")
  func search() {
    let reference = samples(rows: 40, seed: 9)
    var block = [UInt8](repeating: 0, count: 16 * 16)
    for row in 0..<16 {
      for column in 0..<16 {
        block[row * 16 + column] = reference[(row + 11) * Self.stride + column + 7]
      }
    }
    var x: Int32 = -1
    var y: Int32 = -1
    #expect(porthole_search_16x16(block, 16, reference, Self.stride, 24, 24, &x, &y) == 0)
    #expect(x == 7 && y == 11)
    let flat = [UInt8](repeating: 5, count: 40 * Self.stride)
    #expect(porthole_search_16x16(flat, 16, flat, Self.stride, 24, 24, &x, &y) == 0)
    #expect(x == 0 && y == 0)
  }
}
