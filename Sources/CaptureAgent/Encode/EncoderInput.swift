import Glibc
import PipeWire
import Posix
import Report
import VAAPI

/// How frames get into an encoder's input surface: by the driver, where it can read them, or by the
/// processor.
final class EncoderInput {
  /// Whether the surface holds all of a frame; then only damage has to be converted of the next one.
  private(set) var hasPicture = false

  /// A producer that has not drawn its picture after so many milliseconds has hung.
  private static let longestWait: Int32 = 100

  private let configuration: EncoderConfiguration
  private let converter: FrameConverter
  private let overlay: CursorOverlay
  private var saysThatCursorIsMissing = true
  /// Made for the first frame in a dma-buf.
  private var importer: FrameImporter?
  /// A frame that the driver reads itself. Some drivers are still at it when a conversion was waited for,
  /// and AMD's encoder may read the frame in the place of what was made of it: it is held until the
  /// picture is encoded.
  private var held: Frame?
  /// A frame of which only the damage was read, which its source may have wrong.
  private var doubted: Frame?
  /// When all of a frame was read last.
  private var lastWhole: Int64 = 0
  private var lastFrame: Int64 = 0

  /// What damage does not tell of is seen after so long, in nanoseconds.
  private static let doubtTime: Int64 = 700_000_000
  // While frames come, the next one is read whole: a picture between two of them would be one too many for
  // their rate, and players would be late by it.
  private static let quietTime: Int64 = 150_000_000

  /// When the last frame is to be read again, whole.
  var recheckDue: Int64? {
    doubted == nil ? nil : max(lastWhole + Self.doubtTime, lastFrame + Self.quietTime)
  }

  init(configuration: EncoderConfiguration) {
    self.configuration = configuration
    converter = FrameConverter(configuration: configuration)
    overlay = CursorOverlay(geometry: configuration.geometry, colour: configuration.colour)
  }

  /// Brings the frame into `pictures`. Answers how many bytes were written here.
  func load(
    _ frame: consuming Frame, into pictures: EncoderPictures, of device: EncodeDevice
  ) throws(EncoderError) -> Int {
    held = nil
    doubted = nil
    lastFrame = MonotonicClock.now()
    guard let picture = frame.dmaBuf else {
      let isWhole = lastFrame >= lastWhole + Self.doubtTime
      let written = try convert(frame, isWhole: isWhole, into: pictures, of: device)
      if frame.damage != nil, !isWhole { doubted = consume frame }
      return written
    }
    hasPicture = false
    if let failure = importing(picture, into: pictures, of: device) {
      // Rows that lie in a line the processor can read too, which is slow, but loses no picture.
      if case .importing = failure, picture.buffer.modifier == DRMModifier.linear {
        _ = try convert(frame, isWhole: true, into: pictures, of: device)
      }
      throw failure
    }
    held = consume frame
    hasPicture = true
    return 0
  }

  /// Reads all of the last frame. Answers how many bytes were written here; nil where it is gone.
  func recheck(into pictures: EncoderPictures, of device: EncodeDevice) throws(EncoderError) -> Int?
  {
    guard let frame = doubted.take(), hasPicture, !frame.isRevoked else { return nil }
    return try convert(frame, isWhole: true, into: pictures, of: device)
  }

  /// Brings back the picture of a device that was lost.
  func show(_ picture: borrowing RescuedPicture, in pictures: EncoderPictures) {
    hasPicture = picture.put(into: pictures.input)
  }

  /// Draws the pointer over the picture, until `liftCursor`; false where there is nothing to draw. Where the
  /// driver maps no surface it is not drawn.
  func lay(
    _ cursor: Cursor?, over pictures: EncoderPictures, of device: EncodeDevice
  ) throws(EncoderError) -> Bool {
    guard let cursor, overlay.place(of: cursor) != nil else { return false }
    // The driver's video processor may still be at the picture.
    if held != nil {
      do throws(VAError) { try pictures.input.sync() } catch { throw device.failure(error) }
    }
    return try withSurface(pictures, of: device) { overlay.lay(cursor, over: $0) }
  }

  /// Takes the pointer off the picture again. After a failure there is no picture.
  func liftCursor(from pictures: EncoderPictures, of device: EncodeDevice) throws(EncoderError) {
    let before = hasPicture
    hasPicture = false
    _ = try withSurface(pictures, of: device) { overlay.lift(from: $0) }
    hasPicture = before
  }

  /// Maps the surface for the time of the call; false where it cannot be.
  private func withSurface(
    _ pictures: EncoderPictures, of device: EncodeDevice, _ body: (CursorOverlay.Planes) -> Void
  ) throws(EncoderError) -> Bool {
    do throws(VAError) {
      let image = try MappedImage(
        of: pictures.input, width: configuration.codedWidth, height: configuration.codedHeight)
      guard image.isSurface else {
        if saysThatCursorIsMissing {
          Log.note("the driver maps no surfaces: the cursor cannot be drawn (--cursor embedded)")
        }
        saysThatCursorIsMissing = false
        return false
      }
      unsafe body(
        CursorOverlay.Planes(
          luma: image.luma, lumaStride: image.lumaStride, chroma: image.chroma,
          chromaStride: image.chromaStride))
      try image.finish()
      return true
    } catch {
      throw device.failure(error)
    }
  }

  /// The picture is encoded, or will not be.
  func letGo() { held = nil }

  /// Has the driver read the picture where it lies; answers why it cannot.
  private func importing(
    _ picture: DMABufPicture, into pictures: EncoderPictures, of device: EncodeDevice
  ) -> EncoderError? {
    guard picture.buffer.waitUntilWritten(milliseconds: Self.longestWait) else {
      return .frame("the frame was not drawn in time")
    }
    var choice: DMABufChoice?
    let importer: FrameImporter
    do throws(VAError) {
      importer =
        if let kept = self.importer { kept } else {
          try FrameImporter(on: device.display, configuration: configuration)
        }
      self.importer = importer
      choice = DMABufChoice(format: picture.format, modifier: picture.buffer.modifier)
      try importer.take(picture)
    } catch {
      return .importing(choice, device.display.explained(error))
    }
    do throws(VAError) {
      try importer.convert(picture, into: pictures.input)
      return nil
    } catch {
      return device.failure(error)
    }
  }

  private func convert(
    _ frame: borrowing Frame, isWhole: Bool, into pictures: EncoderPictures,
    of device: EncodeDevice
  ) throws(EncoderError) -> Int {
    do {
      let image = try MappedImage(
        of: pictures.input, width: configuration.codedWidth, height: configuration.codedHeight)
      let isSurface = image.isSurface
      let damage = hasPicture && isSurface && !isWhole ? frame.damage : nil
      hasPicture = false
      let written = try converter.convert(frame, damage: damage, into: image)
      try image.finish()
      hasPicture = true
      if damage == nil { lastWhole = MonotonicClock.now() }
      // Where the driver maps no surface, it copies what was written beside it.
      return isSurface ? written : written + configuration.surfaceByteCount
    } catch let error as VAError {
      throw device.failure(error)
    } catch {
      if case SharedBufferError.cannotMap(ENOMEM) = error {
        throw .memory("a frame's rows cannot be mapped")
      }
      throw .frame("\(error)")
    }
  }
}
