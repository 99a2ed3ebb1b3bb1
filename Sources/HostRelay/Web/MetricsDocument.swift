import Wire

/// `/metrics`: the status's numbers as Prometheus reads them (text format 0.0.4).
struct MetricsDocument {
  static let type = "text/plain; version=0.0.4; charset=utf-8"

  let broadcast: Broadcast
  let pushes: Pushes
  let deaths: Int
  let isAgentThere: Bool

  /// Of each push, whose name is the label.
  private static let pushFigures: [(name: String, isCount: Bool, value: @Sendable (Push) -> Int)] =
    [
      ("live", false, { $0.state == .live ? 1 : 0 }),
      ("restarts_total", true, { $0.restarts }),
      ("bytes_total", true, { $0.byteCount }),
    ]

  /// A label's value: backslash, quotation mark and line break are escaped.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for character in text {
      switch character {
      case "\\", "\"": result += "\\\(character)"
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
    return result + "\""
  }

  var text: String {
    var lines: [String] = []
    func put(_ name: String, _ value: Int, isCount: Bool = false) {
      let name = "porthole_\(name)\(isCount ? "_total" : "")"
      lines.append("# TYPE \(name) \(isCount ? "counter" : "gauge")")
      lines.append("\(name) \(value)")
    }
    put("live", broadcast.session.state == .live ? 1 : 0)
    put("readers", broadcast.outputs.streams.reduce(0) { $0 + $1.readerCount })
    put("packets", broadcast.counts.packets, isCount: true)
    put("bytes", broadcast.counts.bytes, isCount: true)
    put("agent_connected", isAgentThere ? 1 : 0)
    put("agent_deaths", deaths, isCount: true)
    put("memory_step_changes", broadcast.memory.changes, isCount: true)
    if let figures = broadcast.figures {
      for figure in AgentFigures.Figure.allCases {
        put("agent_\(figure.name)", Int(clamping: figures[figure]), isCount: figure.isCount)
      }
    }
    for (name, isCount, value) in Self.pushFigures {
      let name = "porthole_push_\(name)"
      guard !pushes.pushes.isEmpty else { break }
      lines.append("# TYPE \(name) \(isCount ? "counter" : "gauge")")
      for push in pushes.pushes {
        lines.append("\(name){push=\(Self.quoted(push.target.name))} \(value(push))")
      }
    }
    if let recording = pushes.recording {
      put("recording_live", recording.state == .live ? 1 : 0)
      put("recording_bytes", recording.byteCount, isCount: true)
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
