import Foundation
import VAAPI

@testable import CaptureAgent

/// An encoder on real libva with the software driver. Its bit rate is more than it needs.
func softwareEncoder(
  width: Int, height: Int, profile: Profile? = nil, colour: Colour = .bt709,
  wish: PictureWish = PictureWish()
) throws -> VAAPIEncoder {
  try VAAPIEncoder(
    configuration: EncoderConfiguration(
      width: width, height: height, bitsPerSecond: 50_000_000, profile: profile, colour: colour,
      display: .none, driverFolder: builtProducts, wish: wish))
}

/// Where the build puts the driver's module, and this test.
let builtProducts: String = {
  let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  return (executable.map { $0 as NSString })?.deletingLastPathComponent ?? ""
}()

/// Something in every channel, different in each picture.
func color(_ x: Int, _ y: Int, _ number: Int) -> UInt32 {
  UInt32((x * 3 + number * 40) & 0xff) << 16 | UInt32((y * 5 + x) & 0xff) << 8
    | UInt32((x ^ y ^ number) & 0xff)
}

/// Dark strokes on a light ground, with a window's border.
func letters(_ x: Int, _ y: Int) -> UInt32 {
  if x / 4 == 20 || y / 4 == 20 { return 0x3050a0 }
  return (x * 7 + y * 13) % 29 < 4 && y / 12 % 2 == 0 ? 0x202020 : 0xf0f0e8
}
