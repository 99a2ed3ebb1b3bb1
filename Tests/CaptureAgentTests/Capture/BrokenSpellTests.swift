import Testing

@testable import CaptureAgent

@Suite struct BrokenSpellTests {
  @Test("broken pictures alone for two seconds are told of once, and the whole one behind them")
  func alone() {
    var spell = BrokenSpell()
    let told = [1_000_000_000, 2_999_999_999, 3_000_000_000, 9_000_000_000].map {
      spell.sawBroken(now: $0)
    }
    #expect(told == [false, false, true, false])
    let whole = [spell.sawWhole(), spell.sawWhole()]
    #expect(whole == [true, false])
  }

  @Test("a whole picture in between begins the time anew")
  func mixed() {
    var spell = BrokenSpell()
    for second in 0..<10 {
      let told = [spell.sawBroken(now: Int64(second) * 1_500_000_000), spell.sawWhole()]
      #expect(told == [false, false])
    }
  }
}
