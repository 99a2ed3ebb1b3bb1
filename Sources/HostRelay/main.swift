import Glibc

exit(runHostRelay(Array(CommandLine.arguments.dropFirst())))
