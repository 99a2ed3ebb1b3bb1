/// When the last picture is sent again though nothing changed. Demuxers hold one or two access units
/// back, so what was last drawn is followed by unchanged pictures until a viewer must have it; while
/// a rate-controlled encoder still betters the picture, its betterments count as changes.
struct PictureTail {
  /// Unchanged pictures that a change is followed by.
  static let length = 3
  /// How long a still screen goes on at full rate behind a keyframe while a container is read, in
  /// nanoseconds: ffmpeg's tools look at five seconds' worth of pictures, counted at the rate that the
  /// stream says, before they show one. Without it mpv took 7.5 s to its first picture of a still
  /// screen and ffmpeg had none after 20; with it 0.6 and 5.
  static let joinTime: Int64 = 5_500_000_000
  /// The most pictures that a still screen is bettered by.
  static let betterments = 45
  /// An access unit up to this many bytes says nothing but "skip".
  static let emptyByteCount = 400
  /// Between pictures of a still screen while a container is read.
  static let stillInterval: Int64 = 1_000_000_000

  private let frameInterval: Int64
  private var remaining = 0
  private var bettermentsLeft = 0
  private var lastPicture: Int64 = 0
  private var lastChange: Int64 = 0
  private var joinEnd: Int64 = 0
  /// Whether the last picture is one of a motion, whose next one is on its way.
  private var isMoving = false

  /// `frameInterval` in nanoseconds.
  init(frameInterval: Int64) { self.frameInterval = frameInterval }

  /// A picture went out at `time`.
  mutating func pictureWent(at time: Int64, isUnchanged: Bool, isKeyframe: Bool, byteCount: Int) {
    lastPicture = time
    isMoving = !isUnchanged && time - lastChange < frameInterval * 5 / 2
    if !isUnchanged { lastChange = time }
    if isKeyframe { joinEnd = time + Self.joinTime }
    if !isUnchanged || isKeyframe {
      remaining = Self.length
      bettermentsLeft = Self.betterments
    } else if byteCount <= Self.emptyByteCount {
      remaining = max(remaining - 1, 0)
    } else if bettermentsLeft > 0 {
      bettermentsLeft -= 1
      remaining = Self.length
    } else {
      remaining = max(remaining - 1, 0)
    }
  }

  /// When a keyframe that was asked for is due: not so close behind a picture that two would share
  /// a frame's time, for the next frame can be it as well.
  var keyframeDue: Int64 { lastPicture + frameInterval }

  /// When the next unchanged picture is due; nil when none is. Within a motion it waits for two
  /// intervals, or it would come just before each frame of a source that is a little late.
  func nextDue(hasContainers: Bool) -> Int64? {
    guard lastPicture > 0 else { return nil }
    if remaining > 0 { return lastPicture + frameInterval * (isMoving ? 2 : 1) }
    guard hasContainers else { return nil }
    return lastPicture + (lastPicture < joinEnd ? frameInterval : Self.stillInterval)
  }
}
