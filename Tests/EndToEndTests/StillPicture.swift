import TestSupport

/// A decoded picture: rows of red, green and blue bytes.
struct StillPicture {
  let width: Int
  let height: Int
  let pixels: [UInt8]

  init(width: Int, height: Int, pixels: [UInt8]) {
    (self.width, self.height, self.pixels) = (width, height, pixels)
  }

  struct Colour {
    let red, green, blue: Int
    /// The largest difference of a part.
    func distance(to other: Colour) -> Int {
      max(abs(red - other.red), abs(green - other.green), abs(blue - other.blue))
    }
  }

  /// What ffmpeg makes of the first picture of a file or of a stream; converted as it is tagged.
  init(
    of source: String, options: [String] = [], name: String, in directory: TestDirectory,
    width: Int = 1920, height: Int = 1080
  ) throws {
    let run = try ProcessRun.run(
      "ffmpeg",
      ["-nostdin", "-loglevel", "warning"] + options
        + ["-i", source, "-frames:v", "1", "-vf"]
        + ["scale=flags=accurate_rnd+full_chroma_int+bicubic,format=rgb24"]
        + ["-f", "rawvideo", "-"], name: name, in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
    pixels = try readFile(run.outputPath)
    self.width = width
    self.height = height
    guard pixels.count == width * height * 3 else {
      throw ProcessFailure(description: "\(source): \(pixels.count) bytes of a picture")
    }
  }

  /// Mean squared error of all parts of all pixels.
  func meanSquaredError(to other: StillPicture) -> Double {
    pixels.withUnsafeBufferPointer { one in
      other.pixels.withUnsafeBufferPointer { two in
        var sum = 0
        for index in one.indices {
          let difference = Int(one[index]) - Int(two[index])
          sum += difference * difference
        }
        return Double(sum) / Double(one.count)
      }
    }
  }

  /// The mean colour of a square.
  func colour(x: Int, y: Int, side: Int) -> Colour {
    var sums = [0, 0, 0]
    for row in y..<y + side {
      for part in 0..<side * 3 { sums[part % 3] += Int(pixels[(row * width + x) * 3 + part]) }
    }
    let means = sums.map { ($0 + side * side / 2) / (side * side) }
    return Colour(red: means[0], green: means[1], blue: means[2])
  }
}

extension StillPicture.Colour {
  /// Of 0xRRGGBB.
  init(_ pixel: UInt32) {
    self.init(
      red: Int(pixel >> 16), green: Int(pixel >> 8 & 0xff), blue: Int(pixel & 0xff))
  }
}
