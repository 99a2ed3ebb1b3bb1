import Wire

/// `/metrics`: the status's numbers as Prometheus reads them (text format 0.0.4).
struct MetricsDocument {
  static let type = "text/plain; version=0.0.4; charset=utf-8"

  let broadcast: Broadcast
  let deaths: Int
  let isAgentThere: Bool

  var text: String {
    var lines: [String] = []
    func put(_ name: String, _ value: Int, isCount: Bool = false) {
      let name = "porthole_\(name)\(isCount ? "_total" : "")"
      lines.append("# TYPE \(name) \(isCount ? "counter" : "gauge")")
      lines.append("\(name) \(value)")
    }
    put("live", broadcast.session.state == .live ? 1 : 0)
    put("readers", broadcast.streams.reduce(0) { $0 + $1.readerCount })
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
    return lines.joined(separator: "\n") + "\n"
  }
}
