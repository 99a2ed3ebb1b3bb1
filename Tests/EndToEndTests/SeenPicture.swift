import CaptureSupport
import TestSupport
import Testing

extension Broadcast {
  /// Waits until the last picture is a `NumberedPicture` of this ground and size, whole: its edges, and
  /// nothing of what lies around it. An odd size has grown by its last column or row, since H.264 counts
  /// pixels by twos (7.4.2.1.1).
  func expectScreen(
    ground: UInt32, width oddWidth: Int, height oddHeight: Int, _ directory: TestDirectory
  ) throws {
    let (width, height) = ((oddWidth + 1) & ~1, (oddHeight + 1) & ~1)
    var found = "nothing"
    do {
      try waitUntil("\(width)x\(height)", within: .seconds(8)) {
        guard let picture = try? snapshot(width: width, height: height, in: directory) else {
          return false
        }
        found = picture.compared(ground: ground)
        return found.isEmpty
      }
    } catch {
      throw ProcessFailure(description: "\(width)x\(height): \(found)")
    }
  }

  /// The last picture as the relay gives it; throws where it has another size.
  func snapshot(
    width: Int, height: Int, in directory: TestDirectory
  ) throws -> StillPicture {
    let file = directory.file("snapshot.png")
    let run = try ProcessRun.run(
      "curl", ["-sf", "-m", "5", "-o", file, "\(page)/snapshot.png"], in: directory)
    guard run.exitCode == 0 else { throw ProcessFailure(description: "no snapshot") }
    return try StillPicture(
      of: file, name: "snapshot", in: directory, width: width, height: height)
  }
}

extension StillPicture {
  /// What is not as a `NumberedPicture` of this ground has it; empty where all is.
  fileprivate func compared(ground: UInt32) -> String {
    let border = NumberedPicture.border
    guard width > 4 * border, height > 4 * border else { return "" }
    let side = border / 2
    let (middleX, middleY) = (width / 2, height * 3 / 4)
    let places: [(String, Int, Int, UInt32)] = [
      ("left", 0, middleY, NumberedPicture.left),
      ("right", width - side, middleY, NumberedPicture.right),
      ("top", middleX, 0, NumberedPicture.top),
      ("bottom", middleX, height - side, NumberedPicture.bottom),
      ("ground", middleX, middleY, ground),
    ]
    return places.compactMap { name, x, y, wanted in
      let seen = colour(x: x, y: y, side: side)
      let distance = seen.distance(to: Colour(wanted))
      return distance <= 6 ? nil : "\(name) is \(seen)"
    }.joined(separator: ", ")
  }
}
