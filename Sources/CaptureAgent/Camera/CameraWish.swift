import PipeWire

/// Which camera, and what is wanted of it.
struct CameraWish: Equatable, Sendable {
  /// `node.name`, `node.description` or `object.serial`; nil takes the one that the session manager likes
  /// best.
  var name: String?
  var size: FrameSize
  /// Whether somebody asked for that size; a rate that is wanted goes before one that nobody did.
  var isSizeAsked: Bool
  var framesPerSecond: Int

  /// Beside a screen, which has the larger part of the memory.
  static let besideSize = FrameSize(640, 480)
  /// Alone.
  static let standardSize = FrameSize(1280, 720)

  /// The camera that is meant; the choice is among `nodes` that are cameras.
  func find(in nodes: [Connection.Node]) -> Connection.Node? {
    let cameras = nodes.filter(\.isCamera)
    guard let name else {
      // The first of equals, as they came.
      return cameras.reduce(nil) { best, node in
        best.map { node.priority > $0.priority ? node : $0 } ?? node
      }
    }
    return cameras.first { $0.name == name } ?? cameras.first { $0.title == name }
      ?? cameras.first { $0.serial == name }
  }

  /// One line for who named none that is there.
  func absence(among nodes: [Connection.Node]) -> String {
    let cameras = nodes.filter(\.isCamera)
    guard !cameras.isEmpty else { return "no camera is connected" }
    let list = cameras.map { node in
      let title = node.title.map { " (\($0))" } ?? ""
      return (node.name ?? node.serial ?? "\(node.id)") + title
    }
    return "no camera is called \(name ?? ""): there is \(list.joined(separator: ", "))"
  }
}

extension Connection.Node {
  // What portals and compositors call their screencasts, which are video sources too.
  private static let screencasts = ["xdg-desktop-portal", "gamescope", "kwin", "mutter"]

  /// Whether it is a camera, and not a screencast.
  var isCamera: Bool {
    guard mediaClass == "Video/Source" else { return false }
    if let role { return role == "Camera" }
    let name = name ?? ""
    return !Self.screencasts.contains { name.hasPrefix($0) }
  }
}

extension Options {
  /// Of a camera that is the source: its size is that of the pictures, if one is asked for.
  func cameraWish(name: String?) -> CameraWish {
    let size = wish.width.flatMap { width in wish.height.map { FrameSize(width, $0) } }
    return CameraWish(
      name: name, size: size ?? CameraWish.standardSize, isSizeAsked: size != nil,
      framesPerSecond: framesPerSecond)
  }
}
