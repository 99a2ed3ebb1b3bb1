import Testing

/// Both programs as released, real TCP, a real desktop, real players. One test at a time, since each
/// has the machine's processor to itself.
@Suite(.serialized) struct EndToEnd {}
