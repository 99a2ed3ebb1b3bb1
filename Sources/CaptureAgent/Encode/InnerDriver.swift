public import CVA
import SoftwareDriver

/// The software driver as `libporthole_inner_drv_video.so` finds it in this program. A driver in a
/// module of its own, which other programs load, brings a second runtime of Swift: 6 MB of addresses.
@c(porthole_driver_init)
public func innerDriverInit(_ context: VADriverContextP?) -> VAStatus {
  unsafe initializeDriver(context)
}
