/// What red and blue count in a standard's luma; green counts the rest of one.
package struct ColourMatrix: Equatable, Sendable {
  package let red: Double
  package let blue: Double

  package var green: Double { 1 - red - blue }

  /// ITU-R BT.709, section 3.
  package static let bt709 = ColourMatrix(red: 0.2126, blue: 0.0722)
  /// ITU-R BT.601, section 2.5.1.
  package static let bt601 = ColourMatrix(red: 0.299, blue: 0.114)
  /// ITU-R BT.2020, table 4, of constant luminance or not.
  package static let bt2020 = ColourMatrix(red: 0.2627, blue: 0.0593)
  /// SMPTE ST 240.
  package static let smpte240 = ColourMatrix(red: 0.212, blue: 0.087)
  /// Title 47 of the United States' regulations, 73.682.
  package static let fcc = ColourMatrix(red: 0.3, blue: 0.11)
}
