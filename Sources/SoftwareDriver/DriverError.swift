internal import CVA

/// What a call refuses with: the status that libva hands to the client, and the reason for whoever
/// reads the client's log.
struct DriverError: Error {
  let status: VAStatus
  var reason: StaticString?

  init(status: VAStatus, reason: StaticString? = nil) {
    self.status = status
    self.reason = reason
  }

  /// The same refusal, with what is wrong in words.
  func because(_ reason: StaticString) -> DriverError {
    DriverError(status: status, reason: reason)
  }

  static let invalidConfig = DriverError(status: VA_STATUS_ERROR_INVALID_CONFIG)
  static let invalidContext = DriverError(status: VA_STATUS_ERROR_INVALID_CONTEXT)
  static let invalidSurface = DriverError(status: VA_STATUS_ERROR_INVALID_SURFACE)
  static let invalidBuffer = DriverError(status: VA_STATUS_ERROR_INVALID_BUFFER)
  static let invalidImage = DriverError(status: VA_STATUS_ERROR_INVALID_IMAGE)
  static let invalidImageFormat = DriverError(status: VA_STATUS_ERROR_INVALID_IMAGE_FORMAT)
  static let invalidParameter = DriverError(status: VA_STATUS_ERROR_INVALID_PARAMETER)
  static let invalidValue = DriverError(status: VA_STATUS_ERROR_INVALID_VALUE)
  static let allocationFailed = DriverError(status: VA_STATUS_ERROR_ALLOCATION_FAILED)
  static let surfaceBusy = DriverError(status: VA_STATUS_ERROR_SURFACE_BUSY)
  static let operationFailed = DriverError(status: VA_STATUS_ERROR_OPERATION_FAILED)
  static let unimplemented = DriverError(status: VA_STATUS_ERROR_UNIMPLEMENTED)
  static let maxNumExceeded = DriverError(status: VA_STATUS_ERROR_MAX_NUM_EXCEEDED)
  static let notEnoughBuffer = DriverError(status: VA_STATUS_ERROR_NOT_ENOUGH_BUFFER)
  static let resolutionNotSupported = DriverError(
    status: VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED)
  static let unsupportedProfile = DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_PROFILE)
  static let unsupportedEntrypoint = DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT)
  static let unsupportedFormat = DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT)
  static let unsupportedBuffer = DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE)
  static let unsupportedMemory = DriverError(status: VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE)
  static let attributeNotSupported = DriverError(status: VA_STATUS_ERROR_ATTR_NOT_SUPPORTED)
}
