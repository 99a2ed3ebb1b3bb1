/// The version of everything in this module. Both ends ship together: unequal versions refuse
/// each other, and no old form is carried along.
package enum WireVersion {
  package static let current: UInt32 = 2
}
