import CLinux
import Foundation
import PipeWire
import Pixels
import Posix
import Synchronization
import TestSupport
import Testing

@testable import CaptureAgent

/// A camera's JPEGs, and what stands in their place: each is a picture, or is refused with a cause, and the next
/// one is decoded.
@Suite(.serialized) struct JPEGDecoderTests {
  private static let size = FrameSize(75, 53)
  private static let colours: [(Double, Double, Double)] = [
    (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (200, 120, 40),
  ]

  static func fixture(_ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: folder.appending(path: "Fixtures/jpeg/\(name).jpg")))
  }

  /// JPEGs in memory that anyone may change.
  private final class Memory {
    let file: OwnedFD
    private let buffer: SharedBuffer
    let byteCount: Int

    init(byteCount: Int) throws {
      self.byteCount = byteCount
      file = OwnedFD(try check(memfd_create("jpegs", UInt32(MFD_CLOEXEC)), "memfd_create"))
      try check(ftruncate(file.raw, byteCount), "ftruncate")
      buffer = try SharedBuffer(fd: file.raw, offset: 0, byteCount: byteCount, returned: nil)
    }

    func frame(_ bytes: [UInt8], size: FrameSize = JPEGDecoderTests.size) -> Frame? {
      pwrite(file.raw, bytes, bytes.count, 64)
      return frame(byteCount: bytes.count, size: size)
    }

    func frame(byteCount: Int, size: FrameSize = JPEGDecoderTests.size) -> Frame? {
      var planes = PlaneLayouts.none
      planes[0] = PlaneLayout(offset: 64, stride: byteCount)
      return Frame(
        lease: buffer.lend(), format: .mjpeg, planes: planes,
        crop: Rectangle(x: 0, y: 0, width: size.width, height: size.height), codedSize: size,
        pts: 7)
    }
  }

  private struct Seen {
    let format: PixelFormat
    let colour: FrameColour
    /// Of each plane, row by row.
    let planes: [[[UInt8]]]
  }

  /// nil with the cause where it is refused.
  private func decode(
    _ bytes: [UInt8], by decoder: JPEGDecoder, size: FrameSize = size
  ) throws -> (Seen?, String) {
    let memory = try Memory(byteCount: bytes.count + 4096)
    guard let frame = memory.frame(bytes, size: size) else { return (nil, "no frame") }
    return try decode(frame, by: decoder)
  }

  private func decode(
    _ coded: consuming Frame, by decoder: JPEGDecoder
  ) throws -> (Seen?, String) {
    do throws(EncoderError) {
      let frame = try decoder.decode(coded)
      #expect(frame.pts == 7)
      var planes: [[[UInt8]]] = []
      for plane in 0..<frame.format.planeCount {
        let kind = frame.format.plane(plane)
        let stride = frame.stride(ofPlane: plane)
        let count = kind.byteCount(ofPixels: frame.width)
        var rows: [[UInt8]] = []
        do {
          try frame.withRows(0..<frame.height, ofPlane: plane) { bytes in
            for row in 0..<kind.rows(of: 0..<frame.height).count {
              rows.append(Array(bytes[row * stride..<row * stride + count]))
            }
          }
        } catch {
          Issue.record("\(error)")
        }
        planes.append(rows)
      }
      return (Seen(format: frame.format, colour: frame.colour, planes: planes), "")
    } catch {
      guard case .frame(let cause) = error else { throw error }
      return (nil, cause)
    }
  }

  /// Whether each patch's middle is what JFIF makes of its colour.
  private func expectPatches(_ seen: Seen?, _ name: String) throws {
    let seen = try #require(seen, "\(name)")
    #expect(seen.colour == FrameColour(matrix: .bt601, isFullRange: true))
    for (index, (red, green, blue)) in Self.colours.enumerated() {
      let x = index % 3 * 25 + 12
      let y = index / 3 * 27 + 12
      let luma = 0.299 * red + 0.587 * green + 0.114 * blue
      let wanted = [luma, 128 + (blue - luma) / 1.772, 128 + (red - luma) / 1.402]
      for plane in 0..<seen.planes.count {
        let kind = seen.format.plane(plane)
        let value = Double(seen.planes[plane][y >> kind.down][x >> kind.across])
        #expect(abs(value - min(wanted[plane], 255)) <= 2, "\(name), patch \(index), \(plane)")
      }
    }
  }

  @Test(
    "samples come as they were coded, whatever the chroma",
    arguments: [
      ("plain", PixelFormat.i420), ("y2x1", .y42b), ("y1x1", .y444), ("grey", .gray8),
      ("restart", .i420), ("arithmetic", .i420),
    ])
  func kinds(name: String, format: PixelFormat) throws {
    let decoder = try JPEGDecoder()
    let (seen, cause) = try decode(try Self.fixture(name), by: decoder)
    #expect(seen?.format == format, "\(cause)")
    try expectPatches(seen, name)
  }

  @Test("a camera's JPEG may lack its tables and its end, and may have filling")
  func sparse() throws {
    let decoder = try JPEGDecoder()
    let plain = try Self.fixture("plain")
    // Tables of the JPEG before do not stand in.
    _ = try decode(try Self.fixture("y1x1"), by: decoder)
    try expectPatches(
      try decode(plain.without(marker: 0xc4), by: decoder).0, "without Huffman tables")
    try expectPatches(try decode(plain.dropLast(2), by: decoder).0, "without an end")
    try expectPatches(
      try decode(plain + [UInt8](repeating: 0, count: 3000), by: decoder).0, "behind its end")
    try expectPatches(
      try decode([0xff, 0xd8, 0xff, 0xff, 0xff] + plain.dropFirst(2), by: decoder).0, "filling")
  }

  @Test("what is no picture is refused with its cause, and the next one is decoded")
  func refusals() throws {
    let decoder = try JPEGDecoder()
    let plain = try Self.fixture("plain")
    let restart = try Self.fixture("restart")
    let start = try #require(plain.start(ofMarker: 0xc0))
    func sized(_ width: Int, _ height: Int) -> [UInt8] {
      var bytes = plain
      bytes[start + 5] = UInt8(height >> 8)
      bytes[start + 6] = UInt8(height & 255)
      bytes[start + 7] = UInt8(width >> 8)
      bytes[start + 8] = UInt8(width & 255)
      return bytes
    }
    var sampling = plain
    sampling[start + 11] = 0x41
    let data = try #require(plain.start(ofMarker: 0xda)) + 14
    let cases: [(String, [UInt8], String)] = [
      ("progressive", try Self.fixture("progressive"), "kept whole"),
      ("scans of single planes", try Self.fixture("scans"), "kept whole"),
      ("red, green and blue", try Self.fixture("rgb"), "not Y, Cb and Cr"),
      ("half the rows of chroma alone", try Self.fixture("y1x2"), "samples lie"),
      ("a quarter of the columns of chroma", sampling, ""),
      ("its first half", Array(plain.prefix(data + 300)), "premature end"),
      ("its header", Array(plain.prefix(data)), "premature end"),
      ("nothing but its start", [0xff, 0xd8], ""),
      ("one byte", [0xff], ""),
      ("zeros", [UInt8](repeating: 0, count: 5000), "Not a JPEG"),
      (
        "garbage behind its start", [0xff, 0xd8] + (0..<5000).map { UInt8($0 * 7 & 127) },
        "no image"
      ),
      ("no tables for its steps", plain.without(marker: 0xdb), "Quantization table"),
      ("restarts that are missing", restart.withoutRestarts, ""),
      ("another size", sized(64, 48), "a JPEG of 64x48"),
      ("the largest size", sized(65_500, 65_500), "a JPEG of 65500x65500"),
      ("no size", sized(0, 53), ""),
      ("no height", sized(75, 0), ""),
      ("too many bytes", plain + [UInt8](repeating: 0, count: 300_000), "bytes"),
    ]
    for (name, bytes, cause) in cases {
      let (seen, said) = try decode(bytes, by: decoder)
      #expect(seen == nil && (cause.isEmpty || said.contains(cause)), "\(name): \(said)")
      try expectPatches(try decode(plain, by: decoder).0, "after \(name)")
    }
  }

  @Test("sizes that change are decoded when they were agreed on")
  func sizes() throws {
    let decoder = try JPEGDecoder()
    let plain = try Self.fixture("plain")
    let start = try #require(plain.start(ofMarker: 0xc0))
    var small = plain
    small[start + 6] = 16
    let (seen, cause) = try decode(small, by: decoder, size: FrameSize(75, 16))
    #expect(seen?.planes[0].count == 16, "\(cause)")
    try expectPatches(try decode(plain, by: decoder).0, "as large as before")
  }

  @Test("damage by chance is a picture or is none, 3,000 times")
  func damage() throws {
    let decoder = try JPEGDecoder()
    let originals = try ["plain", "y2x1", "y1x1", "restart", "arithmetic", "progressive"].map {
      try Self.fixture($0)
    }
    let memory = try Memory(byteCount: 16_384)
    var numbers = SplitMix(seed: 11)
    var (whole, refused) = (0, 0)
    func round() throws {
      var bytes = originals[numbers.below(originals.count)]
      for _ in 0...numbers.below(4) {
        let at = numbers.below(bytes.count)
        switch numbers.below(4) {
        case 0: bytes[at] ^= 1 << UInt8(numbers.below(8))
        case 1: bytes[at] = [0, 0xff, 0xd8, 0xd9, 0xda, 0xd0][numbers.below(6)]
        case 2: bytes.removeSubrange(at..<min(at + numbers.below(40), bytes.count))
        default: bytes.insert(contentsOf: bytes.prefix(numbers.below(40)), at: at)
        }
        if bytes.isEmpty { bytes = [0] }
      }
      guard let frame = memory.frame(bytes) else { return }
      if try decode(frame, by: decoder).0 != nil { whole += 1 } else { refused += 1 }
    }
    for _ in 0..<3000 { try round() }
    #expect(whole > 100 && refused > 1000, "\(whole) and \(refused)")
    try expectPatches(try decode(try Self.fixture("plain"), by: decoder).0, "at the end")
  }

  @Test("a whole picture asks the allocator for nothing")
  func allocations() throws {
    let decoder = try JPEGDecoder()
    let plain = try Self.fixture("plain")
    let memory = try Memory(byteCount: 8192)
    func round() throws {
      guard let frame = memory.frame(byteCount: plain.count) else { return }
      _ = try decoder.decode(frame)
    }
    pwrite(memory.file.raw, plain, plain.count, 64)
    try round()
    let before = AllocationGuard.threadAllocations
    for _ in 0..<50 { try round() }
    #expect(AllocationGuard.threadAllocations == before)
  }

  /// Unchecked: anybody may write what is read here.
  private final class Shared: @unchecked Sendable {
    let bytes: UnsafeMutableRawPointer
    let isOver = Atomic(false)

    init(bytes: UnsafeMutableRawPointer) { self.bytes = bytes }
  }

  @Test("a JPEG that is changed while it is decoded is a picture or is none")
  func race() throws {
    let decoder = try JPEGDecoder()
    let plain = try Self.fixture("plain")
    let memory = try Memory(byteCount: 8192)
    let bytes = mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file.raw, 0)!
    let shared = Shared(bytes: bytes)
    let writer = Thread {
      let bytes = shared.bytes
      var numbers = SplitMix(seed: 3)
      while !shared.isOver.load(ordering: .relaxed) {
        bytes.storeBytes(
          of: UInt8(truncatingIfNeeded: numbers.next()), toByteOffset: 64 + numbers.below(1600),
          as: UInt8.self)
        if numbers.below(50) == 0 { memcpy(bytes + 64, plain, plain.count) }
      }
    }
    writer.start()
    for _ in 0..<2000 {
      guard let frame = memory.frame(byteCount: plain.count) else { continue }
      _ = try decode(frame, by: decoder)
    }
    shared.isOver.store(true, ordering: .relaxed)
    try waitUntil("the writer's end", isTrue: { writer.isFinished })
    munmap(bytes, 8192)
    try expectPatches(try decode(plain, by: decoder).0, "afterwards")
  }
}

extension [UInt8] {
  /// Where the first marker of this kind stands.
  fileprivate func start(ofMarker marker: UInt8) -> Int? {
    indices.dropLast().first { self[$0] == 0xff && self[$0 + 1] == marker }
  }

  /// Without the segments of this kind.
  fileprivate func without(marker: UInt8) -> [UInt8] {
    var bytes = self
    while let start = bytes.start(ofMarker: marker) {
      let count = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
      bytes.removeSubrange(start..<start + 2 + count)
    }
    return bytes
  }

  fileprivate var withoutRestarts: [UInt8] {
    var bytes = self
    for marker in UInt8(0xd0)...0xd7 {
      while let start = bytes.start(ofMarker: marker) { bytes.removeSubrange(start..<start + 2) }
    }
    return bytes
  }
}
