import CVA
import Glibc

/// An open DRM render node, closed with its owner.
struct RenderNode: ~Copyable {
  let descriptor: Int32

  init(path: String) throws(VAError) {
    descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
    if descriptor < 0 {
      let hint = errno == EACCES ? " (add the user to the group render)" : ""
      throw .unavailable("\(path): \(unsafe String(cString: strerror(errno)))\(hint)")
    }
  }

  deinit {
    close(descriptor)
  }

  /// The paths of the render nodes that this machine has, in the kernel's order. The kernel gives
  /// their minors from 128 to 191.
  static var paths: [String] {
    (128...191).map { "/dev/dri/renderD\($0)" }.filter { unsafe access($0, F_OK) == 0 }
  }
}

extension Display {
  static func renderNodeDisplay(path: String) throws(VAError) -> Display {
    let node = try RenderNode(path: path)
    guard let handle = unsafe try vaDisplay(of: node.descriptor) else {
      throw .unavailable("\(path) is not a DRM render node")
    }
    do {
      return try unsafe Display(taking: handle, node: node)
    } catch {
      throw .unavailable("\(path): \(error)")
    }
  }

  /// The one that was asked for; where it does not do, what else there is is said.
  static func namedRenderNode(path: String) throws(VAError) -> Display {
    do { return try renderNodeDisplay(path: path) } catch {
      let others = RenderNode.paths.filter { $0 != path }
      let choice = (others.map { "drm:\($0)" } + ["none (in software)"]).joined(separator: ", ")
      throw .unavailable("\(error); --va-display can be: \(choice)")
    }
  }

  /// The first render node that opens and is `good`; why each other one was passed over is said.
  static func firstRenderNode(where good: (Display) -> Bool) throws(VAError) -> Display {
    var reasons: [String] = []
    for path in RenderNode.paths {
      do {
        let display = try renderNodeDisplay(path: path)
        if good(display) { return display }
        reasons.append("\(path): \(display.missingEncoder)")
      } catch {
        reasons.append("\(error)")
      }
    }
    let seen = reasons.isEmpty ? "no /dev/dri/renderD*" : reasons.joined(separator: "; ")
    throw .unavailable(
      "no device that encodes H.264 (\(seen)); --va-display none encodes in software")
  }

  private typealias GetDisplay = @convention(c) (Int32) -> VADisplay?

  /// vaGetDisplayDRM, from a library that is loaded only when a render node is wanted: beside the
  /// software driver it would be address space for nothing. It stays loaded.
  private static func vaDisplay(of descriptor: Int32) throws(VAError) -> VADisplay? {
    guard let library = unsafe dlopen("libva-drm.so.2", RTLD_NOW),
      let symbol = unsafe dlsym(library, "vaGetDisplayDRM")
    else {
      throw .unavailable("libva-drm.so.2 cannot be loaded: install the package libva-drm2")
    }
    return unsafe unsafeBitCast(symbol, to: GetDisplay.self)(descriptor)
  }
}
