public import CVA

@c(__vaDriverInit_1_0)
public func driverInit(_ context: VADriverContextP?) -> VAStatus {
  VA_STATUS_ERROR_UNIMPLEMENTED
}
