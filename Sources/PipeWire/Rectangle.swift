/// A rectangle in pixels; `x` and `y` are its top left corner.
package struct Rectangle: Equatable, Sendable {
  package let x, y, width, height: Int

  package init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  /// The smallest rectangle around both.
  package func union(_ other: Rectangle) -> Rectangle {
    Rectangle(
      left: min(x, other.x), top: min(y, other.y),
      right: max(right, other.right), bottom: max(bottom, other.bottom))
  }

  /// What both cover; nil when that is nothing.
  package func intersection(_ other: Rectangle) -> Rectangle? {
    let common = Rectangle(
      left: max(x, other.x), top: max(y, other.y),
      right: min(right, other.right), bottom: min(bottom, other.bottom))
    return common.width > 0 && common.height > 0 ? common : nil
  }

  private var right: Int { x + width }
  private var bottom: Int { y + height }

  private init(left: Int, top: Int, right: Int, bottom: Int) {
    self.init(x: left, y: top, width: right - left, height: bottom - top)
  }
}
