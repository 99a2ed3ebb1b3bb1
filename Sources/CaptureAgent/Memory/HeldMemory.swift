import Glibc

/// Pages of files without a name that the process holds a descriptor of: no limit counts them while they
/// are not mapped. Some hundred calls of the kernel: once a second, not oftener.
struct HeldMemory: Equatable {
  /// In files that the agent made: surfaces, coded buffers, the test pattern.
  private(set) var ownKB = 0
  /// In files of others: a screen's frames.
  private(set) var foreignKB = 0

  // The agent opens some thirty.
  private static let descriptorCount: Int32 = 128
  private static let ownName: StaticString = "/memfd:porthole"

  init() {
    var name = [CChar](repeating: 0, count: 64)
    var seen = InlineArray<64, UInt>(repeating: 0)
    var seenCount = 0
    for descriptor in 0..<Self.descriptorCount {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_nlink == 0
      else { continue }
      // Several descriptors may lead to one file.
      let isKnown = (0..<seenCount).contains { seen[$0] == UInt(status.st_ino) }
      guard !isKnown, seenCount < seen.count else { continue }
      seen[seenCount] = UInt(status.st_ino)
      seenCount += 1
      let kB = Int(status.st_blocks) / 2
      if Self.isOwn(descriptor, &name) { ownKB += kB } else { foreignKB += kB }
    }
  }

  /// By the name that a memfd was given.
  private static func isOwn(_ descriptor: Int32, _ name: inout [CChar]) -> Bool {
    let length = unsafe readlink("/proc/self/fd/\(descriptor)", &name, name.count)
    guard length >= ownName.utf8CodeUnitCount else { return false }
    return unsafe memcmp(name, ownName.utf8Start, ownName.utf8CodeUnitCount) == 0
  }
}
