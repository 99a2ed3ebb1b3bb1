import Glibc

/// The process's table of descriptors, and what viewers may have of it.
enum Descriptors {
  /// Enough for every connection that the limits allow, and no more: libwebsockets makes tables of
  /// this size.
  static func bound() {
    let viewers = 2 * (RelayLimits.consumers + RelayLimits.ungreeted) + RelayLimits.reservedPlaces
    guard var limit = limit() else { return }
    limit.rlim_cur = min(rlim_t(viewers + 128), limit.rlim_max)
    _ = unsafe setrlimit(resource, &limit)
  }

  /// From this number on they are kept for the link and the agent's start. The kernel gives the
  /// lowest free one, so a connection that gets a higher one has found all others taken.
  static func firstReserved() -> Int32 {
    Int32(clamping: limit()?.rlim_cur ?? .max) - RelayLimits.reservedDescriptors
  }

  private static func limit() -> rlimit? {
    var limit = rlimit()
    return unsafe getrlimit(resource, &limit) == 0 ? limit : nil
  }

  private static let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
}
