import Glibc
import TestSupport
import Testing

/// An X server without a screen, and programs that find our driver through it: no other display lets
/// a program that is not ours load a driver without a device.
struct DriverDesk {
  let directory: TestDirectory
  private let server: ProcessRun
  private let display: String

  init(in directory: TestDirectory) throws {
    self.directory = directory
    // It writes the number that it found free, once it listens.
    let server = try ProcessRun(
      "Xvfb", ["-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp"], in: directory)
    self.server = server
    display = try waitUntil("a number from Xvfb", within: .seconds(30)) {
      let text = server.output
      return text.hasSuffix("\n") ? ":" + text.dropLast() : nil
    }
  }

  var reconstructionPath: String { directory.file("reconstructions.nv12") }
  private var leakPath: String { directory.file("leaks") }

  /// Runs a program on the driver; fails when the program does, or when it leaves something behind.
  @discardableResult
  func run(
    _ program: String, _ arguments: [String], mode: String = "lossy",
    environment: [String: String] = [:]
  ) throws -> ProcessRun {
    unlink(reconstructionPath)
    unlink(leakPath)
    let own = [
      "DISPLAY": display, "LIBVA_DRIVER_NAME": "libporthole", "LIBVA_DRIVERS_PATH": builtProducts,
      // Without this the plugin lists no element for a driver that it does not know.
      "GST_VAAPI_ALL_DRIVERS": "1", "GST_REGISTRY": directory.file("registry"),
      "XDG_RUNTIME_DIR": directory.path, "WAYLAND_DISPLAY": "", "PORTHOLE_DRIVER_MODE": mode,
      "PORTHOLE_DRIVER_RECONSTRUCTIONS": reconstructionPath, "PORTHOLE_DRIVER_LEAKS": leakPath,
    ]
    let run = try ProcessRun.run(
      program, arguments, environment: own.merging(environment) { $1 }, in: directory,
      within: .seconds(60))
    try #require(run.exitCode == 0, "\(program): \(run.errors.suffix(2000))")
    // One line for each display; a program may open several.
    let leaks = try String(decoding: readFile(leakPath), as: UTF8.self).split(separator: "\n")
    #expect(!leaks.isEmpty)
    for line in leaks {
      #expect(line.split(separator: ",").allSatisfy { $0.trimmed.hasPrefix("0 ") }, "\(line)")
    }
    return run
  }

  /// What `ffmpeg` decodes from a stream as NV12, and what it complained of; damage that it conceals it
  /// does not call an error.
  func decode(_ stream: String) throws -> (bytes: [UInt8], complaints: [Substring], log: String) {
    let output = directory.file("decoded.nv12")
    let run = try ProcessRun.run(
      "ffmpeg",
      [
        "-nostdin", "-hide_banner", "-v", "info", "-f", "h264", "-i", stream, "-fps_mode",
        "passthrough", "-pix_fmt", "nv12", "-f", "rawvideo", "-y", output,
      ], name: "decode", in: directory, within: .seconds(60))
    let words = ["error", "conceal", "invalid", "missing", "corrupt"]
    let log = run.errors
    let complaints = log.split(separator: "\n").filter { line in
      words.contains { line.lowercased().contains($0) }
    }
    return (try readFile(output), complaints, log)
  }

  /// The stream decodes to what the driver reconstructed, `count` pictures of 320 by 180.
  func expectExact(_ stream: String, count: Int, profile: String) throws {
    let decoded = try decode(stream)
    #expect(decoded.complaints == [])
    #expect(decoded.log.contains("h264 (\(profile))"))
    #expect(decoded.bytes.count == count * 320 * 180 * 3 / 2)
    let isExact = try decoded.bytes == readFile(reconstructionPath)
    #expect(isExact, "the decoder shows other pictures than the driver reconstructed")
  }
}

extension Substring {
  fileprivate var trimmed: Substring { drop { $0 == " " } }
}
