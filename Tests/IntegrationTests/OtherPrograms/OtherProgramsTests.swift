import Foundation
import TestSupport
import Testing

/// Programs that are not ours run on our driver: what they encode decodes to what the driver
/// reconstructed, bit for bit, and they leave nothing behind.
@Suite(.serialized)
struct OtherProgramsTests {
  /// A moving picture of 320 by 180, whose height is no whole number of macroblocks.
  private let ffmpegSource = [
    "-nostdin", "-hide_banner", "-v", "warning", "-init_hw_device",
    "vaapi=va:,connection_type=x11", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=15", "-frames:v",
    "12",
  ]
  private let gstSource = [
    "-q", "videotestsrc", "num-buffers=8", "pattern=ball", "!",
    "video/x-raw,format=NV12,width=320,height=180,framerate=15/1", "!",
  ]

  @Test("vainfo lists what there is to encode and to process with")
  func vainfo() throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      let lines = try desk.run("vainfo", ["--display", "x11"]).output.split(separator: "\n")
      func lists(_ profile: String, _ entrypoint: String) -> Bool {
        lines.contains { line in
          let words = line.split { $0 == " " || $0 == "\t" || $0 == ":" }
          return words.map(String.init) == [profile, entrypoint]
        }
      }
      for profile in ["ConstrainedBaseline", "Main", "High"] {
        #expect(lists("VAProfileH264\(profile)", "VAEntrypointEncSlice"))
        #expect(lists("VAProfileH264\(profile)", "VAEntrypointEncSliceLP"))
      }
      #expect(lists("VAProfileNone", "VAEntrypointVideoProc"))
    }
  }

  @Test(
    "ffmpeg encodes with each profile and rate control",
    arguments: ["Constrained Baseline", "Main", "High"])
  func ffmpeg(profile: String) throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      let word = profile.lowercased().split(separator: " ").joined(separator: "_")
      for rateControl in ["CQP", "CBR", "VBR"] {
        let rate = rateControl == "CQP" ? ["-qp", "28"] : ["-b:v", "300k", "-maxrate", "400k"]
        let stream = directory.file("\(rateControl).h264")
        try desk.run(
          "ffmpeg",
          ffmpegSource + [
            "-vf", "format=nv12,hwupload", "-c:v", "h264_vaapi", "-bf", "0", "-g", "7",
            "-profile:v", word, "-rc_mode", rateControl,
          ] + rate + ["-y", stream])
        try desk.expectExact(stream, count: 12, profile: profile)
      }
    }
  }

  @Test("GStreamer encodes, with each profile and rate control, at either entrypoint")
  func gstreamer() throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      let choices = [
        ("constrained-baseline", ["rate-control=cqp", "init-qp=28", "tune=low-power"]),
        ("main", ["rate-control=cbr", "bitrate=400", "cabac=true"]),
        ("high", ["rate-control=vbr", "bitrate=400", "cabac=true", "dct8x8=true"]),
      ]
      for (profile, options) in choices {
        let stream = directory.file("\(profile).h264")
        try desk.run(
          "gst-launch-1.0",
          gstSource + ["vaapih264enc", "keyframe-period=5"] + options + [
            "!", "video/x-h264,stream-format=byte-stream,profile=\(profile)", "!", "filesink",
            "location=\(stream)",
          ])
        let name = profile.split(separator: "-").map(\.capitalized).joined(separator: " ")
        try desk.expectExact(stream, count: 8, profile: name)
      }
    }
  }

  @Test("in lossless mode ffmpeg's pictures come back as they were")
  func lossless() throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      let stream = directory.file("out.h264")
      let source = directory.file("source.nv12")
      try desk.run(
        "ffmpeg",
        ffmpegSource + [
          "-filter_complex", "format=nv12,split[a][b];[b]hwupload[up]", "-map", "[a]", "-f",
          "rawvideo", "-y", source, "-map", "[up]", "-c:v", "h264_vaapi", "-bf", "0",
          "-profile:v", "constrained_baseline", "-rc_mode", "CQP", "-qp", "26", "-frames:v", "12",
          "-y", stream,
        ], mode: "lossless")
      let decoded = try desk.decode(stream)
      #expect(decoded.complaints == [])
      let isExact = try decoded.bytes == readFile(source)
      #expect(isExact, "a lossless picture came back changed")
    }
  }

  @Test("vaapipostproc converts colours, by BT.601 at this size, and scales")
  func postprocess() throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      let output = directory.file("out.nv12")
      for format in ["BGRx", "RGBA", "NV12"] {
        try desk.run(
          "gst-launch-1.0",
          [
            "-q", "videotestsrc", "num-buffers=1", "pattern=smpte", "!",
            "video/x-raw,format=\(format),width=320,height=240", "!", "vaapipostproc",
            "width=160", "height=120", "!", "video/x-raw,format=NV12", "!", "filesink",
            "location=\(output)",
          ])
        let bytes = try readFile(output)
        try #require(bytes.count == 160 * 120 * 3 / 2)
        // The bars: white, yellow, cyan, green, magenta, red, blue; white at 235, the rest at 3/4.
        let bars: [SIMD3<Int>] = [
          [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222],
          [81, 90, 240], [41, 240, 110],
        ]
        for (bar, wanted) in bars.enumerated() {
          let x = (160 * bar + 80) / 7 & ~1
          let chroma = 160 * 120 + 160 * 20 + x
          let found: SIMD3<Int> = [
            Int(bytes[160 * 40 + x]), Int(bytes[chroma]), Int(bytes[chroma + 1]),
          ]
          for channel in 0..<3 {
            #expect(abs(found[channel] - wanted[channel]) <= 2, "\(format), bar \(bar): \(found)")
          }
        }
      }
    }
  }

  @Test("ffmpeg turns and mirrors as it does itself")
  func turning() throws {
    try withTestDirectory { directory in
      let desk = try DriverDesk(in: directory)
      for (word, ownFilter) in [
        ("clock", "transpose=clock"), ("cclock", "transpose=cclock"), ("reversal", "hflip,vflip"),
        ("clock_flip", "transpose=clock_flip"), ("hflip", "hflip"), ("vflip", "vflip"),
      ] {
        let ours = directory.file("ours.nv12")
        let theirs = directory.file("theirs.nv12")
        try desk.run(
          "ffmpeg",
          ffmpegSource + [
            "-filter_complex",
            "format=nv12,split[a][b];[a]hwupload,transpose_vaapi=dir=\(word),hwdownload,"
              + "format=nv12[va];[b]\(ownFilter)[own]",
            "-map", "[va]", "-frames:v", "1", "-f", "rawvideo", "-y", ours, "-map", "[own]",
            "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "nv12", "-y", theirs,
          ])
        let isSame = try readFile(ours) == readFile(theirs)
        #expect(isSame, "\(word)")
      }
    }
  }
}
