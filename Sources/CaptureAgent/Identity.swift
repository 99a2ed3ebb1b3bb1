import Posix
import Report
import Wire

extension Pipeline {
  /// Who this process is, in greetings and last words.
  struct Identity {
    let pid: UInt32
    let instance: UInt64
    let lastWords: Int32
    let notices: ServiceNotices

    /// Answers the relay that showed this key.
    func greeting(of origin: SessionOrigin, key: [UInt8]) -> Greeting {
      Greeting(
        role: .agent, pid: pid, instance: instance, session: origin.session, epoch: origin.epoch,
        key: key)
    }

    /// An agent that took any port (0) has one now, by which its last words are found.
    func keepWords(of port: UInt16) throws(PosixError) {
      try LastWords.move(
        lastWords, to: port, in: RuntimeDirectory(), pid: pid, instance: instance)
    }

    /// Tells the service manager, and whoever finds this process gone.
    func leaveWord(of end: SourceEnd) {
      notices.stopping()
      notices.status(end.text)
      LastWords(pid: pid, instance: instance, code: end.code.rawValue, text: end.text)
        .write(to: lastWords)
    }
  }
}
