/// Which display the encoder is looked for on: the values of `--va-display`.
package enum DisplayChoice: Equatable, Sendable {
  /// The first render node that can encode H.264.
  case auto
  /// A render node, the first that opens when no path is given.
  case drm(path: String?)
  case x11
  case wayland
  /// No device at all: the software driver that stands beside the executable.
  case none

  /// Reads `auto`, `drm`, `drm:PATH`, `x11`, `x11:DISPLAY`, `wayland` or `none`.
  package init?(argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    switch (parts.first, parts.count) {
    case ("auto", 1): self = .auto
    case ("drm", 1): self = .drm(path: nil)
    case ("drm", 2) where !parts[1].isEmpty: self = .drm(path: String(parts[1]))
    case ("x11", _): self = .x11
    case ("wayland", 1): self = .wayland
    case ("none", 1): self = .none
    default: return nil
    }
  }
}
