import Foundation
import TestSupport
import Testing

@testable import HostRelay

/// Told by files as the kernel writes them; the groups themselves are root's to make.
@Suite struct GroupKillsTests {
  @Test("the group's file is found for either version, the first one where both are there")
  func paths() {
    #expect(
      GroupKills.path(in: "0::/user.slice/agent.service\n")
        == "/sys/fs/cgroup/user.slice/agent.service/memory.events")
    #expect(
      GroupKills.path(in: "9:pids:/\n4:memory,hugetlb:/a:b\n0::/\n")
        == "/sys/fs/cgroup/memory/a:b/memory.oom_control")
    #expect(GroupKills.path(in: "1:cpu:/\n") == nil)
  }

  @Test("a kill after the process was met is one, those before are none")
  func rises() throws {
    try withTestDirectory { directory in
      let file = directory.file("memory.events")
      func write(_ count: Int) throws {
        try "low 0\nmax 7\noom 1\noom_kill \(count)\noom_group_kill 0\n".write(
          toFile: file, atomically: true, encoding: .utf8)
      }
      try write(3)
      let kills = try #require(GroupKills(file: file))
      #expect(!kills.haveRisen)
      try write(4)
      #expect(kills.haveRisen)
      #expect(GroupKills(file: directory.file("nothing")) == nil)
    }
  }
}
