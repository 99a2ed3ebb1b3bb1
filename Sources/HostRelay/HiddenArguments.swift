import Glibc

/// The process's own argument list, which every user of the machine can read.
enum HiddenArguments {
  /// Writes over the values of these options, once they are read: they hold keys.
  /// `words`: beginnings of others that do.
  static func hide(_ options: Set<String>, words: [String] = []) {
    var isValue = false
    for index in 1..<Int(max(1, CommandLine.argc)) {
      guard let text = unsafe CommandLine.unsafeArgv[index] else { return }
      let word = unsafe String(cString: text)
      let name = word.prefix { $0 != "=" }
      let isOption = name.hasPrefix("--") && options.contains(String(name.dropFirst(2)))
      if let secret = words.first(where: word.hasPrefix) {
        unsafe blank(text + secret.utf8.count)
      } else if isValue {
        unsafe blank(text)
      } else if isOption, name.count < word.count {
        unsafe blank(text + name.utf8.count + 1)
      }
      isValue = !isValue && isOption && name.count == word.count
    }
  }

  private static func blank(_ text: UnsafeMutablePointer<CChar>) {
    unsafe memset(text, Int32(UInt8(ascii: "*")), strlen(text))
  }
}
