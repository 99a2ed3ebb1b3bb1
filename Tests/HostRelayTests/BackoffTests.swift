import Testing

@testable import HostRelay

@Suite struct BackoffTests {
  @Test("tries come after 0, 0.25, 0.5, 1, 2, 2 seconds, and from 0 again after a reset")
  func sequence() {
    var backoff = Backoff()
    let delays = (0..<6).map { _ in backoff.next(jitter: 0) }
    #expect(
      delays == [
        .zero, .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(2),
      ])
    backoff.reset()
    #expect(backoff.next(jitter: 0) == .zero)
    backoff.reset()
    backoff.skipHaste()
    #expect(backoff.next(jitter: 0) == .milliseconds(500))
    backoff.skipHaste()
    #expect(backoff.next(jitter: 0) == .seconds(1))
  }

  @Test("jitter moves a delay by a fifth at most")
  func jitter() {
    for jitter in [-1.0, 1.0] {
      var backoff = Backoff()
      _ = backoff.next(jitter: jitter)
      let delay = backoff.next(jitter: jitter) / .milliseconds(250)
      #expect(abs(delay - (1 + 0.2 * jitter)) < 1e-9)
    }
    for _ in 0..<1000 {
      var backoff = Backoff()
      for _ in 0..<4 { _ = backoff.next() }
      #expect((Duration.milliseconds(1600)...Duration.milliseconds(2400)).contains(backoff.next()))
    }
  }

  @Test("five deaths in ten seconds are a crash loop, four or slower ones are not")
  func crashLoop() {
    let start = Moment.now
    var watch = CrashWatch()
    for second in 0..<4 { watch.died(now: start + .seconds(second)) }
    #expect(!watch.isLooping(now: start + .seconds(3)))
    watch.died(now: start + .seconds(10))
    #expect(watch.isLooping(now: start + .seconds(10)))
    #expect(!watch.isLooping(now: start + .milliseconds(10_001)))
  }
}

@Suite struct CommandWordsTests {
  @Test(
    "a command is split as a shell quotes, and nothing more",
    arguments: [
      ("agent --size 640x480", ["agent", "--size", "640x480"]),
      ("  a\tb\n c ", ["a", "b", "c"]),
      ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
      ("a '' \"\"", ["a", "", ""]),
      (#"a\ b c\"d"#, ["a b", "c\"d"]),
      (#"a "b\"c\\d\e" 'f\g'"#, ["a", #"b"c\d\e"#, #"f\g"#]),
      ("a $HOME *.c ; rm | x > y", ["a", "$HOME", "*.c", ";", "rm", "|", "x", ">", "y"]),
      ("x--a='1 2'3", ["x--a=1 23"]),
    ])
  func words(text: String, words: [String]) throws {
    #expect(try CommandWords.split(text) == words)
  }

  @Test(
    "a command without a program or with an open quote is refused",
    arguments: ["", "   ", "''", "a 'b", "a \"b", "a\\"])
  func refused(text: String) {
    #expect(throws: UnreadableCommand.self) { try CommandWords.split(text) }
  }
}

@Suite struct AgentEndTests {
  @Test(
    "an end is said in words, and 0, 64 and 77 are final",
    arguments: [
      (ChildEnd(code: 0, signal: 0), "finished", true),
      (ChildEnd(code: 64, signal: 0), "wrong usage (exit 64)", true),
      (ChildEnd(code: 69, signal: 0), "something it needs is missing (exit 69)", false),
      (ChildEnd(code: 77, signal: 0), "not allowed (exit 77)", true),
      (ChildEnd(code: 86, signal: 0), "ended by its memory limit (exit 86)", false),
      (ChildEnd(code: 0, signal: 9), "killed by SIGKILL", false),
      (ChildEnd(code: 137, signal: 0), "killed by SIGKILL", false),
      (ChildEnd(code: 134, signal: 0), "killed by SIGABRT (it gave up)", false),
      (ChildEnd(code: 132, signal: 0), "killed by SIGILL (a broken promise)", false),
      (ChildEnd(code: 0, signal: 11), "killed by SIGSEGV (a bad address)", false),
      (ChildEnd(code: 0, signal: 40), "killed by signal 40", false),
      (ChildEnd(code: 3, signal: 0), "exit code 3", false),
    ])
  func words(end: ChildEnd, words: String, isFinal: Bool) {
    let end = AgentEnd(end, text: "")
    #expect(end.words == words)
    #expect((end.finalCode != nil) == isFinal)
  }
}
