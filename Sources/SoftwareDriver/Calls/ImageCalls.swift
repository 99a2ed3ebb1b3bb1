internal import CVA
internal import Glibc

/// Images, derived from a surface or copied to and from one of the same format.
func installImageCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaQueryImageFormats = { context, list, count in
    unsafe answer(context, "vaQueryImageFormats") { _ throws(DriverError) in
      for (index, format) in SurfaceFormat.allCases.enumerated() {
        unsafe list?[index] = format.imageFormat
      }
      unsafe count?.pointee = Int32(SurfaceFormat.allCases.count)
    }
  }
  unsafe table.pointee.vaCreateImage = { context, format, width, height, image in
    unsafe answer(context, "vaCreateImage") { driver throws(DriverError) in
      guard let fourcc = unsafe format?.pointee.fourcc, let format = SurfaceFormat(fourcc: fourcc)
      else { throw .invalidImageFormat }
      let layout = try SurfaceLayout(format: format, width: Int(width), height: Int(height))
      let storage = try ByteBlock(byteCount: layout.byteCount, isShared: true)
      unsafe try driver.add(
        DriverImage(layout: layout, surface: nil), DriverBuffer(storage: storage), into: image)
    }
  }
  unsafe table.pointee.vaDeriveImage = { context, id, image in
    unsafe answer(context, "vaDeriveImage") { driver throws(DriverError) in
      guard driver.personality.derivesImages else { throw .operationFailed }
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      let spare = try surface.takeSpareImage()
      unsafe try driver.add(spare.image, spare.buffer, into: image)
      surface.derivedImages += 1
    }
  }
  unsafe table.pointee.vaDestroyImage = { context, id in
    unsafe answer(context, "vaDestroyImage") { driver throws(DriverError) in
      guard let image = driver.images.remove(id) else { throw .invalidImage }
      guard let buffer = driver.buffers.remove(image.image.buf) else { return }
      if buffer.isMapped { buffer.release() }
      guard let surface = image.surface else { return }
      surface.derivedImages -= 1
      image.surface = nil
      buffer.surface = nil
      surface.spareImage = Surface.SpareImage(image: image, buffer: buffer)
    }
  }
  unsafe table.pointee.vaGetImage = { context, id, x, y, width, height, imageID in
    unsafe answer(context, "vaGetImage") { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      guard let image = driver.images[imageID], let pixels = driver.buffers[image.image.buf] else {
        throw .invalidImage
      }
      guard image.layout.format == surface.layout.format else { throw .invalidImageFormat }
      let region = try Region(
        x: Int(x), y: Int(y), width: Int(width), height: Int(height), within: surface)
      guard region.width <= image.layout.width, region.height <= image.layout.height else {
        throw .invalidParameter
      }
      try surface.settle()
      let view = try surface.hold()
      defer { surface.pixels.release() }
      let copy = unsafe try pixels.hold()
      defer { pixels.release() }
      unsafe copyRegion(
        from: view, x: region.x, y: region.y, to: PictureView(of: image.layout, at: copy), x: 0,
        y: 0, width: region.width, height: region.height, format: surface.layout.format)
    }
  }
  unsafe table.pointee.vaPutImage = {
    context, id, imageID, sourceX, sourceY, sourceWidth, sourceHeight, x, y, width, height in
    unsafe answer(context, "vaPutImage") { driver throws(DriverError) in
      guard let surface = driver.surfaces[id] else { throw .invalidSurface }
      guard let image = driver.images[imageID], let pixels = driver.buffers[image.image.buf] else {
        throw .invalidImage
      }
      guard image.layout.format == surface.layout.format else { throw .invalidImageFormat }
      guard sourceWidth == width, sourceHeight == height, sourceX >= 0, sourceY >= 0,
        Int(sourceX) + Int(width) <= image.layout.width,
        Int(sourceY) + Int(height) <= image.layout.height
      else { throw .invalidParameter }
      let region = try Region(
        x: Int(x), y: Int(y), width: Int(width), height: Int(height), within: surface)
      try surface.settle()
      try surface.prepareWriting()
      let view = try surface.hold()
      defer { surface.pixels.release() }
      let source = unsafe try pixels.hold()
      defer { pixels.release() }
      unsafe copyRegion(
        from: PictureView(of: image.layout, at: source), x: Int(sourceX), y: Int(sourceY), to: view,
        x: region.x, y: region.y, width: region.width, height: region.height,
        format: surface.layout.format)
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
  /// Names an image and its buffer; the answer is the image with both names.
  fileprivate func add(
    _ image: DriverImage, _ pixels: DriverBuffer, into answer: UnsafeMutablePointer<VAImage>?
  ) throws(DriverError) {
    guard let answer = unsafe answer else { throw .invalidParameter }
    pixels.reuse(
      type: VAImageBufferType, elementSize: image.layout.byteCount, elementCount: 1)
    pixels.surface = image.surface
    guard let buffer = buffers.insert(pixels) else { throw .allocationFailed }
    image.image.buf = buffer
    guard let id = images.insert(image) else {
      _ = buffers.remove(buffer)
      throw .allocationFailed
    }
    image.image.image_id = id
    unsafe answer.pointee = image.image
  }
}

extension Surface {
  /// An image of the surface's own pixels, and a buffer for its name.
  fileprivate func takeSpareImage() throws(DriverError) -> SpareImage {
    if let spare = spareImage {
      spareImage = nil
      spare.image.surface = self
      return spare
    }
    return SpareImage(
      image: DriverImage(layout: layout, surface: self),
      buffer: DriverBuffer(storage: try ByteBlock(byteCount: 1)))
  }
}

private func copyRegion(
  from source: PictureView, x sourceX: Int, y sourceY: Int, to target: PictureView, x: Int, y: Int,
  width: Int, height: Int, format: SurfaceFormat
) {
  let bytes = format.bytesPerPixel
  for row in 0..<height {
    unsafe memcpy(
      target.luma(x: x * bytes, y: y + row), source.luma(x: sourceX * bytes, y: sourceY + row),
      width * bytes)
  }
  guard format == .nv12 else { return }
  let pairs = (width + 1) / 2
  for row in 0..<(height + 1) / 2 {
    unsafe memcpy(
      target.chroma(x: x / 2, y: y / 2 + row),
      source.chroma(x: sourceX / 2, y: sourceY / 2 + row), 2 * pairs)
  }
}
