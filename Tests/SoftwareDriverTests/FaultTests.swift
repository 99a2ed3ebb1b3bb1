import CVA
import TestSupport
import Testing

@testable import SoftwareDriver

/// Faults on demand, delays on demand, and what a test can see of a driver from outside.
struct FaultTests {
  private let picture = Picture.text(width: 64, height: 48, seed: 1)

  private func client(_ change: (inout DriverOptions) -> Void) throws -> DriverClient {
    try DriverClient(width: 64, height: 48, options: change)
  }

  private func status(of client: DriverClient, isIDR: Bool = false) -> VAStatus {
    do {
      try client.encode(picture, isIDR: isIDR)
      return VA_STATUS_SUCCESS
    } catch {
      return (error as? VAFailure)?.status ?? -1
    }
  }

  @Test("the n-th call fails, or that and every later one, with the status asked for")
  func calls() throws {
    let faults = try #require(Faults(text: "vaEndPicture@2=24,vaSyncBuffer@3,vaBeginPicture@6+"))
    let client = try self.client { $0.faults = faults }
    let found = (0..<7).map { _ in status(of: client, isIDR: true) }
    #expect(found == [0, 24, 0, 1, 0, 1, 1])
  }

  @Test("a picture that failed ends, and is no reference")
  func afterFailure() throws {
    let faults = try #require(Faults(text: "vaEndPicture@2"))
    let client = try self.client { $0.faults = faults }
    try client.encode(picture)
    #expect(status(of: client) == VA_STATUS_ERROR_OPERATION_FAILED)
    #expect(status(of: client) == VA_STATUS_SUCCESS)
  }

  @Test("overflow and bad-bitstream are told by the status of the n-th picture")
  func statuses() throws {
    let faults = try #require(Faults(text: "overflow@2,bad-bitstream@3"))
    let client = try self.client { $0.faults = faults }
    let found = try (0..<4).map { _ in
      try client.encode(picture, isIDR: true)
      return try client.codedSegments().status & ~0xff
    }
    #expect(
      found == [
        0, UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK),
        UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM), 0,
      ])
  }

  @Test("a delayed picture is waited for, and what it uses is busy until then")
  func delay() throws {
    // The client waits in `encode`; here the picture is begun without that.
    let client = try self.client { $0.delayNanoseconds = 300_000_000 }
    let va = client.display.display
    try client.put(picture)
    try client.submit(PictureParameters(client: client, qp: 26, isIDR: true))
    var state = VASurfaceStatus(0)
    try check(vaQuerySurfaceStatus(va, client.input, &state))
    #expect(state == VASurfaceRendering)
    #expect(vaSyncBuffer(va, client.codedBuffer, 1_000_000) == VA_STATUS_ERROR_TIMEDOUT)
    var surface = client.input
    #expect(vaDestroySurfaces(va, &surface, 1) == VA_STATUS_ERROR_SURFACE_BUSY)
    #expect(throws: VAFailure(status: VA_STATUS_ERROR_SURFACE_BUSY)) { try client.put(picture) }
    let start = steadyNanoseconds()
    try check(vaSyncSurface2(va, client.input, UInt64(VA_TIMEOUT_INFINITE)))
    #expect(steadyNanoseconds() >= start)
    try check(vaQuerySurfaceStatus(va, client.input, &state))
    #expect(state == VASurfaceReady)
    #expect(try client.codedSegments().pieces[0].count > 100)
    try client.put(picture)
  }

  @Test("what a client never gave back is counted when the display ends")
  func leaks() throws {
    try withTestDirectory { directory in
      let path = directory.file("leaks")
      do {
        let client = try self.client { $0.leakPath = path }
        try client.encode(picture)
        client.destroyAll()
      }
      do { _ = try client { $0.leakPath = path } }
      let lines = try String(decoding: readFile(path), as: UTF8.self).split(separator: "\n")
      try #require(lines.count == 2)
      #expect(lines[0].hasPrefix("0 configs, 0 contexts, 0 surfaces, 0 buffers, 0 images, "))
      #expect(lines[1].hasPrefix("1 configs, 1 contexts, 3 surfaces, 1 buffers, 0 images, "))
    }
  }

  @Test("the reconstructions are written where a test asks for them")
  func reconstructions() throws {
    try withTestDirectory { directory in
      let path = directory.file("pictures.nv12")
      let client = try DriverClient(width: 50, height: 34) { $0.reconstructionPath = path }
      let noise = Picture.noise(width: 50, height: 34, seed: 2)
      let coded = try (0..<2).map { _ in try client.encode(noise).reconstruction }
      #expect(try readFile(path) == coded[0] + coded[1])
    }
  }
}
