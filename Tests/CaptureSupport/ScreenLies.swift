import CPipeWire
import Glibc
package import TestSupport

extension ScreenProducer {
  /// Writes nonsense over what is said of the pictures in all buffers, the consumer's too, and tries to take
  /// their memory away.
  package func lie(_ random: inout SplitMix) {
    for buffer in buffers where random.below(2) == 0 {
      let raw = buffer.pointee.buffer!
      for index in 0..<Int(raw.pointee.n_datas) where random.below(3) == 0 {
        let data = raw.pointee.datas![index]
        data.chunk.pointee = spa_chunk(
          offset: UInt32(bitPattern: random.lie()), size: UInt32(bitPattern: random.lie()),
          stride: random.lie(), flags: random.below(4) == 0 ? random.lie() : 0)
        if random.below(50) == 0 {
          ftruncate(Int32(data.fd), 4096)
          ftruncate(Int32(data.fd), Int(data.maxsize))
        }
      }
      for index in 0..<Int(raw.pointee.n_metas) {
        let meta = raw.pointee.metas![index]
        guard meta.type != SPA_META_Busy.rawValue else { continue }
        let words = meta.data.assumingMemoryBound(to: Int32.self)
        for word in 0..<Int(meta.size) / 4 where random.below(4) == 0 { words[word] = random.lie() }
      }
    }
  }
}

extension SplitMix {
  /// A number that stands where another should.
  fileprivate mutating func lie() -> Int32 {
    let edges: [Int32] = [0, 1, -1, 4, 16, 128, 1280, 1344, 4096, 5120, 65_536, .max, .min]
    return below(4) == 0 ? Int32(truncatingIfNeeded: Int(next() >> 1)) : edges[below(edges.count)]
  }
}
