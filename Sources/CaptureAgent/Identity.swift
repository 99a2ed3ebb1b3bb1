import Report

extension Pipeline {
  /// Who this process is, in greetings and last words.
  struct Identity {
    let pid: UInt32
    let instance: UInt64
    let lastWords: Int32
    let notices: ServiceNotices
  }
}
