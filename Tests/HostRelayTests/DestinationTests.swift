import CommandOptions
import Testing

@testable import HostRelay

@Suite struct DestinationTests {
  struct Case: CustomTestStringConvertible {
    let url: String
    let name: String
    let address: String
    let format: String
    let preset: String?
    let secrets: [String]

    var testDescription: String { url }
  }

  @Test(
    "what opens a destination stands in the preset alone",
    arguments: [
      Case(
        url: "rtmp://h:1/live/KEY?a=b&c=d", name: "rtmp://h:1/live/…", address: "rtmp://h:1",
        format: "flv", preset: "rtmp_app=live\nrtmp_playpath=KEY?a=b&c=d\n",
        secrets: ["KEY?a=b&c=d"]),
      Case(
        url: "RTMPS://h/app/inst/K=#& \"".replacing(" ", with: ""), name: "rtmps://h/app/inst/…",
        address: "rtmps://h", format: "flv",
        preset: "rtmp_app=app/inst\nrtmp_playpath=K=#&\"\n", secrets: ["K=#&\""]),
      Case(
        url: "srt://h:2?passphrase=geheimgeheim&latency=200&streamid=%23!::r=x,m=publish",
        name: "srt://h:2", address: "srt://h:2?latency=200", format: "mpegts",
        preset: "passphrase=geheimgeheim\nstreamid=#!::r=x,m=publish\n",
        secrets: ["#!::r=x,m=publish", "geheimgeheim"]),
      Case(
        url: "rtp://127.0.0.1:5004?pkt_size=1200", name: "rtp://127.0.0.1:5004",
        address: "rtp://127.0.0.1:5004?pkt_size=1200", format: "rtp", preset: nil, secrets: []),
      Case(
        url: "https://h/put/live.m3u8", name: "https://h/…", address: "https://h/put/live.m3u8",
        format: "hls", preset: nil, secrets: []),
      Case(
        url: "tcp://h:9", name: "tcp://h:9", address: "tcp://h:9", format: "mpegts", preset: nil,
        secrets: []),
    ])
  func hidden(_ expected: Case) throws {
    let destination = try Destination(url: expected.url)
    #expect(destination.name == expected.name)
    #expect(destination.address == expected.address)
    #expect(destination.preset == expected.preset)
    #expect(destination.secrets == expected.secrets)
    #expect(destination.format.words.contains(expected.format))
    for secret in destination.secrets {
      #expect(!(destination.options + [destination.address, destination.name]).contains(secret))
      #expect(!destination.redacted("before \(secret) behind").contains(secret))
    }
  }

  @Test("what ffmpeg says of a destination is shown without its address and without its secrets")
  func redacted() throws {
    let destination = try Destination(url: "rtmp://h:1/live/KEY?token=TOKEN")
    #expect(destination.redacted("rtmp://h:1: Connection refused") == "Connection refused")
    #expect(destination.redacted("no stream KEY?token=TOKEN here") == "no stream … here")
  }

  @Test(
    "an address that cannot be served is refused in a line that holds nothing of its secrets",
    arguments: [
      ("rtmp://h/SECRET", "expected rtmp://host/app/key"),
      ("rtmp://user:SECRET@h/app/key", "would be seen by all users"),
      ("https://h/upload?token=SECRET", "would be seen by all users"),
      ("nosuch://h/SECRET", "ffmpeg has no protocol nosuch"),
      ("rtmp://", "expected an address"),
      ("rtmp://h/app/SECRET key", "expected an address"),
      ("rtmp://h/app/SECRET" + String(repeating: "x", count: 900), "one line of at most 900 bytes"),
      ("", "expected a name that ends in"),
      ("/nowhere/x.mp4", "there is no /nowhere/"),
    ])
  func refused(url: String, reason: String) throws {
    let error = #expect(throws: UsageError.self) { try PushTarget(push: url) }
    let line = try #require(error).description
    #expect(line.hasPrefix("--push"))
    #expect(line.contains(reason), "\(line)")
    #expect(!line.contains("SECRET"))
  }

  @Test("a folder's list of segments, and a file, are named by their ending")
  func files() throws {
    for text in ["hls:/tmp/live.m3u8", "/tmp/live.m3u8"] {
      guard case .address(let destination) = try PushTarget(push: text) else {
        Issue.record("\(text) is no list")
        continue
      }
      #expect(destination.address == "file:/tmp/live.m3u8")
      #expect(destination.format == .hls)
    }
    guard case .files(let shelf) = try PushTarget(push: "/tmp/x.mkv") else {
      Issue.record("x.mkv is no file")
      return
    }
    #expect(shelf.format == .matroska)
  }

  @Test(
    "sounds are mixed at their levels where there is one track, kept apart or as they are elsewhere"
  )
  func sounds() throws {
    let mix = try #require(SoundMix("50,200"))
    let both = MediaFormat.flv.sound.words(of: [.appSound, .microphone], mix: mix)
    #expect(
      both.prefix(2) == [
        "-filter_complex",
        "[0:a:0]volume=0.5[s0];[0:a:1]volume=2.0[s1];[s0][s1]amix=inputs=2:normalize=0,"
          + "aresample=async=1[mix]",
      ])
    #expect(both.contains("aac"))
    let one = MediaFormat.flv.sound.words(of: [.microphone], mix: mix)
    #expect(one[1].hasPrefix("[0:a:0]volume=2.0[s0];[s0]amix=inputs=1"))
    #expect(MediaFormat.mp4.sound.words(of: [.appSound], mix: mix).suffix(2) == ["-c:a", "copy"])
    #expect(MediaFormat.transportStream.sound.words(of: [.appSound], mix: mix).contains("aac"))
    for words in [
      MediaFormat.flv.sound.words(of: [], mix: mix),
      MediaFormat.rtp.sound.words(of: [.appSound], mix: mix),
    ] { #expect(words == ["-map", "0:v", "-c:v", "copy"]) }
    for text in ["", "100", "100,", "a,b", "1,2,3", "-1,100", "100,401"] {
      #expect(SoundMix(text) == nil, "\(text)")
    }
  }

  @Test("ffmpeg's reports are told from what it says to people")
  func reports() {
    var report = ProgressReport()
    let lines = [
      "frame=12", "fps=0.00", "stream_0_0_q=-1.0", "bitrate=N/A", "total_size=345",
      "out_time_us=1500000", "out_time_ms=1500000", "out_time=00:00:01.500000", "dup_frames=0",
      "drop_frames=0", "speed=1.01x",
    ]
    for line in lines { #expect(report.take(line) == .part, "\(line)") }
    #expect(report.take("progress=continue") == .whole)
    #expect(report.frames == 12 && report.bytes == 345 && report.microseconds == 1_500_000)
    #expect(report.take("rtmp://h: Connection refused") == .foreign)
    #expect(report.take("[tcp] Connection to tcp://h?tcp_nodelay=0 failed") == .foreign)
    #expect(report.take("total_size=N/A") == .part && report.bytes == nil)
  }

  @Test("recordings are counted on, and no other name is theirs")
  func shelf() throws {
    let shelf = try RecordingShelf(file: "/tmp/talk.mp4", option: "--record")
    for name in ["talk.mp4", "talk-2.mp4", "talk-10.mp4"] { #expect(shelf.owns(name), "\(name)") }
    for name in [
      "", "talk", ".mp4", "talk-1.mp4", "talk-02.mp4", "talk-0.mp4", "talk--2.mp4", "talk-x.mp4",
      "talk-2.mp4/", "../talk.mp4", "/tmp/talk.mp4", "other.mp4", "talk.mkv", "talk-2.mp4.mp4",
      "talk-99999999999999999999.mp4", "talk-+2.mp4",
    ] { #expect(!shelf.owns(name), "\(name)") }
  }

  @Test(
    "a range of a file's bytes is what RFC 9110 says",
    arguments: [
      ("", ByteRange.whole), ("bytes=0-", .part(0..<100)), ("bytes=0-0", .part(0..<1)),
      ("bytes=99-", .part(99..<100)), ("bytes=10-19", .part(10..<20)),
      ("bytes=90-1000", .part(90..<100)), ("bytes=-5", .part(95..<100)),
      ("bytes=-500", .part(0..<100)), ("bytes=100-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=5-4", .whole), ("bytes=0-1,5-6", .whole), ("bytes=a-b", .whole), ("bytes=", .whole),
      ("bytes=-", .whole), ("items=0-1", .whole), ("bytes=+1-2", .whole),
      ("bytes=0-99999999999999999999", .whole),
    ])
  func ranges(field: String, range: ByteRange) {
    #expect(ByteRange(field, of: 100) == range)
    #expect(ByteRange("bytes=0-", of: 0) == .unsatisfiable)
  }

  @Test("a ticket serves for its recording alone, and for an hour")
  func tickets() {
    var tickets = RecordingTickets()
    let now = Moment.now
    let ticket = Array(tickets.issue(for: "a.mp4", now: now).utf8)
    #expect(tickets.admits(ticket, to: "a.mp4", now: now + .seconds(3599)))
    #expect(!tickets.admits(ticket, to: "a.mp4", now: now + .seconds(3600)))
    #expect(!tickets.admits(ticket, to: "b.mp4", now: now))
    #expect(!tickets.admits([], to: "a.mp4", now: now))
    for _ in 1..<RelayLimits.tickets { _ = tickets.issue(for: "b.mp4", now: now) }
    #expect(tickets.admits(ticket, to: "a.mp4", now: now))
    _ = tickets.issue(for: "b.mp4", now: now)
    #expect(!tickets.admits(ticket, to: "a.mp4", now: now))
  }
}
