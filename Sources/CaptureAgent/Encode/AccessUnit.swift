/// One encoded picture with all its NAL units, in the encoder's memory.
///
/// The pointers are good until the encoder's `release` or its next call; nothing here is copied.
@safe
struct AccessUnit {
  /// A driver that returns every NAL unit alone needs three: SPS, PPS and slice, or one for both
  /// parameter sets and any supplemental information it likes to add.
  static var segmentCapacity: Int { 8 }

  let isKeyframe: Bool
  let pts: Int64
  private(set) var byteCount = 0
  private(set) var segmentCount = 0
  private var segments: InlineArray<8, UnsafeRawBufferPointer>

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

  /// nal_unit_type of the first NAL unit; nil when there is no start code.
  var firstUnitType: UInt8? {
    guard segmentCount > 0 else { return nil }
    let bytes = unsafe segment(0)
    var zeros = 0
    while zeros < bytes.count, unsafe bytes[zeros] == 0 { zeros += 1 }
    guard zeros >= 2, zeros + 1 < bytes.count, unsafe bytes[zeros] == 1 else { return nil }
    return unsafe bytes[zeros + 1] & 0x1f
  }

  /// The access unit as one array, for those who do not mind the copy.
  func bytes() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    for index in 0..<segmentCount { unsafe bytes.append(contentsOf: segment(index)) }
    return bytes
  }
}
