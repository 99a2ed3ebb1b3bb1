import CPipeWire
import Glibc
internal import Posix

@testable internal import PipeWire

extension ScreenProducer {
  /// Bytes before the first row that are no pixels.
  package static let headGap = 128

  func draw(_ picture: Picture, into data: UnsafeMutablePointer<spa_data>) {
    let pixels = data[0].data!
    let stride = picture.rowStride ?? width * 4 + offer.rowGap
    if picture.rows == nil, picture.draw == nil { memset(pixels, 0xee, Int(data[0].maxsize)) }
    picture.draw?(pixels + Self.headGap, stride, width, height)
    for y in 0..<(picture.draw == nil ? min(height, picture.rows ?? height) : 0) {
      let row = (pixels + Self.headGap + y * stride).assumingMemoryBound(to: UInt32.self)
      for x in 0..<width { row[x] = picture.color &+ UInt32(y << 12 | x) }
    }
    data[0].chunk.pointee = spa_chunk(
      offset: UInt32(Self.headGap) + picture.offset, size: picture.size ?? UInt32(stride * height),
      stride: picture.stride ?? Int32(stride), flags: picture.chunkFlags)
  }

  /// Planes with gaps that are no samples, and what is said of them.
  func lay(_ picture: PaintedPicture, into data: UnsafeMutablePointer<spa_data>) {
    let samples = picture.planes(offer.format, offer.colour)
    for index in 0..<offer.blockCount { memset(data[index].data, 0xee, Int(data[index].maxsize)) }
    var offset = Self.headGap
    for (index, plane) in samples.enumerated() {
      let block = offer.hasBlocks ? index : 0
      if offer.hasBlocks { offset = Self.headGap }
      let rows = rows(ofPlane: index)
      let stride = stride(ofPlane: index)
      for row in 0..<plane.rows.count {
        plane.rows[row].withUnsafeBytes {
          _ = memcpy(data[block].data + offset + row * stride, $0.baseAddress!, $0.count)
        }
      }
      offset += rows * stride
      if index == 0 || offer.hasBlocks {
        data[block].chunk.pointee = spa_chunk(
          offset: UInt32(Self.headGap), size: 0,
          stride: offer.saysStride ? Int32(stride) : 0, flags: 0)
      }
      data[block].chunk.pointee.size = UInt32(offset - Self.headGap)
    }
  }

  /// As video devices have it: one stride, halved where a plane has half the width. Without one, as
  /// GStreamer has it.
  func stride(ofPlane index: Int) -> Int {
    let plane = offer.format.plane(index)
    let words = { (count: Int) in (count + 3) & ~3 }
    if !offer.saysStride { return words(plane.byteCount(ofPixels: (width + 1) & ~1)) }
    let first = words(offer.format.plane(0).byteCount(ofPixels: width)) + offer.rowGap
    return plane.across == 1 && plane.byteCount == 1 ? first / 2 : first
  }

  func rows(ofPlane index: Int) -> Int {
    let rows = offer.format.plane(index).rows(of: 0..<height).count
    let hasHalfRows = offer.format.plane(offer.format.planeCount - 1).down > 0
    return offer.saysStride || index > 0 || !hasHalfRows ? rows : (rows + 1) & ~1
  }

  func fillMetas(of buffer: UnsafeMutablePointer<spa_buffer>, _ picture: Picture) {
    if let header = meta(SPA_META_Header, of: buffer, as: spa_meta_header.self) {
      header.pointee.pts =
        switch picture.time {
        case .now: MonotonicClock.now()
        case .at(let time): time
        }
      header.pointee.flags = picture.headerFlags
    }
    if let crop = meta(SPA_META_VideoCrop, of: buffer, as: spa_meta_region.self) {
      let whole = Rectangle(x: 0, y: 0, width: width, height: height)
      crop.pointee.region =
        picture.isCursorAlone ? spa_region() : spa_region(picture.crop ?? whole)
    }
    if let transform = meta(
      SPA_META_VideoTransform, of: buffer, as: spa_meta_videotransform.self)
    {
      transform.pointee.transform = picture.transformation
    }
    if let damage = meta(SPA_META_VideoDamage, of: buffer, as: spa_meta_region.self) {
      for (index, region) in picture.damage.enumerated() {
        damage[index].region = spa_region(region)
      }
      damage[picture.damage.count].region = spa_region()
    }
    if let meta = spa_buffer_find_meta(buffer, SPA_META_Cursor.rawValue) {
      (picture.cursor ?? .hidden).say(in: meta.pointee.data, byteCount: Int(meta.pointee.size))
    }
  }
}

private func meta<Meta>(
  _ type: spa_meta_type, of buffer: UnsafeMutablePointer<spa_buffer>, as: Meta.Type
) -> UnsafeMutablePointer<Meta>? {
  spa_buffer_find_meta_data(buffer, type.rawValue, MemoryLayout<Meta>.size)?
    .assumingMemoryBound(to: Meta.self)
}

extension spa_region {
  fileprivate init(_ region: Rectangle) {
    self.init(
      position: spa_point(x: Int32(region.x), y: Int32(region.y)),
      size: spa_rectangle(width: UInt32(region.width), height: UInt32(region.height)))
  }
}
