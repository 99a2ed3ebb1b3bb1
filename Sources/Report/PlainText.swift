extension Unicode.Scalar {
  /// Whether it stands for itself on a line. Controls forge lines and steer terminals, and marks of
  /// direction show a text in another order than it has.
  package var isPlain: Bool {
    switch value {
    case ..<0x20, 0x7F...0x9F: false
    case 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
