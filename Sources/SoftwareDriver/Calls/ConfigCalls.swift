internal import CVA

/// Profiles, entrypoints, attributes and configs.
func installConfigCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaQueryConfigProfiles = { context, list, count in
    unsafe answer(context, "vaQueryConfigProfiles") { _ throws(DriverError) in
      for (index, profile) in EncodeConfig.profiles.enumerated() {
        unsafe list?[index] = profile
      }
      unsafe count?.pointee = Int32(EncodeConfig.profiles.count)
    }
  }
  unsafe table.pointee.vaQueryConfigEntrypoints = { context, profile, list, count in
    unsafe answer(context, "vaQueryConfigEntrypoints") { driver throws(DriverError) in
      let entrypoints = try driver.entrypoints(of: profile)
      for (index, entrypoint) in entrypoints.enumerated() {
        unsafe list?[index] = entrypoint
      }
      unsafe count?.pointee = Int32(entrypoints.count)
    }
  }
  unsafe table.pointee.vaGetConfigAttributes = { context, profile, entrypoint, list, count in
    unsafe answer(context, "vaGetConfigAttributes") { driver throws(DriverError) in
      let offer = try driver.offer(profile, entrypoint)
      for index in 0..<Int(max(count, 0)) {
        guard let attribute = unsafe list.map({ unsafe $0 + index }) else {
          throw .invalidParameter
        }
        let value = unsafe offer.value(of: attribute.pointee.type)
        unsafe attribute.pointee.value = value ?? UInt32(VA_ATTRIB_NOT_SUPPORTED)
      }
    }
  }
  unsafe table.pointee.vaCreateConfig = { context, profile, entrypoint, list, count, id in
    unsafe answer(context, "vaCreateConfig") { driver throws(DriverError) in
      let offer = try driver.offer(profile, entrypoint)
      guard entrypoint != VAEntrypointVLD else { throw .unsupportedEntrypoint }
      let wanted = unsafe UnsafeBufferPointer(start: list, count: list == nil ? 0 : Int(count))
      let config = unsafe try EncodeConfig(wanted: wanted, of: offer)
      guard let new = driver.configs.insert(config) else { throw .allocationFailed }
      unsafe id?.pointee = new
    }
  }
  unsafe table.pointee.vaDestroyConfig = { context, id in
    unsafe answer(context, "vaDestroyConfig") { driver throws(DriverError) in
      guard driver.configs.remove(id) != nil else { throw .invalidConfig }
    }
  }
  unsafe table.pointee.vaQueryConfigAttributes = {
    context, id, profile, entrypoint, list, count in
    unsafe answer(context, "vaQueryConfigAttributes") { driver throws(DriverError) in
      guard let config = driver.configs[id] else { throw .invalidConfig }
      unsafe profile?.pointee = config.profile
      unsafe entrypoint?.pointee = config.entrypoint
      for (index, attribute) in config.attributes.enumerated() {
        unsafe list?[index] = attribute
      }
      unsafe count?.pointee = Int32(config.attributes.count)
    }
  }
}

extension Driver {
  fileprivate func entrypoints(of profile: VAProfile) throws(DriverError) -> [VAEntrypoint] {
    guard EncodeConfig.profiles.contains(profile) else { throw .unsupportedProfile }
    return personality.entrypoints
  }

  fileprivate func offer(
    _ profile: VAProfile, _ entrypoint: VAEntrypoint
  ) throws(DriverError) -> EncodeOffer {
    guard try entrypoints(of: profile).contains(entrypoint) else { throw .unsupportedEntrypoint }
    return EncodeOffer(profile: profile, entrypoint: entrypoint, personality: personality)
  }
}
