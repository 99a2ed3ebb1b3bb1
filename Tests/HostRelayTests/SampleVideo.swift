import Bitstream
import TestSupport

/// H.264 that ffmpeg made and a demuxer of another house reads back.
struct SampleVideo {
  /// Access units with AUD, SPS and PPS in front of each keyframe.
  let accessUnits: [(isKeyframe: Bool, bytes: [UInt8])]

  /// 60 numbered pictures, 30 a second, a keyframe every 20.
  init(profile: String = "baseline", in directory: TestDirectory) throws {
    let path = directory.file("sample.h264")
    _ = try ProcessRun.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=30", "-frames:v", "60",
        "-pix_fmt", "yuv420p", "-c:v", "libx264", "-profile:v", profile, "-tune", "zerolatency",
        "-g", "20", "-x264-params", "aud=1:scenecut=0:repeat-headers=1:weightp=0", "-f", "h264",
        path,
      ], in: directory)
    var units: [(isKeyframe: Bool, bytes: [UInt8])] = []
    let bytes = try readFile(path)
    for unit in AnnexB.units(in: bytes.span) {
      let header = try NALUnitHeader(byte: bytes[unit.lowerBound])
      switch header.type {
      case .accessUnitDelimiter: units.append((false, []))
      case .sequenceParameterSet: units[units.count - 1].isKeyframe = true
      default: break
      }
      units[units.count - 1].bytes += try Self.normal(header, Array(bytes[unit]))
    }
    accessUnits = units
  }

  /// The unit as our encoders write it: x264 says things in its SPS that Bitstream does not.
  private static func normal(_ header: NALUnitHeader, _ unit: [UInt8]) throws -> [UInt8] {
    guard header.type == .sequenceParameterSet else { return AnnexB.startCode + unit }
    let payload = Array(unit.dropFirst())
    let set = try SequenceParameterSet(rbsp: EmulationPrevention.removed(from: payload.span))
    return AnnexB.unit(header, rbsp: set.rbsp())
  }

  /// MD5 of each picture that ffmpeg decodes of the file at `path`, in order; throws what it
  /// complains of.
  static func pictures(of path: String, in directory: TestDirectory) throws -> [String] {
    let run = try ProcessRun.run(
      "ffmpeg", ["-v", "warning", "-i", path, "-fps_mode", "passthrough", "-f", "framemd5", "-"],
      in: directory)
    guard run.errors.isEmpty else { throw ProcessFailure(description: run.errors) }
    return run.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
      $0.split(separator: ",").last.map { $0.filter { !$0.isWhitespace } }
    }
  }
}
