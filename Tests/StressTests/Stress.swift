import Foundation
import TestSupport
import Testing

/// What drives the agent into its limits, and what must not wear out. A debug build of the agent does
/// wrong on demand; everything else is as released. One test at a time: each measures.
@Suite(.serialized) struct Stress {}

/// Whether the long forms are wanted.
let isLongRun = ProcessInfo.processInfo.environment["PORTHOLE_LONG"] != nil

/// The path of a program of the debug build, which takes faults from the environment.
func faultyProgram(_ name: String) -> String { "\(packageRoot)/.build/debug/\(name)" }

/// The path of a program as released: of the build that `PORTHOLE_BIN` names, else of this package's.
func releasedProgram(_ name: String) -> String {
  let folder =
    ProcessInfo.processInfo.environment["PORTHOLE_BIN"] ?? "\(packageRoot)/.build/release"
  return "\(folder)/\(name)"
}
