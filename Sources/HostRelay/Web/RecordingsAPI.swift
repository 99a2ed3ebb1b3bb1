import CommandOptions

/// Recordings over HTTP, for who may control: listed, fetched and deleted.
///
///     GET  /api/v1/recordings           {"recordings": [{"name", "bytes", "modified", "live"}]}
///     POST /api/v1/recordings/ticket    {"name"} -> {"ticket"}: for a browser's player
///     POST /api/v1/recordings/delete    {"name"}
///     GET  /recordings/NAME             the file, or a range of its bytes
///
/// A name is looked for among those of the shelf, so none leads out of its folder.
final class RecordingsAPI {
  private let pushes: Pushes
  private let loop: EventLoop
  private var tickets = RecordingTickets()

  private static let list = ControlAPI.prefix + "recordings"
  private static let files = "/recordings/"

  init(_ pushes: Pushes, on loop: EventLoop) {
    self.pushes = pushes
    self.loop = loop
  }

  /// Whether `path` is one of these.
  static func covers(_ path: String) -> Bool {
    path == list || path.hasPrefix(list + "/") || path.hasPrefix(files)
  }

  /// By which it is asked for.
  static func methods(of path: String) -> [String] {
    path.hasPrefix(list + "/") ? ["POST"] : ["GET", "HEAD"]
  }

  /// Whether the request shows a ticket for the recording that it asks for.
  func admits(_ request: HTTPRequest) -> Bool {
    guard request.path.hasPrefix(Self.files), !request.ticket.isEmpty else { return false }
    let name = String(request.path.dropFirst(Self.files.count))
    return tickets.admits(request.ticket, to: name, now: .now)
  }

  /// Answers one who was let in.
  func answer(_ request: HTTPRequest) -> HTTPAnswer {
    guard let shelf = pushes.shelf else {
      return request.path == Self.list
        ? .document(.json(200, .object([("recordings", .list([]))])))
        : .document(.error(404, "nothing is recorded here (--record)"))
    }
    if request.path == Self.list { return list(shelf) }
    guard request.method == "POST" else {
      let name = String(request.path.dropFirst(Self.files.count))
      return file(name, range: request.range, of: shelf)
    }
    guard let members = try? JSONReader.object(request.body), case .text(let name) = members["name"]
    else { return .document(.error(400, "name must be a text")) }
    guard shelf.owns(name) else { return .document(Self.missing(name)) }
    switch request.path {
    case Self.list + "/ticket":
      return ticket(name, of: shelf)
    case Self.list + "/delete": return delete(name, of: shelf)
    default: return .document(.error(404, "there is no \(request.path)"))
    }
  }

  private func list(_ shelf: RecordingShelf) -> HTTPAnswer {
    .later { [loop, pushes] done in
      BackgroundWork.run(on: loop) {
        shelf.list()
      } done: { entries in
        let live = pushes.liveRecording
        let values = entries.map { entry -> JSONText in
          .object([
            ("name", .text(entry.name)), ("bytes", .number(entry.byteCount)),
            ("modified", .number(entry.modified)), ("live", .truth(entry.name == live)),
          ])
        }
        done(.document(.json(200, .object([("recordings", .list(values))]))))
      }
    }
  }

  private func file(_ name: String, range: String, of shelf: RecordingShelf) -> HTTPAnswer {
    .later { [loop] done in
      BackgroundWork.run(on: loop) {
        shelf.open(name)
      } done: { file in
        done(.document(file.map { .file($0, range: range) } ?? Self.missing(name)))
      }
    }
  }

  /// Nobody gets one for a file that will have this name one day.
  private func ticket(_ name: String, of shelf: RecordingShelf) -> HTTPAnswer {
    .later { [self] done in
      BackgroundWork.run(on: loop) {
        shelf.list().contains { $0.name == name }
      } done: { [self] isThere in
        guard isThere else { return done(.document(Self.missing(name))) }
        let ticket = JSONText.text(tickets.issue(for: name, now: .now))
        done(.document(.json(200, .object([("ticket", ticket)]))))
      }
    }
  }

  private func delete(_ name: String, of shelf: RecordingShelf) -> HTTPAnswer {
    guard name != pushes.liveRecording else {
      return .document(.error(409, "\(name) is being written"))
    }
    tickets.forget(name)
    return .later { [loop] done in
      BackgroundWork.run(on: loop) {
        shelf.delete(name)
      } done: { isGone in
        let deleted = JSONText.object([("deleted", .text(name))])
        done(.document(isGone ? .json(200, deleted) : Self.missing(name)))
      }
    }
  }

  private static func missing(_ name: String) -> HTTPDocument {
    .error(404, "there is no recording \(name)")
  }
}
