import Foundation
import TestSupport

/// When a file's pictures flash and when its sound beeps, in seconds of the file's clock.
struct Moments {
  let flips: [Double]
  let beeps: [Double]

  // Of a file of 20 minutes all pictures are decoded.
  private static let patience = Duration.seconds(isLongRun ? 600 : 30)

  /// Reads `window.py --flips`, and a `BeepPlayer` or a `SkewedDevice` in the file's `track` of sound.
  init(of file: String, track: Int = 0, in directory: TestDirectory) throws {
    flips = try Self.flips(in: file, directory)
    beeps = try Self.beeps(in: file, track, directory)
  }

  /// How far the sound lies behind the picture in a part of the file, in seconds: the median. The window
  /// was drawn at `drawn`, and the beeps were played at whole seconds, of the same clock. nil: too little
  /// was found.
  func soundBehindPicture(drawn: [Double], part: Range<Double>) -> Double? {
    guard let end = flips.last, let first = flips.first else { return nil }
    let range = first + (end - first) * part.lowerBound...first + (end - first) * part.upperBound
    let shown = flips.filter(range.contains)
    // The file's clock began at an unknown time: the one by which most flips fit.
    let offsets = drawn.compactMap { start -> (offset: Double, fits: [Double])? in
      guard let one = shown.first else { return nil }
      let fits = shown.compactMap { time -> Double? in
        let step = Self.nearest(to: time + start - one, in: drawn) - (time + start - one)
        return abs(step) < 0.06 ? step + start - one : nil
      }
      return (start - one, fits)
    }
    guard let best = offsets.max(by: { $0.fits.count < $1.fits.count }), best.fits.count > 5 else {
      return nil
    }
    let offset = Self.median(best.fits)
    let steps = beeps.filter(range.contains).map { time -> Double in
      let moment = time + offset
      return moment - moment.rounded()
    }
    return steps.count < 3 ? nil : Self.median(steps)
  }

  /// In times that rise.
  private static func nearest(to time: Double, in times: [Double]) -> Double {
    var (low, high) = (0, times.count - 1)
    while high - low > 1 {
      let middle = (low + high) / 2
      if times[middle] < time { low = middle } else { high = middle }
    }
    return abs(times[low] - time) < abs(times[high] - time) ? times[low] : times[high]
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func flips(in file: String, _ directory: TestDirectory) throws -> [Double] {
    let levels = directory.file("levels")
    let words = [
      "-nostdin", "-y", "-v", "error", "-i", file, "-map", "0:v", "-fps_mode", "passthrough", "-vf",
      // The middle of the square that flips.
      "crop=64:64:1120:416,scale=1:1:flags=area,format=gray", "-f", "rawvideo", levels,
    ]
    let run = try ProcessRun.run(
      "ffmpeg", words, name: "levels", in: directory, within: Self.patience)
    guard run.exitCode == 0 else { throw ProcessFailure(description: run.errors) }
    let times = try times(of: "v", in: file, directory)
    let pictures = zip(times, try readFile(levels)).map { (time: $0, isWhite: $1 > 128) }
    return zip(pictures, pictures.dropFirst()).filter { $0.isWhite != $1.isWhite }.map { $1.time }
  }

  private static func beeps(
    in file: String, _ track: Int, _ directory: TestDirectory
  ) throws -> [Double] {
    // Of each packet: on a busy machine some samples are missing between two.
    let starts = try times(of: "a:\(track)", in: file, directory)
    let samples = try Tone.samples(of: file, track: track, in: directory)
    var found: [Double] = []
    var quiet = 0
    for (index, sample) in samples.enumerated() {
      if abs(sample) < 0.1 {
        quiet += 1
      } else {
        if quiet > 24_000, index / 960 < starts.count {
          found.append(starts[index / 960] + Double(index % 960) / 48_000)
        }
        quiet = 0
      }
    }
    return found
  }

  private static func times(
    of stream: String, in file: String, _ directory: TestDirectory
  ) throws -> [Double] {
    let words = [
      "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of",
      "csv=p=0",
      file,
    ]
    let run = try ProcessRun.run(
      "ffprobe", words, name: "times-\(stream)", in: directory, within: Self.patience)
    return run.output.split(separator: "\n").compactMap {
      Double($0.split(separator: ",")[0])
    }
  }
}
