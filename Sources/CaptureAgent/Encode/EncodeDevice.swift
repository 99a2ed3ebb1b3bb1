import VAAPI

/// A display and what of it is used: all that is lost, and opened anew, with a device.
final class EncodeDevice {
  let display: Display
  let choice: EncoderChoice

  /// Opens the display that is wished for; fails where there is none, or none with an encoder of H.264.
  init(configuration: EncoderConfiguration) throws(EncoderError) {
    do throws(VAError) {
      display = try Display.open(configuration.display, driverFolder: configuration.driverFolder)
    } catch {
      throw .unavailable("\(error)")
    }
    choice = try EncoderChoice(on: display, profile: configuration.profile)
  }

  /// What is written before pictures of this configuration.
  func headers(
    for configuration: EncoderConfiguration, _ control: RateControl
  ) throws(EncoderError) -> H264Headers {
    try H264Headers(
      configuration: configuration, profile: choice.capability.profile,
      bitsPerSecond: control.bitsPerSecond, keyframeDeblocking: choice.keyframeDeblocking)
  }

  /// All that pictures of this size need; fails for a size that the driver does not encode.
  func pictures(for configuration: EncoderConfiguration) throws(EncoderError) -> EncoderPictures {
    try choice.capability.checkSize(of: configuration)
    do throws(VAError) {
      return try EncoderPictures(on: display, choice: choice, configuration: configuration)
    } catch {
      throw failure(error)
    }
  }

  /// The same with what helps; a want of memory is told from the rest.
  func failure(_ error: VAError) -> EncoderError {
    let text = display.explained(error)
    return error.isOutOfMemory ? .memory(text) : .driver(text)
  }
}
