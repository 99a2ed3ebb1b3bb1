internal import Glibc

/// Where a test reads what the driver reconstructed: NV12 of the display size, picture after picture.
final class ReconstructionFile {
  private let descriptor: Int32

  /// nil where it cannot be written.
  init?(path: String) {
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// `width` and `height` are what is shown, in pixels.
  func append(_ surface: Surface, width: Int, height: Int) throws(DriverError) {
    let view = try surface.hold()
    defer { surface.pixels.release() }
    for row in 0..<height { try unsafe put(view.luma(x: 0, y: row), count: width) }
    for row in 0..<height / 2 { try unsafe put(view.chroma(x: 0, y: row), count: width) }
  }

  private func put(_ start: UnsafeMutablePointer<UInt8>, count: Int) throws(DriverError) {
    guard unsafe write(descriptor, start, count) == count else {
      throw .operationFailed.because("the reconstruction cannot be written")
    }
  }
}

/// Appends one line to a file, as whole as the kernel makes it.
func append(line: String, to path: String) {
  let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { return }
  let bytes = Array((line + "\n").utf8)
  _ = unsafe write(descriptor, bytes, bytes.count)
  close(descriptor)
}
