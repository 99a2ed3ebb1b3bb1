import CLinux
import Glibc
import Posix
import VAAPI

/// What an input surface showed, kept while its device is opened anew: a still screen brings no frame
/// that would show it again. It lies in a file without a name, so that no limit on addresses or data
/// feels it.
struct RescuedPicture: ~Copyable {
  private let file: OwnedFD
  private let width: Int
  private let height: Int

  private init(file: consuming OwnedFD, width: Int, height: Int) {
    self.file = file
    self.width = width
    self.height = height
  }

  /// nil where the lost device lets nobody look at the surface, or there is no memory. `width` and
  /// `height` are the surface's.
  static func taken(from surface: borrowing Surface, width: Int, height: Int) -> RescuedPicture? {
    let descriptor = unsafe memfd_create("porthole-rescued", UInt32(MFD_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    let picture = RescuedPicture(file: OwnedFD(descriptor), width: width, height: height)
    // An image beside the surface would have to be filled by the device.
    guard let image = try? MappedImage(of: surface, width: width, height: height), image.isSurface,
      unsafe picture.copy(image, { unsafe pwrite($0, $1, $2, $3) })
    else { return nil }
    return picture
  }

  /// Shows it again; false where that cannot be.
  func put(into surface: borrowing Surface) -> Bool {
    guard let image = try? MappedImage(of: surface, width: width, height: height),
      unsafe copy(image, { unsafe pread($0, $1, $2, $3) })
    else { return false }
    return (try? image.finish()) != nil
  }

  /// Luma rows, then chroma rows, without gaps. Whether all were moved.
  @unsafe private func copy(
    _ image: borrowing MappedImage,
    _ move: (Int32, UnsafeMutablePointer<UInt8>, Int, Int) -> Int
  ) -> Bool {
    for row in 0..<height * 3 / 2 {
      let pixels =
        unsafe row < height
        ? image.luma + row * image.lumaStride
        : image.chroma + (row - height) * image.chromaStride
      guard unsafe move(file.raw, pixels, width, row * width) == width else { return false }
    }
    return true
  }
}
