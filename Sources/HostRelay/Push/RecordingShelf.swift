import CommandOptions
import Glibc
import Posix

/// The files of one `--record FILE`: FILE itself, and beside it FILE-2, FILE-3 and so on, one for each
/// run. Nothing is ever written over.
///
/// A disk may stall, so all that touches it is called on a thread beside the loop.
struct RecordingShelf: Sendable {
  struct Entry: Sendable {
    let name: String
    let byteCount: Int
    /// Seconds since 1970.
    let modified: Int
  }

  let format: MediaFormat
  private let folder: String
  private let stem: String
  /// With its dot.
  private let ending: String

  /// A file with a higher number is none of ours.
  private static let highestNumber = 999_999_999
  /// How many files the list has at most, newest first.
  private static let listLimit = 1000

  /// Throws where the name's ending is no format, or its folder is not there.
  init(file path: String, option: String) throws(UsageError) {
    let slash = path.lastIndex(of: "/")
    folder = slash.map { String(path[...$0]) } ?? "./"
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex,
      let format = MediaFormat(path: String(name)), format != .hls
    else {
      throw UsageError("\(option) \(path): expected a name that ends in .mp4, .mkv, .ts or .flv")
    }
    guard Self.isFolder(folder) else {
      throw UsageError("\(option) \(path): there is no \(folder)")
    }
    guard unsafe access(folder, W_OK | X_OK) == 0 else {
      throw UsageError("\(option) \(path): \(folder) cannot be written to")
    }
    self.format = format
    stem = String(name[..<dot])
    ending = String(name[dot...])
  }

  /// The first file, which the others are counted behind.
  var firstFile: String { path(of: stem + ending) }

  /// A name that is not taken: behind the highest number that is there.
  func nextFile() -> String {
    let highest = names().compactMap(number).max() ?? 0
    return path(of: highest == 0 ? stem + ending : "\(stem)-\(highest + 1)\(ending)")
  }

  /// What is there, newest first.
  func list() -> [Entry] {
    let entries = names().compactMap { name -> Entry? in
      var found = stat()
      guard number(name) != nil, unsafe lstat(path(of: name), &found) == 0,
        found.st_mode & S_IFMT == S_IFREG
      else { return nil }
      return Entry(
        name: name, byteCount: Int(found.st_size), modified: Int(found.st_mtim.tv_sec))
    }
    return Array(
      entries.sorted { ($0.modified, $0.name) > ($1.modified, $1.name) }
        .prefix(Self.listLimit))
  }

  /// The open file of this name; nil where it is none of the shelf's.
  func open(_ name: String) -> RecordingFile? {
    guard number(name) != nil else { return nil }
    let descriptor = unsafe Glibc.open(
      path(of: name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = OwnedFD(descriptor)
    var found = stat()
    guard unsafe fstat(file.raw, &found) == 0, found.st_mode & S_IFMT == S_IFREG else { return nil }
    return RecordingFile(file, byteCount: Int(found.st_size), mediaType: format.mediaType)
  }

  /// Whether this is a name of the shelf's, file or not.
  func owns(_ name: String) -> Bool { number(name) != nil }

  /// Whether the file was there, and is gone.
  func delete(_ name: String) -> Bool {
    guard owns(name) else { return false }
    return unsafe unlink(path(of: name)) == 0
  }

  /// The name of the file at `path`, without its folder.
  static func name(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  private func path(of name: String) -> String { folder + name }

  /// 1 for the first file, N for `stem-N`; nil for a name that is none of the shelf's, so also for
  /// one that leads out of the folder.
  private func number(_ name: String) -> Int? {
    guard name.hasPrefix(stem), name.hasSuffix(ending) else { return nil }
    let middle = name.dropFirst(stem.count).dropLast(ending.count)
    guard name.utf8.count >= stem.utf8.count + ending.utf8.count else { return nil }
    if middle.isEmpty { return 1 }
    guard middle.first == "-", let number = Int(middle.dropFirst()),
      (2...Self.highestNumber).contains(number), middle == "-\(number)"
    else { return nil }
    return number
  }

  private func names() -> [String] {
    guard let handle = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(handle) }
    var names: [String] = []
    while let entry = unsafe readdir(handle) {
      names.append(
        unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
          unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        })
    }
    return names
  }

  private static func isFolder(_ path: String) -> Bool {
    var found = stat()
    return unsafe stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
  }
}
