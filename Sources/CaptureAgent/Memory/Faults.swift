#if DEBUG
  import CMemoryGuard
  import Glibc
  import Synchronization

  /// What a debug build does wrong when a test asks for it by the environment; a release has none of it.
  ///
  /// `PORTHOLE_FAIL_ALLOCATION=N`: the Nth allocation fails, once; `N+`: and all that follow.
  /// `PORTHOLE_FAULTS`: SIGPWR makes every allocation from then on fail.
  /// `PORTHOLE_LEAK=BYTES` or `BYTES/N`: so much is lost with each packet, or with the first N.
  /// `PORTHOLE_HANG=N`: the encoder's thread does not come back from its Nth picture.
  enum Faults {
    /// Arms the failing allocation; after the guard.
    static func arm() {
      if variable("PORTHOLE_FAULTS") != nil {
        signal(SIGPWR) { _ in porthole_guard_fail(1, 1) }
      }
      guard let text = variable("PORTHOLE_FAIL_ALLOCATION") else { return }
      let isForGood = text.hasSuffix("+")
      guard let nth = UInt(isForGood ? String(text.dropLast()) : text) else { return }
      porthole_guard_fail(nth, isForGood ? 1 : 0)
    }

    /// With each packet.
    static func leak() {
      guard let wanted, unsafe leakedCount < wanted.packetCount else { return }
      unsafe leakedCount += 1
      guard let block = unsafe malloc(wanted.byteCount) else { return }
      unsafe memset(block, 1, wanted.byteCount)
    }

    /// With each picture, by the encoder's thread.
    static func hang() {
      guard let hangingPicture else { return }
      if pictureCount.add(1, ordering: .relaxed).newValue < hangingPicture { return }
      while true { pause() }
    }

    private static let hangingPicture = variable("PORTHOLE_HANG").flatMap { Int($0) }
    private static let pictureCount = Atomic(0)
    private static let wanted: (byteCount: Int, packetCount: Int)? = {
      guard let words = variable("PORTHOLE_LEAK")?.split(separator: "/"), let first = words.first,
        let byteCount = Int(first)
      else { return nil }
      return (byteCount, words.count > 1 ? Int(words[1]) ?? .max : .max)
    }()
    // Loop thread only.
    nonisolated(unsafe) private static var leakedCount = 0

    private static func variable(_ name: String) -> String? {
      unsafe getenv(name).map { unsafe String(cString: $0) }
    }
  }
#endif
