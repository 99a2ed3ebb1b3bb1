import CPipeWire
import Glibc
package import Posix

/// A connection to a PipeWire daemon, and the nodes it shows. Loop thread only.
///
/// Nothing here may be dropped inside one of its own callbacks: take it to an event first.
@safe
package final class Connection {
  /// A node of the graph, as its daemon announced it.
  package struct Node: Equatable, Sendable {
    package let id: UInt32
    /// Never used twice, as `id` is.
    package let serial: String?
    package let name: String?
    /// `media.class`, as `Audio/Sink`.
    package let mediaClass: String?
    /// What a user knows it by: a device's description, or an application's name.
    package let title: String?
    /// `media.role`, as `Camera`.
    package let role: String?
    /// Whether it stands for a piece of hardware.
    package let isDevice: Bool
    /// `priority.session`: the session manager likes the highest best.
    package let priority: Int
  }

  let core: OpaquePointer
  private let loop: Loop
  private let context: OpaquePointer
  private(set) var registry: OpaquePointer?
  private var coreListener: Listener<pw_core_events>?
  private var registryListener: Listener<pw_registry_events>?
  private var roundTrips: [() -> Void] = []

  /// The nodes that are there; complete after the first round trip.
  package private(set) var nodes: [Node] = []
  /// Called when a node has left the graph.
  package var onNodeRemoved: ((Node) -> Void)?
  /// Called when the daemon is gone; nothing follows.
  package var onLost: (() -> Void)?

  /// What is streamed through a connection: sound has its rate and channels converted in this process.
  package enum Kind {
    case video
    case sound
  }

  /// Connects to the daemon of the environment, or through `fd`, which it takes over either way.
  package init(
    loop: Loop, fd: consuming OwnedFD? = nil, for kind: Kind = .video
  ) throws(PipeWireError) {
    self.loop = loop
    unsafe context = try check(
      pw_context_new(loop.raw, Self.contextProperties, 0), "pw_context_new")
    for module in Self.modules { unsafe pw_context_load_module(context, module, nil, nil) }
    if kind == .sound {
      unsafe pw_context_load_module(context, "libpipewire-module-adapter", nil, nil)
      unsafe pw_context_add_spa_lib(
        context, "audio.convert.*", "audioconvert/libspa-audioconvert")
    }
    let connected =
      if let fd {
        unsafe pw_context_connect_fd(context, fd.release(), nil, 0)
      } else {
        unsafe pw_context_connect(context, nil, 0)
      }
    guard let connected = unsafe connected else {
      let code = errno
      unsafe pw_context_destroy(context)
      throw PipeWireError(call: "pw_context_connect", code: code)
    }
    unsafe core = connected
    listen()
  }

  /// What a video stream needs. A client's usual configuration loads four modules more, and another
  /// connection to D-Bus: 1 MB of addresses.
  private static let modules = [
    "libpipewire-module-protocol-native", "libpipewire-module-client-node",
  ]

  /// Samples in the longest cycle of a graph that sound is taken from: libpipewire's own limit, which a user
  /// may force. The converter holds this for 64 channels twice over (0.3.65): 4 MB, where a side has a buffer of
  /// its own, of this length.
  static let longestCycle = 8192

  /// The context's own from then on.
  private static var contextProperties: UnsafeMutablePointer<pw_properties>? {
    let properties = unsafe pw_properties_new_string("")
    for (key, value) in [
      (PW_KEY_CONFIG_NAME, "null"), ("support.dbus", "false"),
      ("default.clock.quantum-limit", String(longestCycle)),
    ] {
      unsafe pw_properties_set(properties, key, value)
    }
    return unsafe properties
  }

  /// Calls `body` once the daemon has answered, and so has told all that came before.
  package func roundTrip(_ body: @escaping () -> Void) {
    roundTrips.append(body)
    unsafe ph_core_sync(core)
  }

  deinit {
    registryListener = nil
    coreListener = nil
    if let registry = unsafe registry { unsafe ph_registry_destroy(registry) }
    unsafe pw_core_disconnect(core)
    unsafe pw_context_destroy(context)
  }

  private func listen() {
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    let coreEvents = Listener(Self.coreEvents)
    unsafe ph_core_add_listener(core, coreEvents.hook, coreEvents.events, this)
    coreListener = coreEvents
    guard let added = unsafe pw_core_get_registry(core, UInt32(PW_VERSION_REGISTRY), 0) else {
      return
    }
    unsafe registry = added
    let registryEvents = Listener(Self.registryEvents)
    unsafe ph_registry_add_listener(added, registryEvents.hook, registryEvents.events, this)
    registryListener = registryEvents
  }

  private static var coreEvents: pw_core_events {
    var events = pw_core_events()
    events.version = UInt32(PW_VERSION_CORE_EVENTS)
    unsafe events.done = { context, id, _ in
      let connection = unsafe Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
      guard id == PW_ID_CORE, !connection.roundTrips.isEmpty else { return }
      connection.roundTrips.removeFirst()()
    }
    // Other errors end one object, which is told itself, or nothing: a node that vanishes under a
    // stream gives "unknown resource".
    unsafe events.error = { context, id, _, result, _ in
      let connection = unsafe Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
      if id == PW_ID_CORE, result == -EPIPE { connection.onLost?() }
    }
    return events
  }

  private static var registryEvents: pw_registry_events {
    var events = pw_registry_events()
    events.version = UInt32(PW_VERSION_REGISTRY_EVENTS)
    unsafe events.global = { context, id, _, type, _, properties in
      guard unsafe ph_is_node(type) else { return }
      let connection = unsafe Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
      unsafe connection.nodes.append(
        Node(
          id: id, serial: lookUp(PW_KEY_OBJECT_SERIAL, in: properties),
          name: lookUp(PW_KEY_NODE_NAME, in: properties),
          mediaClass: lookUp(PW_KEY_MEDIA_CLASS, in: properties),
          title: lookUp(PW_KEY_NODE_DESCRIPTION, in: properties)
            ?? lookUp(PW_KEY_APP_NAME, in: properties),
          role: lookUp(PW_KEY_MEDIA_ROLE, in: properties),
          isDevice: lookUp(PW_KEY_DEVICE_ID, in: properties) != nil,
          priority: lookUp(PW_KEY_PRIORITY_SESSION, in: properties).flatMap { Int($0) } ?? 0))
    }
    unsafe events.global_remove = { context, id in
      let connection = unsafe Unmanaged<Connection>.fromOpaque(context!).takeUnretainedValue()
      guard let index = connection.nodes.firstIndex(where: { $0.id == id }) else { return }
      let removed = connection.nodes.remove(at: index)
      connection.onNodeRemoved?(removed)
    }
    return events
  }
}

private func lookUp(_ key: String, in properties: UnsafePointer<spa_dict>?) -> String? {
  guard let properties = unsafe properties, let value = unsafe spa_dict_lookup(properties, key)
  else { return nil }
  return unsafe String(cString: value)
}
