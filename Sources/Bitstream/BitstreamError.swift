/// Why bytes are not the H.264 that they were said to be.
package enum BitstreamError: Error, Equatable {
  case endOfData
  case invalid(String)
  /// Legal H.264 that nothing in this house writes or reads.
  case unsupported(String)
}
