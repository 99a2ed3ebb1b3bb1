import Wire

/// The page at `/`: says what is broadcast and where to read it.
struct ViewerPage {
  let host: String
  /// What the visitor came with; its links need it too.
  let key: [UInt8]
  let consumers: String
  let state: String
  let detail: String
  /// nil while no agent is there.
  let memory: MemoryWords?

  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Porthole</title>
    <style>
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 42em; margin: 3em auto; padding: 0 1em }
    code { background: #eee; padding: .1em .3em }
    </style>
    </head>
    <body>
    <h1>Porthole</h1>
    <p>The broadcast is <strong>\(Self.escaped(state))</strong>\(detailText).</p>
    <p>\(memory?.text ?? "No agent is there.")</p>
    <p>Watch it in a player:</p>
    <ul>
    <li><code>mpv --profile=low-latency \(address)</code></li>
    <li><code>ffplay -flags low_delay -probesize 5000 \(address)</code></li>
    <li><code>vlc \(address)</code></li>
    </ul>
    <p>Programs read packets from <code>\(Self.escaped(consumers))</code>.
    State: <a href="/metrics\(query)">/metrics</a>, <a href="/api/v1/status\(query)">/api/v1/status</a>, <a href="/healthz\(query)">/healthz</a>.</p>
    </body>
    </html>

    """
  }

  private var query: String {
    key.isEmpty ? "" : "?key=" + Self.escaped(String(decoding: key, as: UTF8.self))
  }

  private var address: String { "http://\(Self.escaped(host))/live.ts\(query)" }

  private var detailText: String { detail.isEmpty ? "" : " (\(Self.escaped(detail)))" }

  private static func escaped(_ text: String) -> String {
    text.map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      default: String(character)
      }
    }.joined()
  }
}

/// What the agent holds, in a sentence.
struct MemoryWords {
  let text: String

  init(_ figures: AgentFigures) {
    let address = figures[.limitAddressKB]
    let ofAddress = address == 0 ? "" : " of \(address)"
    let step = MemoryStep(rawValue: UInt8(clamping: figures[.memoryStep])) ?? .rest
    let given = step == .rest ? "nothing is given up" : "it has given up: \(step.word)"
    text =
      "The agent maps \(figures[.vmSizeKB])\(ofAddress) kB and has \(figures[.vmDataKB]) of "
      + "\(figures[.limitDataKB]) kB of data. What no limit counts: \(figures[.framesHeldKB]) kB of "
      + "frames that it may read, of them at most \(figures[.framesMappedKB]) kB mapped at a time; "
      + "\(figures[.memfdKB]) kB of pixels of its own; \(figures[.sendQueueBytes]) bytes that wait to "
      + "be sent, and \(figures[.socketBytes]) in the kernel. For want of memory \(given)."
  }
}
