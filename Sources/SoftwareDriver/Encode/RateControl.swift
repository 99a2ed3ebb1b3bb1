internal import Glibc

/// Chooses each picture's QP so that the stream keeps its bit rate, for screens: a burst when much
/// changes, and what is left goes into the sharpness of what stands still.
///
/// A leaky bucket: pictures fill it, time drains it, and a picture may take a sixth of what is free.
/// So the mean over any time is the rate, and in steady motion a picture gets one interval's bits.
struct RateControl {
  /// What the client asked for.
  struct Settings: Equatable {
    var peakBitsPerSecond = 0
    /// Of the peak, in percent; CBR has 100.
    var targetPercentage = 100
    var picturesPerSecond = 30.0
    var minimumQP = 0
    var maximumQP = 51
    /// QP of the first picture; 0 leaves it to the model.
    var initialQP = 0
    /// Of the decoder's buffer (HRD); 0 when the client does not say.
    var bufferBits = 0
  }

  /// Finer than this no screen looks different: about 44 dB on text.
  static let finestQP = 20
  static let readableQP = 30
  /// Seconds of the peak rate that may be ahead of time.
  static let bucketSeconds = 0.45
  /// The least in pictures: a picture's share of an empty bucket has to exceed one interval's bits.
  static let bucketPictures = 9.0
  /// Seconds of the rate that an intra picture may take.
  static let intraSeconds = 0.4
  /// Seconds of the rate that a picture may take which has so many times the usual detail to code: a
  /// window opened, a page turned. Motion that goes on becomes the usual within a few pictures.
  static let sceneSeconds = 0.25
  static let sceneChange = 4.0
  /// What a picture, and an intra picture, gets of a bucket that is full: time will drain it.
  static let leastSeconds = 0.008
  static let leastIntraSeconds = 0.15
  /// Of the decoder's buffer, what no picture may go beyond: so five seconds hold a tenth too much at
  /// most, and a decoder that begins with three quarters of its buffer never waits.
  static let hardShare = 0.5
  /// A client that is late by less than this has been kept waiting, and its pictures have not.
  static let pauseSeconds = 0.5
  /// The part of a picture's bits that what stands still may have while something moves.
  static let stillShare = 0.3
  /// The part of the free bucket that one picture may take.
  static let pictureShare = 0.17

  private var settings = Settings()
  private var level = 0.0
  /// Bits for each unit of detail at QP 20, learnt from the pictures before; to begin with, what
  /// pages of text take.
  private var intraWeight = 0.08
  private var interWeight = 0.06
  /// What pictures of late had to code.
  private var usualDetail = 0.0
  private var lastQP = 0
  private var hasCoded = false
  private var lastTime: UInt64 = 0

  /// Takes new settings; what was learnt stays true.
  mutating func configure(_ new: Settings) { settings = new }

  var current: Settings { settings }

  /// What macroblocks that stand still are brought to in the end.
  var stillestQP: Int { min(max(settings.minimumQP, Self.finestQP), settings.maximumQP) }

  /// The plan for a picture at `time`, in nanoseconds of any steady clock.
  mutating func plan(_ load: PictureLoad, isIntra: Bool, at time: UInt64) -> PicturePlan {
    drain(until: time)
    let isScene = Double(load.detail) > Self.sceneChange * usualDetail
    let share = share(isIntra: isIntra, isScene: isScene)
    let reserve = isIntra ? 0 : reserve(for: load, of: share)
    let floor = stillestQP
    var qp = floor
    while qp < settings.maximumQP, predictedBits(load, isIntra, qp: qp) > share - reserve {
      qp += 1
    }
    // Near the last picture's QP go half the way, or motion that goes on would swing around its QP.
    if !isIntra, !isScene, abs(qp - lastQP) <= 4 {
      qp = max(floor, (qp + lastQP + (qp > lastQP ? 1 : 0)) / 2)
    }
    if !hasCoded, settings.initialQP > 0 {
      qp = min(max(settings.initialQP, settings.minimumQP), settings.maximumQP)
    }
    let changed = predictedBits(load, isIntra, qp: qp)
    return PicturePlan(
      qp: qp, stillQP: floor, readableQP: readableQP(load, floor: floor),
      refinementBits: Int(max(reserve, share - changed)),
      limitBits: Int(share * (isIntra ? 1.2 : 2)),
      hardBits: Int(max(0, Self.hardShare * decoderBits - level)),
      largestQP: settings.maximumQP, load: load)
  }

  /// Learns from the picture that `plan` was made for; `changedBits` went into what changed.
  mutating func account(
    bits: Int, changedBits: Int, _ load: PictureLoad, meanQP: Double, isIntra: Bool
  ) {
    hasCoded = true
    lastQP = Int(meanQP.rounded())
    usualDetail += (Double(load.detail) - usualDetail) / 4
    level += Double(bits)
    // A handful of macroblocks says little about the next picture.
    guard load.changedCount >= 16 else { return }
    let weight =
      Double(changedBits) / Self.scale(meanQP, isIntra: isIntra) / Double(load.detail)
    if isIntra {
      intraWeight = (intraWeight + weight) / 2
    } else {
      interWeight = (interWeight + weight) / 2
    }
  }

  /// The bits that a picture may take.
  private func share(isIntra: Bool, isScene: Bool) -> Double {
    let free = max(0, bucketBits - level)
    let share = max(free * Self.pictureShare, rate * Self.leastSeconds)
    if isIntra {
      let bound = max(free, rate * Self.leastIntraSeconds)
      return max(share, min(bound, rate * Self.intraSeconds))
    }
    return isScene ? max(share, min(free, rate * Self.sceneSeconds)) : share
  }

  /// Bits of a picture that are kept for what stands still: a motion that goes on would take them all, and
  /// what it leaves behind would stay as coarse as it was coded in passing.
  private func reserve(for load: PictureLoad, of share: Double) -> Double {
    let wanted =
      PicturePlan.coarseBits * Double(load.coarseCount)
      + PicturePlan.blurredBits * Double(load.blurredCount - load.coarseCount)
    return min(wanted, share * Self.stillShare)
  }

  /// What is hard to read is made readable everywhere before anything is made sharp.
  private func readableQP(_ load: PictureLoad, floor: Int) -> Int {
    load.coarseCount > 32 ? min(max(floor, Self.readableQP), settings.maximumQP) : floor
  }

  private var rate: Double {
    Double(settings.peakBitsPerSecond) * Double(settings.targetPercentage) / 100
  }

  /// The decoder's buffer: a second of the peak rate where the client does not say.
  private var decoderBits: Double {
    Double(settings.bufferBits > 0 ? settings.bufferBits : settings.peakBitsPerSecond)
  }

  private var bucketBits: Double {
    let seconds = max(Self.bucketSeconds, Self.bucketPictures / settings.picturesPerSecond)
    let bucket = Double(settings.peakBitsPerSecond) * seconds
    return settings.bufferBits > 0 ? min(bucket, Double(settings.bufferBits)) : bucket
  }

  /// A picture drains one interval, however fast or slow it comes; after a pause, the time that passed.
  private mutating func drain(until time: UInt64) {
    var seconds = 1 / settings.picturesPerSecond
    let passed = Double(time &- lastTime) / 1e9
    if hasCoded, passed > max(3 * seconds, Self.pauseSeconds) { seconds = passed }
    lastTime = time
    level = max(0, level - rate * seconds)
  }

  private func predictedBits(_ load: PictureLoad, _ isIntra: Bool, qp: Int) -> Double {
    let weight = isIntra ? intraWeight : interWeight
    return weight * Double(load.detail) * Self.scale(Double(qp), isIntra: isIntra)
  }

  /// How bits fall with QP, 1 at QP 20: seen on text, noise and gradients, intra pictures halve every
  /// ten QP, inter pictures every eight.
  private static func scale(_ qp: Double, isIntra: Bool) -> Double {
    exp2((20 - qp) / (isIntra ? 10 : 8))
  }
}
