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
  var processConfigs = ObjectTable<ProcessConfig>(kind: 6)
  var processors = ObjectTable<ProcessContext>(kind: 7)
  let processLists = ProcessLists()
  var pool = BufferPool()
  /// The last serial given to a macroblock's pixels; surfaces may serve several contexts.
  var lastSerial: UInt32 = 0
  var faults: Faults
  let options: DriverOptions
  let vendor: VendorString

  private let lock = Mutex(())

  var personality: Personality { options.personality }

  /// Where reconstructions go, if a test wants to see them.
  let reconstructions: ReconstructionFile?

  init(options: DriverOptions) {
    self.options = options
    reconstructions = options.reconstructionPath.flatMap(ReconstructionFile.init)
    faults = options.faults
    vendor = VendorString(options: options)
  }

  /// What the client holds, in words.
  var heldObjects: String {
    "\(configs.count + processConfigs.count) configs, "
      + "\(contexts.count + processors.count) contexts, \(surfaces.count) surfaces, "
      + "\(buffers.count) buffers, \(images.count) images"
  }

  /// Runs one call of the client alone. `name` is what faults know it by; nil for a call that counts
  /// itself.
  func exclusively(
    _ name: StaticString?, _ call: (Driver) throws(DriverError) -> Void
  ) -> DriverError? {
    lock.withLock { _ in
      do throws(DriverError) {
        if let name { try faults.count(name) }
        try call(self)
        return nil
      } catch {
        return error
      }
    }
  }
}
