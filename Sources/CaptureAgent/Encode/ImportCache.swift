import PipeWire
import VAAPI

/// Surfaces that a driver made of a source's dma-bufs, kept for the next picture in the same memory.
///
/// They are known by what memory they are and not by a descriptor's number, which is used again.
final class ImportCache {
  private struct Key: Hashable {
    let identity: DMABuf.Identity
    let offset: Int
    let stride: Int
    let modifier: UInt64
    let width: Int
    let height: Int
  }

  private final class Entry {
    let key: Key
    let surface: ImportedSurface
    /// Gone when the source took its buffer away.
    weak var owner: DMABuf?

    init(key: Key, surface: consuming ImportedSurface, owner: DMABuf) {
      self.key = key
      self.surface = surface
      self.owner = owner
    }
  }

  /// As many buffers as a source may have; the oldest one goes for one more.
  static let capacity = 8

  private let display: Display
  private var entries: [Entry] = []
  /// Imports so far.
  private(set) var importCount = 0

  init(display: Display) { self.display = display }

  var count: Int { entries.count }

  /// Calls `body` with the picture as the driver's surface.
  func withSurface<Result>(
    of picture: DMABufPicture, _ body: (borrowing ImportedSurface) throws(VAError) -> Result
  ) throws(VAError) -> Result {
    entries.removeAll { $0.owner == nil }
    let key = Key(
      identity: picture.buffer.identity, offset: picture.planes[0].offset,
      stride: picture.planes[0].stride, modifier: picture.buffer.modifier, width: picture.width,
      height: picture.height)
    if let index = entries.firstIndex(where: { $0.key == key && $0.owner === picture.buffer }) {
      return try body(entries[index].surface)
    }
    if entries.count == Self.capacity { entries.removeFirst() }
    let entry = Entry(
      key: key, surface: try ImportedSurface(on: display, picture.layout()), owner: picture.buffer)
    importCount += 1
    entries.append(entry)
    return try body(entry.surface)
  }
}

extension DMABufPicture {
  /// In the driver's words.
  fileprivate func layout() throws(VAError) -> DMABufLayout {
    let format: RGBFormat? =
      switch self.format {
      case .bgrx: .bgrx
      case .bgra: .bgra
      case .rgbx: .rgbx
      case .rgba: .rgba
      default: nil
      }
    guard let format else { throw .unavailable("\(self.format) is imported from no dma-buf") }
    let all = (0..<4).compactMap { index in
      planes[index].stride > 0
        ? buffer.fd(ofPlane: index).map {
          DMABufLayout.Plane(fd: $0, offset: planes[index].offset, stride: planes[index].stride)
        } : nil
    }
    return DMABufLayout(
      format: format, width: width, height: height, modifier: buffer.modifier, planes: all)
  }
}
