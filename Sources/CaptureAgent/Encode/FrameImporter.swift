import PipeWire
import Pixels
import VAAPI

/// Brings frames that lie in dma-bufs into an encoder's input by the driver's video processor, so that
/// no pixel passes through this process.
final class FrameImporter {
  private let processor: VideoProcessor
  private let cache: ImportCache
  private let geometry: PictureGeometry
  private let colour: Colour

  init(on display: Display, configuration: EncoderConfiguration) throws(VAError) {
    processor = try VideoProcessor(
      on: display, width: configuration.codedWidth, height: configuration.codedHeight)
    cache = ImportCache(display: display)
    geometry = configuration.geometry
    colour = configuration.colour
    guard
      processor.turns(
        by: geometry.orientation.quarterTurns, isMirrored: geometry.orientation.isMirrored)
    else { throw .unavailable("the driver's video processor does not turn pictures so") }
  }

  /// Has the driver take hold of the picture's memory, where it has not yet.
  func take(_ picture: DMABufPicture) throws(VAError) {
    try cache.withSurface(of: picture) { (_) throws(VAError) in }
  }

  /// Converts the picture, whose buffer must stay as it is until a picture was encoded from `input`.
  func convert(_ picture: DMABufPicture, into input: borrowing Surface) throws(VAError) {
    let content = geometry.content
    // Of even size: an odd picture grows by the column or the row that it would show twice.
    let target = VideoProcessor.Job.Region(
      x: content.x, y: content.y, width: (content.width + 1) / 2 * 2,
      height: (content.height + 1) / 2 * 2)
    let job = VideoProcessor.Job(
      source: VideoProcessor.Job.Region(
        x: picture.crop.x, y: picture.crop.y, width: picture.crop.width,
        height: picture.crop.height),
      target: target, quarterTurns: geometry.orientation.quarterTurns,
      isMirrored: geometry.orientation.isMirrored, isBT601: colour == .bt601)
    try cache.withSurface(of: picture) { (surface) throws(VAError) in
      try processor.process(surface, into: input, job)
    }
  }
}
