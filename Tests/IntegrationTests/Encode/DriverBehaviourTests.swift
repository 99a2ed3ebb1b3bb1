import Bitstream
import Foundation
import TestSupport
import Testing
import VAAPI

@testable import CaptureAgent

/// The encoder on drivers that offer less, write their own headers, or fail: the software driver behaves
/// so on demand.
///
/// What it does is a variable of the process, so each test is a process of its own.
struct DriverBehaviourTests {
  @Test("whatever the driver is like, its stream decodes, and says its colours and its order")
  func personalities() async {
    await #expect(processExitsWith: .success) {
      for personality in [
        "", "intel", "intel-cqp", "amd-old", "amd-24", "amd-new", "sync-old", "segments",
        "no-derive", "amd-old,segments", "intel,no-derive,sync-old",
      ] {
        setenv("PORTHOLE_DRIVER_PERSONALITY", personality, 1)
        let size = (width: 162, height: 98)
        let frames = try DrawnFrames(width: size.width, height: size.height)
        let encoder = try softwareEncoder(width: size.width, height: size.height)
        var stream: [UInt8] = []
        for number in 0..<75 {
          frames.draw { x, y in color(x, y, number) }
          try encoder.load(frames.frame())
          let unit = try encoder.encode(keyframe: number == 40, pts: Int64(number))
          #expect(unit.isKeyframe == (number == 0 || number == 40))
          if unit.isKeyframe {
            let bytes = unit.bytes()
            #expect(bytes.starts(with: encoder.stream.parameterSets), "\(personality)")
            let set = try #require(try sequenceSet(in: bytes), "\(personality)")
            #expect(set.vui?.colour == .bt709, "\(personality)")
            #expect(set.vui?.restriction?.maxReorderFrames == 0, "\(personality)")
            #expect((set.displayWidth, set.displayHeight) == size, "\(personality)")
            #expect(set.codecString == encoder.stream.codec)
          }
          stream += unit.bytes()
        }
        let decoded = try DecodedPictures(
          annexB: stream, width: size.width, height: size.height)
        #expect(decoded.isClean, "\(personality): \(decoded.log)")
        try #require(decoded.pictures.count == 75, "\(personality)")
        for number in [0, 39, 40, 74] {
          let ideal = ideal(width: size.width, height: size.height) { x, y in
            color(x, y, number)
          }
          #expect(signalToNoise(decoded.pictures[number], ideal) > 27, "\(personality)")
        }
      }
    }
  }

  @Test("a driver that only decodes, and one whose slices nothing decodes, are refused by name")
  func refusals() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_PERSONALITY", "decode-only", 1)
      let refusal = #expect(throws: EncoderError.self) {
        _ = try softwareEncoder(width: 64, height: 64)
      }
      #expect("\(refusal.map { "\($0)" } ?? "")".contains("decodes H.264 but does not encode it"))
      // No packed headers are taken, and slices without one have the NAL unit byte 0.
      setenv("PORTHOLE_DRIVER_PERSONALITY", "amd-old,amd-new", 1)
      let frames = try DrawnFrames(width: 64, height: 64)
      let encoder = try softwareEncoder(width: 64, height: 64)
      try encoder.load(frames.frame())
      #expect {
        try encoder.encode(keyframe: false, pts: 0)
      } throws: { error in
        guard case .unavailable(let text) = error as? EncoderError else { return false }
        return text.contains("NAL units of type 0")
      }
    }
  }

  @Test("constant quantisers come with a warning, and what is offered is what is chosen")
  func choices() async {
    await #expect(processExitsWith: .success) {
      for (personality, mode, entrypoint) in [
        ("", RateControlModes.cbr, Entrypoint.encSliceLP), ("intel", .qvbr, .encSliceLP),
        ("intel-cqp", .cqp, .encSliceLP), ("amd-old", .cbr, .encSlice),
      ] {
        setenv("PORTHOLE_DRIVER_PERSONALITY", personality, 1)
        let display = try Display.open(.none, driverFolder: builtProducts)
        let choice = try EncoderChoice(on: display, profile: nil)
        #expect(choice.rateControl == mode, "\(personality)")
        #expect(choice.capability.entrypoint == entrypoint, "\(personality)")
        #expect(choice.warnings.isEmpty == (mode != .cqp), "\(personality)")
        if mode == .cqp { #expect(choice.warnings.first?.contains("HuC") == true) }
      }
    }
  }

  @Test("each call that fails costs one picture and brings a keyframe, and no object is left")
  func faults() async {
    await #expect(processExitsWith: .success) {
      let leaks = FileManager.default.temporaryDirectory.appending(path: "leaks-\(UUID())")
      defer { try? FileManager.default.removeItem(at: leaks) }
      setenv("PORTHOLE_DRIVER_LEAKS", leaks.path, 1)
      for fault in [
        "vaBeginPicture@5", "vaRenderPicture@5", "vaEndPicture@5", "vaSyncBuffer@7",
        "vaMapBuffer@6",
        "vaCreateBuffer@30", "vaDeriveImage@4", "vaEndPicture@5=2", "bad-bitstream@5",
      ] {
        setenv("PORTHOLE_DRIVER_FAULTS", fault, 1)
        let frames = try DrawnFrames(width: 320, height: 192)
        let encoder = try softwareEncoder(width: 320, height: 192)
        var stream: [UInt8] = []
        var keyframes: [Int] = []
        var lost: [Int] = []
        for number in 0..<12 {
          frames.draw { x, y in color(x, y, number) }
          do {
            try encoder.load(frames.frame())
            let unit = try encoder.encode(keyframe: false, pts: 0)
            if unit.isKeyframe { keyframes.append(number) }
            stream += unit.bytes()
          } catch {
            lost.append(number)
          }
        }
        #expect(lost.count <= 1, "\(fault): \(lost)")
        #expect(keyframes == [0] + lost.map { $0 + 1 }, "\(fault)")
        let decoded = try DecodedPictures(annexB: stream, width: 320, height: 192)
        #expect(decoded.isClean, "\(fault): \(decoded.log)")
        #expect(decoded.pictures.count == 12 - lost.count, "\(fault)")
      }
      try expectNothingLeft(in: leaks)
    }
  }

  @Test("a picture that does not fit its buffer comes as a keyframe from a larger one")
  func overflow() async {
    await #expect(processExitsWith: .success) {
      for fault in ["overflow@3", "vaEndPicture@3=37"] {
        setenv("PORTHOLE_DRIVER_FAULTS", fault, 1)
        let frames = try DrawnFrames(width: 320, height: 192)
        let encoder = try softwareEncoder(width: 320, height: 192)
        try encoder.load(frames.frame())
        var stream: [UInt8] = []
        let kinds = try (0..<5).map { number in
          let unit = try encoder.encode(keyframe: false, pts: Int64(number))
          stream += unit.bytes()
          return unit.isKeyframe
        }
        #expect(kinds == [true, false, true, false, false], "\(fault): \(kinds)")
        let decoded = try DecodedPictures(annexB: stream, width: 320, height: 192)
        #expect(decoded.isClean && decoded.pictures.count == 5, "\(decoded.log)")
      }
    }
  }

  @Test("a device that is lost is opened anew, and goes on with the next frame")
  func loss() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_FAULTS", "vaEndPicture@4+", 1)
      let frames = try DrawnFrames(width: 320, height: 192)
      let encoder = try softwareEncoder(width: 320, height: 192)
      var kinds: [String] = []
      for number in 0..<9 {
        do {
          try encoder.load(frames.frame())
          kinds.append(try encoder.encode(keyframe: false, pts: 0).isKeyframe ? "I" : "P")
        } catch {
          kinds.append("-")
          // The device that is opened next works.
          if number == 5 { unsetenv("PORTHOLE_DRIVER_FAULTS") }
        }
      }
      #expect(kinds == ["I", "P", "P", "-", "-", "-", "I", "P", "P"], "\(kinds)")
    }
  }

  /// There the picture was gone until the screen changed.
  @Test("a device that is lost under a still screen is opened anew with the last picture")
  func stillLoss() async {
    await #expect(processExitsWith: .success) {
      setenv("PORTHOLE_DRIVER_FAULTS", "vaEndPicture@2+", 1)
      let frames = try DrawnFrames(width: 320, height: 192)
      frames.draw(letters)
      let encoder = try softwareEncoder(width: 320, height: 192)
      try encoder.load(frames.frame())
      var units = [try encoder.encode(keyframe: false, pts: 0).bytes()]
      for _ in 0..<3 {
        #expect(throws: EncoderError.self) { try encoder.encode(keyframe: true, pts: 0) }
        #expect(encoder.hasPicture)
      }
      unsetenv("PORTHOLE_DRIVER_FAULTS")
      let unit = try encoder.encode(keyframe: false, pts: 0)
      #expect(unit.isKeyframe)
      units.append(unit.bytes())
      let pictures = try units.map { bytes in
        let decoded = try DecodedPictures(annexB: bytes, width: 320, height: 192)
        #expect(decoded.isClean && decoded.pictures.count == 1, "\(decoded.log)")
        return decoded.pictures
      }
      #expect(pictures[0] == pictures[1])
    }
  }

  @Test("a bit rate changes within a context, or with a new one where drivers need it")
  func bitrate() async {
    await #expect(processExitsWith: .success) {
      for personality in ["", "intel", "amd-old", "amd-new"] {
        setenv("PORTHOLE_DRIVER_PERSONALITY", personality, 1)
        let frames = try DrawnFrames(width: 320, height: 192)
        let encoder = try softwareEncoder(width: 320, height: 192)
        var stream: [UInt8] = []
        var count = 0
        func bytes(ofPictures pictures: Int) throws -> (bytes: Int, keyframes: Int) {
          var total = (bytes: 0, keyframes: 0)
          for _ in 0..<pictures {
            let number = count
            count += 1
            frames.draw { x, y in color(x + number * 5, y, number) }
            try encoder.load(frames.frame())
            let unit = try encoder.encode(keyframe: false, pts: 0)
            total.bytes += unit.byteCount
            if unit.isKeyframe { total.keyframes += 1 }
            stream += unit.bytes()
          }
          return total
        }
        // So far apart that a slow machine's pauses, in which bits are saved up, do not matter.
        encoder.setBitrate(40_000_000)
        let high = try bytes(ofPictures: 15)
        encoder.setBitrate(100_000)
        let change = try bytes(ofPictures: 15)
        let low = try bytes(ofPictures: 15)
        #expect(low.bytes < high.bytes / 2, "\(personality): \(high.bytes), \(low.bytes)")
        #expect(change.keyframes == (personality.hasPrefix("amd") ? 1 : 0), "\(personality)")
        let decoded = try DecodedPictures(annexB: stream, width: 320, height: 192)
        #expect(decoded.isClean && decoded.pictures.count == count, "\(decoded.log)")
      }
    }
  }
}

/// The first sequence parameter set of an access unit.
func sequenceSet(in bytes: [UInt8]) throws -> SequenceParameterSet? {
  for range in AnnexB.units(in: bytes.span) {
    guard try NALUnitHeader(byte: bytes[range.lowerBound]).type == .sequenceParameterSet else {
      continue
    }
    let payload = Array(bytes[range.dropFirst()])
    return try SequenceParameterSet(rbsp: EmulationPrevention.removed(from: payload.span))
  }
  return nil
}

/// What the driver wrote of each display that was closed.
func expectNothingLeft(in file: URL) throws {
  let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
  #expect(!lines.isEmpty)
  for line in lines {
    let figures = line.split { !$0.isNumber }.compactMap { Int($0) }
    #expect(figures.allSatisfy { $0 == 0 }, "\(line)")
  }
}
