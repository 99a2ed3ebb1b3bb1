internal import CVA
internal import Synchronization

/// One display's driver: every object its client made, behind one lock.
///
/// libva neither locks nor checks ids, so both happen here. Encoding runs inside `vaEndPicture`
/// on the caller's thread, and there are no threads of our own.
final class Driver {
  var configs = ObjectTable<EncodeConfig>(kind: 1)
  var contexts = ObjectTable<EncodeContext>(kind: 2)
  var surfaces = ObjectTable<Surface>(kind: 3)
  var buffers = ObjectTable<DriverBuffer>(kind: 4)
  var images = ObjectTable<DriverImage>(kind: 5)
  var pool = BufferPool()
  /// The last serial given to a macroblock's pixels; surfaces may serve several contexts.
  var lastSerial: UInt32 = 0
  let mode: EncodeMode
  /// Surfaces up to this size stay mapped.
  let keptByteCount: Int
  let vendor: VendorString

  private let lock = Mutex(())

  init(mode: EncodeMode, keptByteCount: Int) {
    self.mode = mode
    self.keptByteCount = keptByteCount
    vendor = VendorString(mode: mode)
  }

  /// Runs one call of the client alone.
  func exclusively(_ call: (Driver) throws(DriverError) -> Void) -> VAStatus {
    lock.withLock { _ in
      do throws(DriverError) {
        try call(self)
        return VA_STATUS_SUCCESS
      } catch {
        return error.status
      }
    }
  }
}
