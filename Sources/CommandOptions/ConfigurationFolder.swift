internal import Glibc
internal import Posix

/// Where a user's configuration lies: `$XDG_CONFIG_HOME/porthole`, or `~/.config/porthole`.
enum ConfigurationFolder {
  /// The path of the file `name` there; nil where there is none. One that is there and cannot be read
  /// is for the reader to complain of.
  static func existing(_ name: String) -> String? {
    let base: String
    if let given = Environment.value(of: "XDG_CONFIG_HOME"), given.hasPrefix("/") {
      base = given
    } else if let home = Environment.value(of: "HOME"), home.hasPrefix("/") {
      base = "\(home)/.config"
    } else {
      return nil
    }
    let path = "\(base)/porthole/\(name)"
    return unsafe access(path, F_OK) == 0 ? path : nil
  }
}
