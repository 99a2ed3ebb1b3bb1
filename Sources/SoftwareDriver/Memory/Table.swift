/// A fixed count of plain values in memory of its own, zero at first; bounds hold in debug builds.
/// Copies share the memory.
@safe struct Table<Element: BitwiseCopyable> {
  let count: Int
  private let block: ByteBlock
  private let elements: UnsafeMutablePointer<Element>

  /// Fails where there is no memory for it.
  init(count: Int) throws(DriverError) {
    block = try ByteBlock(byteCount: count * MemoryLayout<Element>.stride)
    self.count = count
    unsafe elements = block.base.bindMemory(to: Element.self, capacity: count)
  }

  subscript(index: Int) -> Element {
    @inline(__always) get {
      assert(index >= 0 && index < count, "index outside the table")
      return unsafe elements[index]
    }
    @inline(__always) nonmutating set {
      assert(index >= 0 && index < count, "index outside the table")
      unsafe elements[index] = newValue
    }
  }

  /// Where element `index` and its followers stand, for a kernel that reads or writes several.
  @unsafe @inline(__always) func pointer(at index: Int = 0) -> UnsafeMutablePointer<Element> {
    unsafe elements + index
  }

  /// All zero again.
  func clear() {
    unsafe block.base.initializeMemory(as: UInt8.self, repeating: 0, count: block.byteCount)
  }
}
