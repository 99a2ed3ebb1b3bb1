import Glibc
import Report

exit(Agent.run(Array(CommandLine.arguments.dropFirst())).rawValue)
