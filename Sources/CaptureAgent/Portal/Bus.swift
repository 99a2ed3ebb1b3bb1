import CSystemd
import Glibc
import PipeWire
import Posix

/// A connection to a bus of D-Bus on the agent's loop; no call on it blocks. Loop thread only.
///
/// It must not be dropped inside one of its own callbacks: take it to an event first.
@safe
final class Bus {
  /// What a call ends with: its reply's values, or the error.
  typealias Reply = Result<[BusValue], BusError>

  private let raw: OpaquePointer
  private var io: IOSource?
  private var timer: TimerSource?
  private var slots: [BusSlot] = []
  private let onLost: (BusError) -> Void

  /// Which bus: the user's, or the machine's.
  enum Kind {
    case session
    case system
  }

  /// Connects; `onLost` is called when the bus is gone, and nothing follows it.
  init(
    _ kind: Kind = .session, loop: Loop, onLost: @escaping (BusError) -> Void
  ) throws(BusError) {
    self.onLost = onLost
    var opened: OpaquePointer?
    switch kind {
    case .session: try check(unsafe sd_bus_open_user(&opened), bus: "sd_bus_open_user")
    case .system: try check(unsafe sd_bus_open_system(&opened), bus: "sd_bus_open_system")
    }
    unsafe raw = opened!
    do {
      io = try loop.addIO(fd: unsafe sd_bus_get_fd(raw), for: .readable) { [unowned self] _ in
        process()
      }
      timer = try loop.addTimer { [unowned self] in process() }
    } catch {
      throw BusError("the loop", -error.code)
    }
    watch()
  }

  deinit {
    io = nil
    timer = nil
    slots = []
    // No flush, which waits for a bus that hangs: what was sent went out at once, being short.
    unsafe sd_bus_close_unref(raw)
  }

  /// Calls a method; `onReply` comes once, from the loop, after `timeout` at the latest. A
  /// descriptor in the reply is the bus's: who wants it duplicates it there and then. Unless told not to,
  /// the bus starts a service that is not there and can be.
  func call(
    _ member: String, of interface: String, at path: String, on destination: String,
    _ arguments: [BusValue], timeout: Duration, startsService: Bool = true,
    onReply: @escaping (Reply) -> Void
  ) throws(BusError) {
    let message = try unsafe message(member, of: interface, at: path, on: destination, arguments)
    defer { unsafe sd_bus_message_unref(message) }
    if !startsService { unsafe sd_bus_message_set_auto_start(message, 0) }
    let slot = unsafe BusSlot { [unowned self] slot, reply in
      slots.removeAll { $0 === slot }
      unsafe onReply(Self.result(of: reply))
    }
    var handle: OpaquePointer?
    try check(
      unsafe sd_bus_call_async(
        raw, &handle, message, BusSlot.callback, slot.context,
        UInt64(timeout.nanoseconds / 1000)), bus: "sd_bus_call_async")
    unsafe slot.handle = handle
    slots.append(slot)
    watch()
  }

  /// Calls a method whose reply does not matter.
  func send(
    _ member: String, of interface: String, at path: String, on destination: String,
    _ arguments: [BusValue] = []
  ) throws(BusError) {
    let message = try unsafe message(member, of: interface, at: path, on: destination, arguments)
    defer { unsafe sd_bus_message_unref(message) }
    unsafe sd_bus_message_set_auto_start(message, 0)
    unsafe sd_bus_message_set_expect_reply(message, 0)
    try check(unsafe sd_bus_send(raw, message, nil), bus: "sd_bus_send")
    watch()
  }

  /// Calls `onSignal` with the path and the values of each such signal from `sender`.
  func watchSignal(
    _ member: String, of interface: String, from sender: String,
    onSignal: @escaping (String, [BusValue]) -> Void
  ) throws(BusError) {
    let slot = unsafe BusSlot { _, message in
      guard let path = unsafe sd_bus_message_get_path(message) else { return }
      let values = (try? unsafe Self.values(of: message)) ?? []
      unsafe onSignal(String(cString: path), values)
    }
    var handle: OpaquePointer?
    try check(
      unsafe sd_bus_match_signal_async(
        raw, &handle, sender, nil, interface, member, BusSlot.callback, nil, slot.context),
      bus: "sd_bus_match_signal_async")
    unsafe slot.handle = handle
    slots.append(slot)
    watch()
  }

  /// Calls `onLost` each time a process gives up `name`, or with `isFamily` any name below it.
  func watchLoss(
    of name: String, isFamily: Bool = false, onLost: @escaping () -> Void
  ) throws(BusError) {
    // Without an old owner it is somebody's first.
    try watchOwner(of: name, isFamily: isFamily) { old, _ in if !old.isEmpty { onLost() } }
  }

  /// Calls `onChange` with the unique names of the old and the new owner of `name` each time that changes,
  /// empty where there is none.
  func watchOwner(
    of name: String, isFamily: Bool = false, onChange: @escaping (String, String) -> Void
  ) throws(BusError) {
    let slot = unsafe BusSlot { _, message in
      let values = (try? unsafe Self.values(of: message)) ?? []
      guard values.count == 3, let old = values[1].text, let new = values[2].text else { return }
      onChange(old, new)
    }
    let rule =
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
      + "member='NameOwnerChanged',arg0\(isFamily ? "namespace" : "")='\(name)'"
    var handle: OpaquePointer?
    try check(
      unsafe sd_bus_add_match_async(raw, &handle, rule, BusSlot.callback, nil, slot.context),
      bus: "sd_bus_add_match_async")
    unsafe slot.handle = handle
    slots.append(slot)
    watch()
  }

  private func message(
    _ member: String, of interface: String, at path: String, on destination: String,
    _ arguments: [BusValue]
  ) throws(BusError) -> OpaquePointer {
    var message: OpaquePointer?
    try check(
      unsafe sd_bus_message_new_method_call(raw, &message, destination, path, interface, member),
      bus: "sd_bus_message_new_method_call")
    for argument in arguments { try unsafe argument.append(to: message!) }
    return unsafe message!
  }

  private static func result(of reply: OpaquePointer) -> Reply {
    if let error = unsafe sd_bus_message_get_error(reply) {
      return .failure(
        BusError(
          name: unsafe String(cString: error.pointee.name),
          message: unsafe error.pointee.message.map { unsafe String(cString: $0) } ?? ""))
    }
    return Result { () throws(BusError) in try unsafe values(of: reply) }
  }

  private static func values(of message: OpaquePointer) throws(BusError) -> [BusValue] {
    var values: [BusValue] = []
    while let value = try unsafe BusValue.read(from: message) { values.append(value) }
    return values
  }

  private func process() {
    UncountedAllocations.during { take() }
  }

  private func take() {
    while true {
      let result = unsafe sd_bus_process(raw, nil)
      if result < 0 { return lose(BusError("session bus", result)) }
      if result == 0 { break }
    }
    watch()
  }

  private func lose(_ error: BusError) {
    io = nil
    timer = nil
    onLost(error)
  }

  /// Waits for what the library wants to wait for next.
  private func watch() {
    let wanted = unsafe sd_bus_get_events(raw)
    var events: IOEvents = []
    if wanted & POLLIN != 0 { events.insert(.readable) }
    if wanted & POLLOUT != 0 { events.insert(.writable) }
    do {
      try io?.update(for: events)
    } catch {
      return lose(BusError("the loop", -error.code))
    }
    var deadline: UInt64 = 0
    guard unsafe sd_bus_get_timeout(raw, &deadline) >= 0, deadline != .max else {
      timer?.disarm()
      return
    }
    let left = Int64(clamping: deadline) - MonotonicClock.now() / 1000
    timer?.arm(after: .microseconds(max(0, left)))
  }
}

/// What libsystemd calls back, for as long as this object lives.
@safe
private final class BusSlot {
  var handle: OpaquePointer?
  private let body: (BusSlot, OpaquePointer) -> Void

  init(_ body: @escaping (BusSlot, OpaquePointer) -> Void) { unsafe self.body = unsafe body }

  deinit { unsafe sd_bus_slot_unref(handle) }

  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  static var callback: sd_bus_message_handler_t {
    { message, context, _ in
      let slot = unsafe Unmanaged<BusSlot>.fromOpaque(context!).takeUnretainedValue()
      unsafe slot.body(slot, message!)
      return 0
    }
  }
}
