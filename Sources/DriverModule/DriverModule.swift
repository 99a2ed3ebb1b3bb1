public import CVA
internal import SoftwareDriver

/// The one symbol of the module; libva 2.x tries its own minor version first and ends here.
@c(__vaDriverInit_1_0)
public func driverInit(_ context: VADriverContextP?) -> VAStatus {
  unsafe initializeDriver(context)
}
