internal import CVA

/// Profiles, entrypoints, attributes and configs.
func installConfigCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaQueryConfigProfiles = { _, list, count in
    unsafe list?[0] = VAProfileH264ConstrainedBaseline
    unsafe count?.pointee = 1
    return VA_STATUS_SUCCESS
  }
  unsafe table.pointee.vaQueryConfigEntrypoints = { _, profile, list, count in
    guard profile == VAProfileH264ConstrainedBaseline else {
      return VA_STATUS_ERROR_UNSUPPORTED_PROFILE
    }
    unsafe list?[0] = VAEntrypointEncSlice
    unsafe count?.pointee = 1
    return VA_STATUS_SUCCESS
  }
  unsafe table.pointee.vaGetConfigAttributes = { context, profile, entrypoint, list, count in
    unsafe answer(context) { _ throws(DriverError) in
      try checkPair(profile, entrypoint)
      for index in 0..<Int(max(count, 0)) {
        guard let attribute = unsafe list.map({ unsafe $0 + index }) else {
          throw .invalidParameter
        }
        let offer = unsafe EncodeConfig.offered(attribute.pointee.type)
        unsafe attribute.pointee.value = offer ?? UInt32(VA_ATTRIB_NOT_SUPPORTED)
      }
    }
  }
  unsafe table.pointee.vaCreateConfig = { context, profile, entrypoint, list, count, id in
    unsafe answer(context) { driver throws(DriverError) in
      try checkPair(profile, entrypoint)
      let wanted = unsafe UnsafeBufferPointer(start: list, count: list == nil ? 0 : Int(count))
      let config = unsafe try EncodeConfig(wanted: wanted)
      guard let new = driver.configs.insert(config) else { throw .allocationFailed }
      unsafe id?.pointee = new
    }
  }
  unsafe table.pointee.vaDestroyConfig = { context, id in
    unsafe answer(context) { driver throws(DriverError) in
      guard driver.configs.remove(id) != nil else { throw .invalidConfig }
    }
  }
  unsafe table.pointee.vaQueryConfigAttributes = {
    context, id, profile, entrypoint, list, count in
    unsafe answer(context) { driver throws(DriverError) in
      guard let config = driver.configs[id] else { throw .invalidConfig }
      unsafe profile?.pointee = VAProfileH264ConstrainedBaseline
      unsafe entrypoint?.pointee = VAEntrypointEncSlice
      for (index, attribute) in config.attributes.enumerated() {
        unsafe list?[index] = attribute
      }
      unsafe count?.pointee = Int32(config.attributes.count)
    }
  }
}

private func checkPair(
  _ profile: VAProfile, _ entrypoint: VAEntrypoint
) throws(DriverError) {
  guard profile == VAProfileH264ConstrainedBaseline else { throw .unsupportedProfile }
  guard entrypoint == VAEntrypointEncSlice else { throw .unsupportedEntrypoint }
}
