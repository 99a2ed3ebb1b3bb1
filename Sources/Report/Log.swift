internal import Glibc
internal import Synchronization

/// Lines on standard error, each written in one call: `host-relay: link 3: closed: silent for 5 s`.
package enum Log {
  /// The program's name in front of each line; set once, first thing.
  package static func setProgram(_ name: String) { program.withLock { $0 = name } }

  package static func note(_ line: String) {
    let text = "\(program.withLock { $0 }): \(oneLine(line))\n"
    let (isHeld, isFull) = held.withLock { held in
      held?.append(text)
      return (held != nil, held?.count ?? 0 >= mostHeld)
    }
    if !isHeld { write(text) }
    if isFull { release() }
  }

  /// Keeps lines back until `release`, or until there are so many that something goes on; those that are
  /// still held at the process's end are never written.
  package static func hold() { held.withLock { $0 = $0 ?? [] } }

  /// Writes what was kept back, and from then on what comes.
  package static func release() {
    let lines = held.withLock { held in
      defer { held = nil }
      return held ?? []
    }
    for line in lines { write(line) }
  }

  private static func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(2, $0.baseAddress, $0.count) }
      if written <= 0 {
        if written < 0, errno == EINTR { continue }
        return  // Nobody reads: there is no better place to say so.
      }
      bytes = bytes.dropFirst(written)
    }
  }

  private static let program = Mutex("porthole")
  private static let mostHeld = 64
  /// nil: nothing is kept back.
  private static let held = Mutex<[String]?>(nil)

  /// Text from outside must not forge lines or move a terminal's cursor.
  package static func oneLine(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.isPlain ? $0 : " " }))
  }
}
