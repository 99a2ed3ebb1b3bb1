import TestSupport
import Testing
import Wire

@testable import HostRelay

/// What the agent says of its memory is told in the status, the metrics and the page.
@Suite struct AgentMemoryTests {
  private static let figures: AgentFigures = {
    var figures = AgentFigures()
    figures[.vmSizeKB] = 39_804
    figures[.limitAddressKB] = 51_200
    figures[.framesHeldKB] = 24_320
    figures[.framesMappedKB] = 484
    figures[.memfdKB] = 9_236
    figures[.sendQueueBytes] = 77
    figures[.socketBytes] = 4_608
    figures[.encoderAllocations] = 357
    figures[.memoryStep] = UInt64(MemoryStep.rate.rawValue)
    return figures
  }()

  @Test("figures and steps are told everywhere, and forgotten with their agent")
  func told() throws {
    try withTestDirectory { directory in
      let agent = try ScriptedAgent(token: RelayRun.token(in: directory))
      let relay = try RelayRun(["--agent", "\(agent.address)"], in: directory)
      defer { relay.process.end() }
      #expect(try relay.get("/metrics").contains("\nporthole_agent_connected 0\n"))
      do {
        let link = try agent.begin()
        try link.send(.figures(Self.figures))
        try link.send(.memoryStep(.rate, "76 % of what is above the plan"))
        try waitUntil(
          "step", isTrue: { try relay.get("/api/v1/status").contains("76 % of what is above") })
        let metrics = try relay.get("/metrics")
        for line in [
          "# TYPE porthole_agent_vm_size_kb gauge", "porthole_agent_vm_size_kb 39804",
          "# TYPE porthole_agent_encoder_allocations_total counter",
          "porthole_agent_encoder_allocations_total 357", "porthole_agent_frames_held_kb 24320",
          "porthole_agent_frames_mapped_kb 484", "porthole_agent_memfd_kb 9236",
          "porthole_agent_send_queue_bytes 77", "porthole_agent_socket_bytes 4608",
          "porthole_memory_step_changes_total 1", "porthole_agent_connected 1",
        ] { #expect(metrics.contains("\(line)\n"), "\(line)") }
      }
      try waitUntil(
        "the agent's end",
        isTrue: { try relay.get("/metrics").contains("porthole_agent_connected 0\n") })
      #expect(try !relay.get("/metrics").contains("porthole_agent_vm_size_kb"))
      #expect(try relay.get("/api/v1/status").contains("\"step\":\"rest\""))
    }
  }
}
