/// One encoded picture with all its NAL units, in the encoder's memory.
///
/// The pointers are good until the encoder's `release` or its next call; nothing here is copied.
@safe
struct AccessUnit {
  /// A driver that returns every NAL unit alone needs three: SPS, PPS and slice, and some for the
  /// supplemental information that it likes to add.
  static var segmentCapacity: Int { 16 }

  let isKeyframe: Bool
  let pts: Int64
  private(set) var byteCount = 0
  private(set) var segmentCount = 0
  private var segments: InlineArray<16, UnsafeRawBufferPointer>

  init(isKeyframe: Bool, pts: Int64) {
    self.isKeyframe = isKeyframe
    self.pts = pts
    unsafe segments = InlineArray(repeating: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Appends bytes that outlive this value; false when there is no room for one more segment.
  mutating func append(_ segment: UnsafeRawBufferPointer) -> Bool {
    guard segmentCount < Self.segmentCapacity else { return false }
    unsafe segments[segmentCount] = segment
    segmentCount += 1
    byteCount += segment.count
    return true
  }

  /// The bytes of segment `index`; the access unit is all segments in order, without gaps.
  func segment(_ index: Int) -> UnsafeRawBufferPointer {
    precondition(index < segmentCount, "an access unit has \(segmentCount) segments")
    return unsafe segments[index]
  }

  /// nal_unit_type of the first NAL unit that is a slice, or that no encoder writes before one; nil when
  /// there is none. Nothing behind it is looked at.
  var leadingSliceType: UInt8? {
    let headers: ClosedRange<UInt8> = 6...9
    for index in 0..<segmentCount {
      let bytes = unsafe segment(index)
      var zeros = 0
      for position in bytes.indices {
        let byte = unsafe bytes[position]
        if byte == 1, zeros >= 2, position + 1 < bytes.count {
          let type = unsafe bytes[position + 1] & 0x1f
          if !headers.contains(type) { return type }
        }
        zeros = byte == 0 ? zeros + 1 : 0
      }
    }
    return nil
  }

  /// The access unit with `replacement`, which must outlive it, in the place of its bytes `range`; nil
  /// when that takes more segments than there are.
  func replacing(_ range: Range<Int>, by replacement: UnsafeRawBufferPointer) -> AccessUnit? {
    var changed = AccessUnit(isKeyframe: isKeyframe, pts: pts)
    var start = 0
    var isWhole = true
    for index in 0..<segmentCount {
      let bytes = unsafe segment(index)
      let own = start..<start + bytes.count
      start = own.upperBound
      let before = own.clamped(to: own.lowerBound..<max(own.lowerBound, range.lowerBound))
      let after = own.clamped(to: min(own.upperBound, range.upperBound)..<own.upperBound)
      func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
          rebasing: bytes[range.lowerBound - own.lowerBound..<range.upperBound - own.lowerBound])
      }
      if !before.isEmpty { isWhole = unsafe changed.append(part(before)) && isWhole }
      if own.contains(range.lowerBound) {
        isWhole = unsafe changed.append(replacement) && isWhole
      }
      if !after.isEmpty { isWhole = unsafe changed.append(part(after)) && isWhole }
    }
    return isWhole ? changed : nil
  }

  /// The access unit as one array, for those who do not mind the copy.
  func bytes() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    for index in 0..<segmentCount { unsafe bytes.append(contentsOf: segment(index)) }
    return bytes
  }
}
