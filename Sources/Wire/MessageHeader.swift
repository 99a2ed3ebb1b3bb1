/// What stands before every payload: 24 bytes, big-endian.
///
///      0      4       8                16       20       24
///     | kind | flags | pts            | stream | length |
///
/// `pts` counts nanoseconds and is signed; `length` counts payload bytes and never exceeds
/// `WireLimits.payload`. A message that is not about a stream says stream 0 and PTS 0.
package struct MessageHeader: Equatable, Sendable {
  package static let byteCount = 24

  package var kind: MessageKind
  package var flags: MessageFlags
  package var pts: Int64
  package var stream: UInt32
  package var length: Int

  package init(
    kind: MessageKind, flags: MessageFlags = [], pts: Int64 = 0, stream: UInt32 = 0, length: Int
  ) {
    self.kind = kind
    self.flags = flags
    self.pts = pts
    self.stream = stream
    self.length = length
  }

  /// Reads the first 24 bytes of `bytes`; `payloadLimit` is checked before anything is kept.
  package init(_ bytes: Span<UInt8>, payloadLimit: Int) throws(WireError) {
    precondition(bytes.count >= Self.byteCount, "a header has 24 bytes")
    let rawKind = UInt32(bigEndian: bytes, at: 0)
    guard let kind = MessageKind(rawValue: rawKind) else {
      if Self.httpWords.contains(rawKind) { throw .looksLikeHTTP }
      throw .unknownKind(rawKind)
    }
    let length = Int(UInt32(bigEndian: bytes, at: 20))
    guard length <= payloadLimit else {
      throw .payloadTooLong(length: length, limit: payloadLimit)
    }
    self.kind = kind
    flags = MessageFlags(rawValue: UInt32(bigEndian: bytes, at: 4))
    pts = Int64(bitPattern: UInt64(bigEndian: bytes, at: 8))
    stream = UInt32(bigEndian: bytes, at: 16)
    self.length = length
  }

  /// Writes the header over the first 24 bytes of `bytes`.
  package func write(to bytes: inout MutableSpan<UInt8>) {
    precondition(bytes.count >= Self.byteCount, "a header has 24 bytes")
    put(kind.rawValue, at: 0)
    put(flags.rawValue, at: 4)
    put(UInt32(truncatingIfNeeded: pts >> 32), at: 8)
    put(UInt32(truncatingIfNeeded: pts), at: 12)
    put(stream, at: 16)
    put(UInt32(length), at: 20)

    func put(_ value: UInt32, at offset: Int) {
      for byte in 0..<4 {
        bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * byte))
      }
    }
  }

  /// The first four letters of what a browser would say to a port it was pointed at.
  private static let httpWords: Set<UInt32> = Set(
    ["GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "CONN", "TRAC", "PATC", "PRI "].map { word in
      word.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    })

  /// Whether a first word, as it came, is that of an HTTP request: a listener need not wait for 24
  /// bytes to see it.
  package static func looksLikeHTTP(_ bytes: Span<UInt8>) -> Bool {
    bytes.count >= 4 && httpWords.contains(UInt32(bigEndian: bytes, at: 0))
  }
}

/// Flags of a packet; all other messages have none.
package struct MessageFlags: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A decoder may start here: the access unit is an IDR with its parameter sets.
  package static let keyframe = MessageFlags(rawValue: 1)
  /// The picture is the one before it, sent again for those who hold pictures back.
  package static let unchanged = MessageFlags(rawValue: 2)
  /// Time does not go on from the packet before.
  package static let discontinuity = MessageFlags(rawValue: 4)
}

extension UInt32 {
  /// Four bytes of `bytes` from `offset`.
  init(bigEndian bytes: Span<UInt8>, at offset: Int) {
    self = (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[offset + $1]) }
  }
}

extension UInt64 {
  /// Eight bytes of `bytes` from `offset`.
  init(bigEndian bytes: Span<UInt8>, at offset: Int) {
    self =
      UInt64(UInt32(bigEndian: bytes, at: offset)) << 32
      | UInt64(UInt32(bigEndian: bytes, at: offset + 4))
  }
}
