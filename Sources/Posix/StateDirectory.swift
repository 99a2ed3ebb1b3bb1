internal import Glibc

/// Where what outlives a reboot is kept: porthole's folder of `$XDG_STATE_HOME`, or of
/// `~/.local/state`.
package enum StateDirectory {
  /// The path of a file there; nil when the user has no home. The folders may be missing.
  package static func file(_ name: String) -> String? {
    if let state = Environment.value(of: "XDG_STATE_HOME"), state.hasPrefix("/") {
      return "\(state)/porthole/\(name)"
    }
    guard let home = Environment.value(of: "HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/.local/state/porthole/\(name)"
  }

  /// Makes the folders that lead to `path`, with mode 0700 where they are missing.
  package static func makeFolders(to path: String) throws(PosixError) {
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += (path.hasPrefix("/") || !folder.isEmpty ? "/" : "") + part
      if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw PosixError("mkdir \(folder)") }
    }
  }
}
