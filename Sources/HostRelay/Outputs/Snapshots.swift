import Posix

/// The last picture of the screen as a still one, made when somebody asks.
///
/// One is made at a time. Who asks meanwhile shares it, and until another picture has come nothing is
/// made anew.
final class Snapshots {
  typealias Answer = (Result<[UInt8], SnapshotError>) -> Void

  private let broadcast: Broadcast
  private let loop: EventLoop
  private let timer: LoopTimer
  private var waiting: [SnapshotRun.Format: [Answer]] = [:]
  private var running: SnapshotRun.Format?
  private var picture: PictureCatch?
  /// What was made last, and when its picture was the last one.
  private var made: [SnapshotRun.Format: (bytes: [UInt8], packets: Int)] = [:]

  init(of broadcast: Broadcast, on loop: EventLoop) throws(UVError) {
    self.broadcast = broadcast
    self.loop = loop
    timer = try LoopTimer(on: loop)
  }

  /// `answer` is called once, at once or later.
  func ask(for format: SnapshotRun.Format, _ answer: @escaping Answer) {
    if let made = made[format], made.packets == broadcast.counts.packets, hasPicture {
      return answer(.success(made.bytes))
    }
    guard hasPicture else { return answer(.failure(.nothingShown)) }
    waiting[format, default: []].append(answer)
    if running == nil { begin() }
  }

  /// The relay ends.
  func close() {
    picture?.stop()
    timer.close()
  }

  private var hasPicture: Bool {
    broadcast.outputs.fragments.stream.head != nil
      && broadcast.outputs.fragments.stream.cache.keyframe != nil
  }

  private func begin() {
    guard let format = waiting.keys.first else { return }
    running = format
    // An agent that dies in this moment leaves a keyframe that was asked for to come from the next.
    timer.start(after: RelayLimits.snapshotTime) { [weak self] in
      self?.picture?.stop()
      self?.end(.failure(.nothingShown))
    }
    picture = PictureCatch(broadcast.outputs.fragments.stream) { [weak self] in
      self?.make($0, as: format)
    }
  }

  private func make(_ packets: [Packet], as format: SnapshotRun.Format) {
    timer.stop()
    let count = broadcast.counts.packets
    do {
      _ = try SnapshotRun(packets, as: format, on: loop) { [weak self] result in
        if case .success(let bytes) = result { self?.made[format] = (bytes, count) }
        self?.end(result)
      }
    } catch {
      end(.failure(.noProgram("\(error)")))
    }
  }

  private func end(_ result: Result<[UInt8], SnapshotError>) {
    guard let format = running else { return }
    running = nil
    picture = nil
    let answers = waiting.removeValue(forKey: format) ?? []
    for answer in answers { answer(result) }
    begin()
  }
}
