import CVA
import Glibc
import Testing

@testable import SoftwareDriver

/// A libva display whose driver is ours, in this process: libva's own functions dispatch to it.
final class DriverDisplay {
  let display: VADisplay
  private let context: VADriverContextP
  private let table = UnsafeMutablePointer<VADriverVTable>.allocate(capacity: 1)
  private let processTable = UnsafeMutablePointer<VADriverVTableVPP>.allocate(capacity: 1)

  init(options: DriverOptions = DriverOptions()) throws {
    let raw = try #require(va_newDisplayContext())
    display = UnsafeMutableRawPointer(raw)
    raw.pointee.vaIsValid = { _ in 1 }
    context = try #require(va_newDriverContext(raw))
    table.initialize(to: VADriverVTable())
    context.pointee.vtable = table
    processTable.initialize(to: VADriverVTableVPP())
    context.pointee.vtable_vpp = processTable
    try check(initializeDriver(context, options: options))
  }

  deinit {
    _ = table.pointee.vaTerminate(context)
    free(context)
    table.deallocate()
    processTable.deallocate()
    free(display)
  }

  /// The vendor string that a status shows.
  var vendor: String { String(cString: vaQueryVendorString(display)) }
}

/// A libva call that did not succeed.
struct VAFailure: Error, Equatable {
  let status: VAStatus
}

func check(_ status: VAStatus) throws {
  guard status == VA_STATUS_SUCCESS else { throw VAFailure(status: status) }
}
