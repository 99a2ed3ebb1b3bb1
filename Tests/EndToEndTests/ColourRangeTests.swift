import CaptureSupport
import PipeWire
import TestSupport
import Testing

extension EndToEnd {
  /// What a source's samples are, and what a stream says that they are.
  @Suite struct ColourRanges {
    /// Greys of 0, 16, 128, 235 and 255; red, green and blue.
    private static let patches: [UInt32] = [
      0x000000, 0x101010, 0x808080, 0xebebeb, 0xffffff, 0xff0000, 0x00ff00, 0x0000ff,
    ]

    @Test(arguments: ["bt709", "bt601"])
    func `BL-17: a camera of full range is broadcast in limited range, as two decoders see`(
      _ colour: String
    ) throws {
      try withTestDirectory { directory in
        let daemon = try PipeWireDaemon(in: directory)
        let camera = PaintedCamera(
          "patches", in: directory.path, width: 640, height: 480,
          picture: PaintedPicture(width: 640, height: 480) { x, y in
            Self.patches[x / 160 + y / 240 * 4]
          }, colour: SampleColour(matrix: .bt601, isFullRange: true))
        defer { camera.end() }
        let broadcast = try Broadcast(
          in: directory, agent: ["--source", "camera:patches", "--color", colour],
          driver: daemon.environment)
        try broadcast.waitUntilLive()
        let raw = directory.file("picture.yuv")
        let run = try ProcessRun.run(
          "gst-launch-1.0",
          ["-q", "souphttpsrc", "location=\(broadcast.liveTS)", "!", "tsdemux", "!", "h264parse"]
            + ["!", "openh264dec", "!", "identity", "eos-after=8", "!", "filesink"]
            + ["location=\(raw)"], in: directory)
        #expect(run.exitCode == 0, "\(run.errors)")
        let bytes = try readFile(raw)
        try #require(!bytes.isEmpty && bytes.count % (640 * 480 * 3 / 2) == 0)
        let samples = bytes.suffix(640 * 480 * 3 / 2)
        let picture = try RGBPicture(of: broadcast.liveTS, in: directory)
        var worst = (ffmpeg: 0, openh264: 0)
        for (index, wanted) in Self.patches.enumerated() {
          let (x, y) = (index % 4 * 160 + 60, index / 4 * 240 + 100)
          worst.ffmpeg = max(worst.ffmpeg, picture.distance(x: x, y: y, from: wanted))
          let seen = samples.colour(x: x, y: y, width: 640, height: 480, isBT601: colour == "bt601")
          worst.openh264 = max(worst.openh264, seen.distance(to: .init(wanted)))
        }
        print("\(colour): off by \(worst) of 255")
        #expect(worst.ffmpeg <= 3 && worst.openh264 <= 3)
        let probe = try ProcessRun.run(
          "ffprobe",
          ["-v", "error", "-analyzeduration", "1", "-select_streams", "v:0", "-show_entries"]
            + ["stream=color_range,color_space,color_transfer,color_primaries", "-of"]
            + ["default=nokey=1:noprint_wrappers=1", broadcast.liveTS], in: directory)
        // Once with its program, and once by itself.
        let said = probe.output.split(separator: "\n").prefix(4).map(String.init)
        let name = colour == "bt709" ? "bt709" : "smpte170m"
        #expect(said == ["tv", name, "bt709", name], "\(said)")
      }
    }
  }
}

extension ArraySlice<UInt8> {
  /// Of a picture in I420 of limited range, as its tags have it.
  fileprivate func colour(
    x: Int, y: Int, width: Int, height: Int, isBT601: Bool
  ) -> StillPicture.Colour {
    let chroma = startIndex + width * height + y / 2 * (width / 2) + x / 2
    let luma = Double(Int(self[startIndex + y * width + x]) - 16) * 255 / 219
    let blueness = Double(Int(self[chroma]) - 128) * 255 / 112
    let redness = Double(Int(self[chroma + width * height / 4]) - 128) * 255 / 112
    let (red, blue) = isBT601 ? (0.299, 0.114) : (0.2126, 0.0722)
    let (over, under) = ((1 - red) * redness, (1 - blue) * blueness)
    let parts = [luma + over, luma - (red * over + blue * under) / (1 - red - blue), luma + under]
    let bytes = parts.map { Int(Swift.min(Swift.max($0, 0), 255).rounded()) }
    return StillPicture.Colour(red: bytes[0], green: bytes[1], blue: bytes[2])
  }
}
