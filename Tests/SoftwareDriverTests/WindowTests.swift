import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Pictures too large to stay mapped are coded through windows, and come out the same.
struct WindowTests {
  // Taller than the reference's window, so that all windows move.
  private static let width = 80
  private static let height = 1456

  @Test("a picture coded through windows is the one coded from whole surfaces")
  func sameBytes() throws {
    let whole = try DriverClient(width: Self.width, height: Self.height)
    let windowed = try DriverClient(width: Self.width, height: Self.height) { $0.keptByteCount = 0 }
    var scrolled = Picture.text(width: Self.width, height: Self.height, seed: 5, firstLine: 9)
    scrolled.fill(x: 16, y: 1300, width: 32, height: 64, luma: 60, chroma: 90)
    let pictures = [
      Picture.text(width: Self.width, height: Self.height, seed: 5), scrolled, scrolled,
      Picture.noise(width: Self.width, height: Self.height, seed: 8), scrolled,
    ]
    for (index, picture) in pictures.enumerated() {
      let expected = try whole.encode(picture, qp: 24)
      let found = try windowed.encode(picture, qp: 24)
      #expect(found.bytes == expected.bytes, "picture \(index)")
      #expect(found.reconstruction == expected.reconstruction, "picture \(index)")
    }
  }

  @Test("surfaces that are not kept are unmapped when nobody looks")
  func unmapped() async {
    // In a process of its own, for other tests map surfaces too.
    await #expect(processExitsWith: .success) {
      let client = try DriverClient(width: Self.width, height: Self.height) { $0.keptByteCount = 0 }
      try client.encode(Picture.text(width: Self.width, height: Self.height, seed: 1))
      let coded = Self.width / 16 * (Self.height / 16) * 400 + 4096
      #expect(try mappedSurfaceBytes() == wholePages(coded))
    }
  }
}

/// What this process maps of the driver's files.
private func mappedSurfaceBytes() throws -> Int {
  String(decoding: try readFile("/proc/self/maps"), as: UTF8.self).split(separator: "\n")
    .filter { $0.contains("/memfd:porthole-driver") }
    .map { line in
      let ends = line.split(separator: " ")[0].split(separator: "-").map { Int($0, radix: 16)! }
      return ends[1] - ends[0]
    }
    .reduce(0, +)
}
