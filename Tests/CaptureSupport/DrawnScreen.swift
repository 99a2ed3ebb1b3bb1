import Foundation
import Glibc
internal import PipeWire
internal import Posix
import Synchronization
internal import TestSupport

/// A screen with a thread of its own, which draws numbered pictures at a steady rate until `end`.
package final class DrawnScreen: Sendable {
  /// What the thread draws; the test may change it at any time.
  package struct Orders: Sendable {
    /// Pictures a second; 0: none, but for `once`.
    package var rate = 30.0
    /// So many more, at once.
    package var once = 0
    /// The picture of this number.
    package var picture: @Sendable (Int) -> ScreenProducer.Picture = { number in
      ScreenProducer.Picture(NumberedPicture(number: number))
    }
    package var size: (width: Int, height: Int)
    /// How many formats that it agrees on from now on it fills no buffers in for.
    package var unfilledCount = 0
    /// Whether it is there to be seen; one that is not gives nothing, as PipeWire has it.
    package var isActive = true
    /// Draws one picture, and no other, whenever it is asked to begin, but not the first time.
    package var isStill = false
    /// Whether nonsense is written over what is said of the pictures, at any time.
    package var lies = false
  }

  private struct State {
    var orders: Orders
    /// When each picture was drawn, in nanoseconds of CLOCK_MONOTONIC.
    var drawn: [Int64] = []
    var isStreaming = false
    var isOver = false
    var failure: String?
  }

  // Before a picture that is drawn by itself, or sent on, in nanoseconds.
  private static let rest: Int64 = 50_000_000

  private let state: Mutex<State>
  private let gone = DispatchSemaphore(value: 0)

  /// The pictures are numbered from 1 on.
  package init(
    on daemon: PipeWireDaemon, name: String = "drawn", width: Int, height: Int,
    offer: ScreenProducer.Offer = .init()
  ) throws {
    state = Mutex(State(orders: Orders(size: (width, height))))
    let remote = try daemon.connect().release()
    Thread.detachNewThread { [self] in
      do {
        try run(OwnedFD(remote), name: name, offer: offer)
      } catch {
        state.withLock { $0.failure = "\(error)" }
      }
      gone.signal()
    }
  }

  /// Ends the screen; its node is gone when this returns.
  package func end() {
    state.withLock { $0.isOver = true }
    gone.wait()
    gone.signal()
  }

  package func change(_ body: (inout Orders) -> Void) { state.withLock { body(&$0.orders) } }

  /// How many pictures were drawn.
  package var count: Int { state.withLock { $0.drawn.count } }

  /// When picture `number` was drawn, in nanoseconds of CLOCK_MONOTONIC.
  package func time(of number: Int) -> Int64? {
    state.withLock { $0.drawn.indices.contains(number - 1) ? $0.drawn[number - 1] : nil }
  }

  /// Draws one picture, and returns its number.
  package func drawOnce() throws -> Int {
    let before = state.withLock { state in
      state.orders.once += 1
      return state.drawn.count
    }
    return try waitUntil("picture \(before + 1)") {
      try state.withLock { state in
        if let failure = state.failure { throw ProcessFailure(description: failure) }
        return state.drawn.count > before ? before + 1 : nil
      }
    }
  }

  private func run(
    _ remote: consuming OwnedFD, name: String, offer: ScreenProducer.Offer
  ) throws {
    let loop = try Loop()
    var size = state.withLock { $0.orders.size }
    let screen = try ScreenProducer(
      loop: loop, remote: remote, name: name, role: "Screen", width: size.width,
      height: size.height, offer: offer)
    let timer = try loop.addTimer { loop.quit() }
    var next = MonotonicClock.now()
    var sent: Int64 = 0
    var (starts, wasStreaming, isOwed) = (0, false, false)
    var random = SplitMix(seed: UInt64(next))
    while true {
      let (orders, number, isOver) = state.withLock {
        ($0.orders, $0.drawn.count + 1, $0.isOver)
      }
      if isOver { return }
      screen.unfilledCount += state.withLock { state in
        defer { state.orders.unfilledCount = 0 }
        return state.orders.unfilledCount
      }
      if orders.size != size {
        size = orders.size
        try screen.resize(width: size.width, height: size.height)
      }
      if screen.isStreaming != wasStreaming {
        wasStreaming.toggle()
        if wasStreaming { starts += 1 }
        isOwed = wasStreaming && orders.isStill && starts > 1
      }
      if isOwed, screen.present(orders.picture(number)) { isOwed = false }
      if orders.isActive != screen.isActive { screen.setActive(orders.isActive) }
      let now = MonotonicClock.now()
      let isDue = orders.rate > 0 && now >= next
      // PipeWire passes over what comes before it is done with the one before, and nothing follows these.
      let isRested = now - sent > Self.rest
      if !isDue, isRested, screen.flush() { sent = now }
      if isDue || orders.once > 0 && isRested, screen.present(orders.picture(number)) {
        sent = now
        state.withLock {
          $0.drawn.append(now)
          if orders.once > 0 { $0.orders.once -= 1 }
        }
      }
      if orders.lies { for _ in 0..<4 { screen.lie(&random) } }
      if isDue { next = max(next + Int64(1e9 / orders.rate), now - 100_000_000) }
      if orders.rate == 0 { next = now }
      let pause = orders.rate > 0 ? max(next - MonotonicClock.now(), 100_000) : 2_000_000
      timer.arm(after: .nanoseconds(min(pause, orders.lies ? 50_000 : 2_000_000)))
      loop.run()
    }
  }
}
