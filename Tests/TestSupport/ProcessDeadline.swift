import Glibc

/// A state did not come in time.
package struct DeadlineMissed: Error, CustomStringConvertible {
  package let description: String
}

/// Waits until `condition` gives a value; throws when `limit` has passed without one.
@discardableResult
package func waitUntil<Value>(
  _ what: String, within limit: Duration = .seconds(10), _ condition: () throws -> Value?
) throws -> Value {
  let end = ContinuousClock.now + limit
  while true {
    if let value = try condition() { return value }
    guard ContinuousClock.now < end else {
      throw DeadlineMissed(description: "no \(what) in \(limit)")
    }
    _ = poll(nil, 0, 20)
  }
}

/// The same for a claim.
package func waitUntil(
  _ what: String, within limit: Duration = .seconds(10), isTrue claim: () throws -> Bool
) throws {
  try waitUntil(what, within: limit) { try claim() ? () : nil }
}
