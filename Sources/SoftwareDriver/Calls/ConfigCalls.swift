internal import CVA

/// Profiles, entrypoints, attributes and configs.
func installConfigCalls(in table: UnsafeMutablePointer<VADriverVTable>) {
  unsafe table.pointee.vaQueryConfigProfiles = { context, list, count in
    unsafe answer(context, "vaQueryConfigProfiles") { driver throws(DriverError) in
      // Video processing has no profile, and is listed by that name.
      let others = driver.personality.processing == nil ? [] : [VAProfileNone]
      let profiles = EncodeConfig.profiles + others
      for (index, profile) in profiles.enumerated() { unsafe list?[index] = profile }
      unsafe count?.pointee = Int32(profiles.count)
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
        let type = unsafe attribute.pointee.type
        let value = if let offer { offer.value(of: type) } else { ProcessConfig.offered(type) }
        unsafe attribute.pointee.value = value ?? UInt32(VA_ATTRIB_NOT_SUPPORTED)
      }
    }
  }
  unsafe table.pointee.vaCreateConfig = { context, profile, entrypoint, list, count, id in
    unsafe answer(context, "vaCreateConfig") { driver throws(DriverError) in
      let offer = try driver.offer(profile, entrypoint)
      guard entrypoint != VAEntrypointVLD else { throw .unsupportedEntrypoint }
      let wanted = unsafe UnsafeBufferPointer(start: list, count: list == nil ? 0 : Int(count))
      let new =
        if let offer {
          unsafe driver.configs.insert(try EncodeConfig(wanted: wanted, of: offer))
        } else {
          unsafe driver.processConfigs.insert(try ProcessConfig(wanted: wanted))
        }
      guard let new else { throw .allocationFailed }
      unsafe id?.pointee = new
    }
  }
  unsafe table.pointee.vaDestroyConfig = { context, id in
    unsafe answer(context, "vaDestroyConfig") { driver throws(DriverError) in
      guard driver.configs.remove(id) != nil || driver.processConfigs.remove(id) != nil else {
        throw .invalidConfig
      }
    }
  }
  unsafe table.pointee.vaQueryConfigAttributes = {
    context, id, profile, entrypoint, list, count in
    unsafe answer(context, "vaQueryConfigAttributes") { driver throws(DriverError) in
      let config = driver.configs[id]
      guard let attributes = config?.attributes ?? driver.processConfigs[id]?.attributes else {
        throw .invalidConfig
      }
      unsafe profile?.pointee = config?.profile ?? VAProfileNone
      unsafe entrypoint?.pointee = config?.entrypoint ?? VAEntrypointVideoProc
      for (index, attribute) in attributes.enumerated() { unsafe list?[index] = attribute }
      unsafe count?.pointee = Int32(attributes.count)
    }
  }
}

extension Driver {
  fileprivate func entrypoints(of profile: VAProfile) throws(DriverError) -> [VAEntrypoint] {
    if profile == VAProfileNone, personality.processing != nil { return [VAEntrypointVideoProc] }
    guard EncodeConfig.profiles.contains(profile) else { throw .unsupportedProfile }
    return personality.entrypoints
  }

  /// What is offered for an encoder; nil for the video processor.
  fileprivate func offer(
    _ profile: VAProfile, _ entrypoint: VAEntrypoint
  ) throws(DriverError) -> EncodeOffer? {
    guard try entrypoints(of: profile).contains(entrypoint) else { throw .unsupportedEntrypoint }
    guard entrypoint != VAEntrypointVideoProc else { return nil }
    return EncodeOffer(profile: profile, entrypoint: entrypoint, personality: personality)
  }
}
