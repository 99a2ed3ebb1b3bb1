/// Every number that bounds what a peer may send or how long it may take, once.
package enum WireLimits {
  /// Payload of one message. A larger access unit is encoded again at a higher QP.
  package static let payload = 4 << 20
  /// Payload of anything that comes before the greeting is accepted.
  package static let greetingPayload = 4 << 10
  /// UTF-8 bytes of one text.
  package static let text = 1024
  /// Bytes of SPS and PPS together.
  package static let parameterSets = 512
  /// A connection that has not greeted is closed after this.
  package static let greetingTime = Duration.seconds(5)
  /// A side that has sent nothing for this long sends a heartbeat.
  package static let heartbeatInterval = Duration.seconds(1)
  /// Silence after which a link counts as stalled.
  package static let stalledAfter = Duration.seconds(3)
  /// Silence after which a link is closed.
  package static let silentAfter = Duration.seconds(5)
}
