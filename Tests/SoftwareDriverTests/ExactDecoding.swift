import TestSupport
import Testing

extension DriverClient {
  /// Codes the pictures and holds the decoder's against the driver's.
  @discardableResult
  func expectExact(
    _ pictures: [Picture], qp: Int, keyframes: Set<Int> = []
  ) throws -> [CodedPicture] {
    let coded = try pictures.enumerated().map { index, picture in
      try encode(picture, qp: qp, isIDR: keyframes.contains(index))
    }
    let decoded = try DecodedStream(coded.flatMap(\.bytes), width: width, height: height)
    #expect(decoded.complaints == [])
    #expect(decoded.pictures.count == coded.count)
    for (index, pair) in zip(decoded.pictures, coded).enumerated() {
      #expect(pair.0 == pair.1.reconstruction, "picture \(index)")
    }
    return coded
  }
}

extension Picture {
  /// Noise, then the same noise moved, then text over it: intra, inter, skipped and I_PCM together.
  static func mixture(width: Int, height: Int) -> [Picture] {
    let noise = Picture.noise(width: width, height: height, seed: 1)
    let text = Picture.text(width: width, height: height, seed: 2)
    var moved = text
    moved.draw(Picture.noise(width: width / 2, height: height / 2, seed: 3), x: 10, y: 6)
    var again = text
    again.draw(Picture.noise(width: width / 2, height: height / 2, seed: 3), x: 13, y: 11)
    var flat = again
    flat.fill(x: 32, y: 16, width: 64, height: 48, luma: 90, chroma: 60)
    return [noise, text, moved, again, flat, flat, Picture(width: width, height: height), noise]
  }
}
