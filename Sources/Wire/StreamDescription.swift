/// What a decoder must know before the first packet of a stream, and again at each change. The
/// stream's number stands in the message's header.
///
///     1       1      4     4     4       4       4       4       4    4    2 + n   2 + n
///     source  codec  tb.n  tb.d  coded w coded h shown w shown h fps.n fps.d string sets
///
/// Opus has zeros for sizes and rate.
package struct StreamDescription: Equatable, Sendable {
  package enum Source: UInt8, CaseIterable, Sendable {
    case screen = 1
    case camera = 2
    case appSound = 3
    case microphone = 4

    /// The name in logs, in the status and for `ctl`.
    package var word: String {
      switch self {
      case .screen: "screen"
      case .camera: "camera"
      case .appSound: "app"
      case .microphone: "mic"
      }
    }
  }

  package enum Codec: UInt8, CaseIterable, Sendable {
    case h264 = 1
    case opus = 2
  }

  /// A fraction of seconds or of frames a second; neither part is 0 where it counts.
  package struct Fraction: Equatable, Sendable {
    package var numerator: UInt32
    package var denominator: UInt32
    package init(_ numerator: UInt32, _ denominator: UInt32) {
      self.numerator = numerator
      self.denominator = denominator
    }
  }

  /// In pixels.
  package struct Size: Equatable, Sendable {
    package var width: UInt32
    package var height: UInt32
    package init(width: UInt32, height: UInt32) {
      self.width = width
      self.height = height
    }
  }

  package var source: Source
  package var codec: Codec
  /// The unit of `MessageHeader.pts`.
  package var timeBase = Fraction(1, 1_000_000_000)
  package var codedSize: Size
  package var displaySize: Size
  /// The most frames a second that will come.
  package var frameRate: Fraction
  /// RFC 6381, for example `avc1.42C028`.
  package var codecString: String
  /// SPS and PPS in Annex B, as they also stand before each keyframe.
  package var parameterSets: [UInt8]

  package init(
    source: Source, codec: Codec, codedSize: Size, displaySize: Size, frameRate: Fraction,
    codecString: String, parameterSets: [UInt8]
  ) {
    self.source = source
    self.codec = codec
    self.codedSize = codedSize
    self.displaySize = displaySize
    self.frameRate = frameRate
    self.codecString = codecString
    self.parameterSets = parameterSets
  }

  func write(to fields: inout FieldWriter) {
    fields.put(source.rawValue)
    fields.put(codec.rawValue)
    for value in [
      timeBase.numerator, timeBase.denominator, codedSize.width, codedSize.height,
      displaySize.width, displaySize.height, frameRate.numerator, frameRate.denominator,
    ] { fields.put(value) }
    fields.put(codecString)
    fields.put(parameterSets)
  }

  init(from fields: inout FieldReader) throws(WireError) {
    guard let source = Source(rawValue: try fields.read()) else { throw .invalid("source") }
    guard let codec = Codec(rawValue: try fields.read()) else { throw .invalid("codec") }
    self.source = source
    self.codec = codec
    timeBase = Fraction(try fields.read(), try fields.read())
    codedSize = Size(width: try fields.read(), height: try fields.read())
    displaySize = Size(width: try fields.read(), height: try fields.read())
    frameRate = Fraction(try fields.read(), try fields.read())
    codecString = try fields.readText("codec string")
    parameterSets = try fields.readBytes(max: WireLimits.parameterSets, "parameter sets")
    guard timeBase.numerator > 0, timeBase.denominator > 0 else { throw .invalid("time base") }
    guard codedSize.width <= 16384, codedSize.height <= 16384,
      displaySize.width <= codedSize.width, displaySize.height <= codedSize.height
    else { throw .invalid("size") }
  }
}
