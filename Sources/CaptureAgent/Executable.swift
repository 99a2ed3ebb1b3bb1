import Glibc

/// The program that runs.
enum Executable {
  /// Where it lies, and the software driver's module beside it.
  static var folder: String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &path, path.count)
    let text = String(
      decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    return text.lastIndex(of: "/").map { String(text[..<$0]) } ?? "."
  }
}
