internal import CVA
internal import Glibc

/// Images: NV12 only, derived from a surface or copied to and from one.
func installImageCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaQueryImageFormats = { _, list, count in
    unsafe list?[0] = DriverImage.format
    unsafe count?.pointee = 1
    return VA_STATUS_SUCCESS
  }
  unsafe table.pointee.vaCreateImage = { context, format, width, height, image in
    unsafe answer(context) { driver throws(DriverError) in
      guard unsafe format?.pointee.fourcc == UInt32(VA_FOURCC_NV12) else {
        throw .invalidImageFormat
      }
      let surface = try Surface(width: Int(width), height: Int(height))
      unsafe try driver.hand(out: DriverImage(pixelsOf: surface), into: image)
    }
  }
  unsafe table.pointee.vaDeriveImage = { context, id, image in
    unsafe answer(context) { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      let derived = surface.spareImage ?? DriverImage(pixelsOf: surface)
      surface.spareImage = nil
      derived.surface = surface
      unsafe try driver.hand(out: derived, into: image)
      surface.derivedImages += 1
    }
  }
  unsafe table.pointee.vaDestroyImage = { context, id in
    unsafe answer(context) { driver throws(DriverError) in
      guard let image = driver.images.remove(id) else { throw .invalidImage }
      _ = driver.buffers.remove(image.layout.buf)
      guard let surface = image.surface else { return }
      surface.derivedImages -= 1
      image.surface = nil
      image.pixels.surface = nil
      surface.spareImage = image
    }
  }
  unsafe table.pointee.vaGetImage = { context, id, x, y, width, height, imageID in
    unsafe answer(context) { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      guard let image = driver.images[imageID] else { throw .invalidImage }
      let region = try Region(
        x: Int(x), y: Int(y), width: Int(width), height: Int(height), within: surface)
      guard region.width <= image.layout.width, region.height <= image.layout.height else {
        throw .invalidParameter
      }
      copyRegion(
        from: surface.view, x: region.x, y: region.y, to: image.view, x: 0, y: 0,
        width: region.width, height: region.height)
    }
  }
  unsafe table.pointee.vaPutImage = {
    context, id, imageID, sourceX, sourceY, sourceWidth, sourceHeight, x, y, width, height in
    unsafe answer(context) { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      guard let image = driver.images[imageID] else { throw .invalidImage }
      guard sourceWidth == width, sourceHeight == height, sourceX >= 0, sourceY >= 0,
        Int(sourceX) + Int(width) <= Int(image.layout.width),
        Int(sourceY) + Int(height) <= Int(image.layout.height)
      else { throw .invalidParameter }
      let region = try Region(
        x: Int(x), y: Int(y), width: Int(width), height: Int(height), within: surface)
      surface.isReference = false
      copyRegion(
        from: image.view, x: Int(sourceX), y: Int(sourceY), to: surface.view,
        x: region.x, y: region.y, width: region.width, height: region.height)
    }
  }
}

/// A rectangle that lies inside a surface, on even luma samples as 4:2:0 wants it.
private struct Region {
  let x: Int
  let y: Int
  let width: Int
  let height: Int

  init(x: Int, y: Int, width: Int, height: Int, within surface: Surface) throws(DriverError) {
    guard x >= 0, y >= 0, x & 1 == 0, y & 1 == 0, width > 0, height > 0,
      x + width <= surface.width, y + height <= surface.height
    else { throw .invalidParameter }
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }
}

extension Driver {
  /// Gives an image and its buffer their ids and tells the client.
  fileprivate func hand(
    out image: DriverImage, into answer: UnsafeMutablePointer<VAImage>?
  ) throws(DriverError) {
    guard let answer = unsafe answer else { throw .invalidParameter }
    image.pixels.reuse(
      type: VAImageBufferType, elementSize: Int(image.layout.data_size), elementCount: 1)
    image.pixels.surface = image.surface
    guard let buffer = buffers.insert(image.pixels) else { throw .allocationFailed }
    guard let id = images.insert(image) else {
      _ = buffers.remove(buffer)
      throw .allocationFailed
    }
    image.layout.buf = buffer
    image.layout.image_id = id
    unsafe answer.pointee = image.layout
  }
}

private func copyRegion(
  from source: PictureView, x sourceX: Int, y sourceY: Int, to target: PictureView, x: Int, y: Int,
  width: Int, height: Int
) {
  for row in 0..<height {
    unsafe memcpy(
      target.luma(x: x, y: y + row), source.luma(x: sourceX, y: sourceY + row), width)
  }
  let pairs = (width + 1) / 2
  for row in 0..<(height + 1) / 2 {
    unsafe memcpy(
      target.chroma(x: x / 2, y: y / 2 + row),
      source.chroma(x: sourceX / 2, y: sourceY / 2 + row), 2 * pairs)
  }
}
