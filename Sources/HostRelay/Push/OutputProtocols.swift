import CAVFormat

/// The protocols that FFmpeg writes to, as its libraries on this machine say.
enum OutputProtocols {
  static func contains(_ scheme: String) -> Bool {
    // A format of its own, which opens no protocol by this name.
    if scheme == "rtsp" { return true }
    var state: UnsafeMutableRawPointer?
    while let name = unsafe avio_enum_protocols(&state, 1) {
      if unsafe String(cString: name) == scheme { return true }
    }
    return false
  }
}
