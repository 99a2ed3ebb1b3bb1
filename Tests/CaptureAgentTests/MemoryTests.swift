import CLinux
import CMemoryGuard
import Foundation
import Posix
import Report
import Testing
import VAAPI

@testable import CaptureAgent

/// Limits, what the plan adds up to, and how the process ends when it runs out.
struct MemoryTests {
  private static let isLimited = porthole_guard_is_built() != 0

  @Test(
    "the plans of 1080p and 2160p in software fit either limit, a larger one does not and says why")
  func budget() {
    func budget(_ width: Int, _ height: Int, _ tier: MemoryTier) -> MemoryBudget {
      MemoryBudget(
        configuration: EncoderConfiguration(
          width: width, height: height, display: .none, driverFolder: ""),
        tier: tier, limit: MemoryLimits.standard)
    }
    let hd = budget(1920, 1080, .address)
    #expect(hd.isWithinLimit, "\(hd.lines)")
    #expect(hd.pools.reduce(0) { $0 + $1.count * $1.byteCount } == hd.planned)
    let surfaces = hd.pools.first { $0.name == "NV12 surface" }
    #expect(surfaces?.total == 3 * 1920 * 1088 * 3 / 2)
    // Pixels are shared, so they are no data of the process.
    #expect(budget(1920, 1080, .data).planned < 8 << 20)
    let uhd = budget(3840, 2160, .data)
    #expect(uhd.limit - uhd.planned >= 20 << 20, "\(uhd.lines)")
    #expect(budget(3840, 2160, .address).isWithinLimit)
    let largest = budget(7680, 4320, .address)
    #expect(!largest.isWithinLimit)
    #expect(largest.refusal.contains("\(largest.planned >> 10) kB"))
    #expect(!largest.refusal.contains("\n"))
  }

  @Test("an agent without a picture has a plan too, which 19 MiB do not hold")
  func emptyBudget() {
    let budget = MemoryBudget(configuration: nil, tier: .address, limit: 19 << 20)
    #expect(!budget.isWithinLimit)
    #expect(MemoryBudget(configuration: nil, tier: .data, limit: 19 << 20).isWithinLimit)
  }

  @Test(
    "of buffers that are mapped whole as many are said to fit as the plan has room for, in one tier"
  )
  func wholeBuffers() throws {
    let format = SourceFormat(width: 1280, height: 720)
    let camera = SourceFormat(width: 640, height: 480)
    func plans(_ words: String...) throws -> MemoryPlans {
      let options = try Options(Options.table.parse(["--va-display", "none", "--camera"] + words))
      return MemoryPlans(
        options, limits: MemoryLimits(dataBytes: 50 << 20, addressBytes: 50 << 20))
    }
    let plan = try plans()
    let company = MemoryPlans.Company(sounds: 1, camera: camera)
    func room(_ buffers: Int, _ cameras: Int) -> Bool {
      var (format, company) = (format, company)
      format.mappedByteCount = buffers * 1280 * 720 * 4
      company.camera?.mappedByteCount = cameras * 640 * 480 * 2
      return plan.budget(of: format, company).isWithinLimit
    }
    let lines = plan.wholeBufferLines(of: format, company)
    let screens = try #require((0...16).last { room($0, 0) })
    let cameras = try #require((0...16).last { room(0, $0) })
    #expect(screens > 0 && screens < 16 && cameras > 0, "neither end would say anything")
    #expect(lines.count == 2)
    #expect(
      lines[0].contains("at most \(screens) x 3600 kB = \(screens * 3600) kB more"), "\(lines)")
    #expect(lines[1].contains("at most \(cameras) x 600 kB = \(cameras * 600) kB more"), "\(lines)")
    let full = SourceFormat(width: 1920, height: 1080)
    #expect(
      try plans("--size", "1920x1080").wholeBufferLines(
        of: full, MemoryPlans.Company(sounds: 2, camera: full)
      )[0].contains("none of 8100 kB fits"))
    #expect(try plans("--memory-tier", "data").wholeBufferLines(of: format, company) == [])
  }

  @Test("a device's surfaces are not the process's own")
  func deviceBudget() {
    let budget = MemoryBudget(
      configuration: EncoderConfiguration(
        width: 3840, height: 2160, display: .auto, driverFolder: ""),
      tier: .data, limit: MemoryLimits.standard)
    #expect(budget.isWithinLimit, "\(budget.lines)")
  }

  @Test("the gauge reads what the kernel says, and sees a mapping come")
  func gauge() throws {
    let gauge = try MemoryGauge()
    let before = gauge.footprint()
    let status = gauge.currentStatus()
    #expect(status.threads >= 1)
    #expect(status.sizePeakKB >= status.sizeKB)
    #expect(status.residentPeakKB >= status.residentKB)
    #expect(before.residentKB > before.sharedKB)
    let length = 256 << 20
    let pages = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    try #require(pages != MAP_FAILED)
    let during = gauge.footprint()
    munmap(pages, length)
    // Other tests map and unmap meanwhile, but not as much.
    #expect(during.sizeKB - before.sizeKB > 128 << 10)
    #expect(during.dataKB - before.dataKB > 128 << 10)
    #expect(gauge.currentStatus().dataKB < during.dataKB)
  }

  @Test("pages of files without a name are found, our own apart, and each file once")
  func heldMemory() async {
    // In a process of its own, for other tests make such files too.
    await #expect(processExitsWith: .success) {
      let before = HeldMemory()
      func file(_ name: String, kB: Int) -> Int32 {
        let descriptor = memfd_create(name, 0)
        let bytes = [UInt8](repeating: 1, count: kB << 10)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        return descriptor
      }
      let own = file("porthole-test", kB: 64)
      _ = file("screen", kB: 128)
      _ = dup(own)
      let after = HeldMemory()
      #expect(after.ownKB - before.ownKB == 64)
      #expect(after.foreignKB - before.foreignKB == 128)
    }
  }

  @Test(
    "limits are set soft and hard, hold, and cannot be raised again, by root neither",
    .enabled(if: isLimited, "a sanitizer's build sets no limits"))
  func limits() async {
    await #expect(processExitsWith: .success) {
      // A test's process is larger than the agent, so its limit is too.
      let limit = try MemoryGauge().currentStatus().sizeKB * 1024 + (64 << 20)
      let limits = try MemoryLimits.apply(tier: .address, byteCount: limit)
      #expect(limits == MemoryLimits(dataBytes: limit, addressBytes: limit))
      for (resource, expected) in [
        (RLIMIT_DATA, limit), (RLIMIT_AS, limit), (RLIMIT_CORE, 0),
      ] {
        let resource = __rlimit_resource_t(resource.rawValue)
        var found = rlimit()
        #expect(getrlimit(resource, &found) == 0)
        #expect(found.rlim_cur == expected && found.rlim_max == expected)
        var more = rlimit(rlim_cur: rlim_t(limit * 2), rlim_max: rlim_t(limit * 2))
        #expect(setrlimit(resource, &more) == -1)
      }
      let tooMuch = mmap(nil, 128 << 20, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
      #expect(tooMuch == MAP_FAILED)
    }
  }

  @Test(
    "an allocation that fails ends the process with code 86 and its last words",
    .enabled(if: isLimited, "a sanitizer's build sets no limits"))
  func allocationGuard() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/porthole-guard-\(getpid())"
    setenv("PORTHOLE_GUARD_TEST", folder, 1)
    let directory = try RuntimeDirectory(path: folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    await #expect(processExitsWith: .exitCode(86)) {
      let path = ProcessInfo.processInfo.environment["PORTHOLE_GUARD_TEST"] ?? ""
      let file = try LastWords.open(in: RuntimeDirectory(path: path), pid: 42, instance: 7)
        .release()
      let data = try MemoryGauge().currentStatus().dataKB * 1024
      _ = try MemoryLimits.apply(tier: .data, byteCount: data + (32 << 20))
      try AllocationGuard.arm(instance: 7, pid: 42, file: file)
      #expect(!AllocationGuard.hasShed)
      var kept: [[UInt8]] = []
      while true { kept.append([UInt8](repeating: 1, count: 100_000)) }
    }
    let words = try #require(LastWords.read(from: directory))
    #expect(words.pid == 42 && words.instance == 7)
    #expect(words.code == ExitCode.memoryLimit.rawValue)
  }
}
