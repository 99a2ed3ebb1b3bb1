/// The levels of one block in scan order, and a bit for each that is not 0.
@safe struct ResidualBlock {
  let levels: UnsafePointer<Int16>
  let mask: UInt32
  /// maxNumCoeff: 16, 15 without DC, or 4 for chroma DC.
  let size: Int

  var count: Int { mask.nonzeroBitCount }

  @inline(__always) func level(at position: Int) -> Int { unsafe Int(levels[position]) }
}

extension BitSink {
  /// residual_block_cavlc(), clause 7.3.5.3.2. `tokenClass` comes from the neighbours' counts.
  mutating func put(_ block: ResidualBlock, tokenClass: Int, tables: CodeTables) {
    let token = tokenClass &* CodeTables.tokensPerClass
    let total = block.count
    guard total > 0 else {
      putCode(tables.coefficientToken[token])
      return
    }
    var left = block.mask
    var ones = 0
    var signs: UInt32 = 0
    while left != 0, ones < 3 {
      let position = 31 &- left.leadingZeroBitCount
      let level = block.level(at: position)
      guard level == 1 || level == -1 else { break }
      signs = signs &<< 1 | (level < 0 ? 1 : 0)
      ones &+= 1
      left &= ~(1 &<< UInt32(position))
    }
    let code = tables.coefficientToken[token &+ total &* 4 &+ ones]
    put((code & 0xffff) &<< UInt32(ones) | signs, bits: Int(code &>> 16) &+ ones)
    putLevels(of: block, left: left, total: total, ones: ones)
    guard total < block.size else { return }
    putRuns(of: block, total: total, tables: tables)
  }

  @inline(__always) private mutating func putCode(_ code: UInt32) {
    put(code & 0xffff, bits: Int(code &>> 16))
  }

  /// level_prefix and level_suffix of what the trailing ones leave, highest frequency first.
  @inline(__always) private mutating func putLevels(
    of block: ResidualBlock, left: UInt32, total: Int, ones: Int
  ) {
    var left = left
    var suffixLength = total > 10 && ones < 3 ? 1 : 0
    // The first level cannot be a one when fewer than three ones trail.
    var bias = ones < 3 ? 2 : 0
    while left != 0 {
      let position = 31 &- left.leadingZeroBitCount
      left &= ~(1 &<< UInt32(position))
      let level = block.level(at: position)
      let magnitude = abs(level)
      let code = 2 &* magnitude &- (level > 0 ? 2 : 1) &- bias
      bias = 0
      putLevel(code: code, suffixLength: suffixLength)
      if suffixLength == 0 { suffixLength = 1 }
      if magnitude > 3 &<< (suffixLength &- 1), suffixLength < 6 { suffixLength &+= 1 }
    }
  }

  @inline(__always) private mutating func putLevel(code: Int, suffixLength: Int) {
    let code = UInt32(truncatingIfNeeded: code)
    if suffixLength == 0 {
      if code < 14 {
        put(1, bits: Int(code) &+ 1)
      } else if code < 30 {
        put(1 &<< 4 | (code &- 14), bits: 19)
      } else {
        put(1 &<< 12 | (code &- 30), bits: 28)
      }
      return
    }
    let length = UInt32(truncatingIfNeeded: suffixLength)
    if code < 15 &<< length {
      let suffix = code & (1 &<< length &- 1)
      put(1 &<< length | suffix, bits: Int(code &>> length) &+ 1 &+ suffixLength)
    } else {
      put(1 &<< 12 | (code &- 15 &<< length), bits: 28)
    }
  }

  @inline(__always) private mutating func putRuns(
    of block: ResidualBlock, total: Int, tables: CodeTables
  ) {
    var position = 31 &- block.mask.leadingZeroBitCount
    var zerosLeft = position &+ 1 &- total
    let table = block.size == 4 ? CodeTables.chromaDCZeros : 0
    var code = Code(tables.totalZeros[table &+ total &* 16 &+ zerosLeft])
    var left = block.mask & ~(1 &<< UInt32(position))
    while zerosLeft > 0, left != 0 {
      let next = 31 &- left.leadingZeroBitCount
      let run = position &- next &- 1
      // run_before has eleven bits at most.
      if code.count > 21 {
        put(code.bits, bits: code.count)
        code = Code(0)
      }
      code.append(Code(tables.runBefore[min(zerosLeft, 7) &* 16 &+ run]))
      zerosLeft &-= run
      position = next
      left &= ~(1 &<< UInt32(next))
    }
    put(code.bits, bits: code.count)
  }

  /// Bits on their way, fewer than 33.
  private struct Code {
    var bits: UInt32
    var count: Int

    /// An entry of `CodeTables`.
    @inline(__always) init(_ entry: UInt32) {
      bits = entry & 0xffff
      count = Int(entry &>> 16)
    }

    @inline(__always) mutating func append(_ code: Code) {
      bits = bits &<< UInt32(code.count) | code.bits
      count &+= code.count
    }
  }
}
