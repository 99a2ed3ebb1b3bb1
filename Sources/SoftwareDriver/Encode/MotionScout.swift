/// Motion vectors that much of the picture may share.
struct MotionScout {
  private(set) var count = 0
  let motions: Table<Motion>

  init() throws(DriverError) { motions = try Table(count: 4) }
}
