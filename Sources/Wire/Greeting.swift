/// The first message of either side. The side that connected speaks first.
///
///     8     4         1      4     8          8         4       2 + n
///     magic version   role   pid   instance   session   epoch   key
///
/// On the agent's link both greetings carry the same 32-byte token. A consumer's key is the viewer
/// key, or empty where none is needed.
package struct Greeting: Equatable, Sendable {
  package static let magic: [UInt8] = Array("PORTHOLE".utf8)
  /// Bytes.
  package static let keyLimit = 64

  package enum Role: UInt8, Sendable {
    case agent = 1
    case relay = 2
    case consumer = 3
  }

  package var version = WireVersion.current
  package var role: Role
  package var pid: UInt32
  /// Tells one process from the next: when it started, nanoseconds of CLOCK_BOOTTIME.
  package var instance: UInt64
  /// The relay's session, 0 where there is none yet.
  package var session: UInt64
  /// Which of the session's agents this is, counted from 1; 0 where there is none yet.
  package var epoch: UInt32
  package var key: [UInt8]

  package init(
    role: Role, pid: UInt32, instance: UInt64, session: UInt64 = 0, epoch: UInt32 = 0,
    key: [UInt8] = []
  ) {
    self.role = role
    self.pid = pid
    self.instance = instance
    self.session = session
    self.epoch = epoch
    self.key = key
  }

  func write(to fields: inout FieldWriter) {
    for byte in Self.magic { fields.put(byte) }
    fields.put(version)
    fields.put(role.rawValue)
    fields.put(pid)
    fields.put(instance)
    fields.put(session)
    fields.put(epoch)
    fields.put(key)
  }

  /// The version is judged before anything behind it is read.
  init(from fields: inout FieldReader) throws(WireError) {
    for byte in Self.magic where try fields.read(UInt8.self) != byte { throw .notPorthole }
    version = try fields.read()
    guard version == WireVersion.current else { throw .otherVersion(version) }
    guard let role = Role(rawValue: try fields.read()) else { throw .invalid("role") }
    self.role = role
    pid = try fields.read()
    instance = try fields.read()
    session = try fields.read()
    epoch = try fields.read()
    key = try fields.readBytes(max: Self.keyLimit, "key")
  }
}
