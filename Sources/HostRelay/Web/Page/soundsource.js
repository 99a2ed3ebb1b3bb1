// Plays the sounds of a broadcast where there is no WebCodecs: each source's Opus packets, in WebM, by an
// audio element of its own, whose rate keeps it in step with the picture.

const type = 'audio/webm; codecs="opus"';

export const isSupported = "MediaSource" in window && MediaSource.isTypeSupported(type);

// Seconds: what may be out of step, what is made up for by a jump, and what waits at least and at most.
const inStep = 0.03;
const farOut = 0.3;
const leastAhead = 0.05;
const kept = 10;
// Where no picture says how late it is.
const usualDelay = 0.2;

/** As `sound.js`'s mixer. `pictureDelay()`: seconds from a picture's coming to its being shown, if known. */
export class SourceMixer {
  constructor(pictureDelay) {
    this.pictureDelay = pictureDelay;
    this.voices = new Map();
    this.volumes = new Map();
    this.isOn = false;
  }

  start() { this.isOn = true; }

  stop() {
    this.isOn = false;
    for (const voice of this.voices.values()) voice.close();
    this.voices.clear();
  }

  setVolume(source, volume) {
    this.volumes.set(source, volume);
    const voice = this.voices.get(source);
    if (voice) voice.audio.volume = volume;
  }

  take(source, data) {
    if (!this.isOn) return;
    let voice = this.voices.get(source);
    if (!voice || voice.hasFailed) {
      voice?.close();
      voice = new Voice(this.volumes.get(source) ?? 1);
      this.voices.set(source, voice);
    }
    voice.take(data);
    voice.keepStep(this.pictureDelay() ?? usualDelay);
  }

  /** Pictures wait for no sound here: it is the sound that follows. */
  waitFor() { return undefined; }
}

class Voice {
  constructor(volume) {
    this.audio = new Audio();
    this.audio.volume = volume;
    this.waiting = [header];
    this.count = 0;
    const media = new MediaSource();
    this.audio.src = URL.createObjectURL(media);
    this.audio.onerror = () => { this.hasFailed = true; };
    media.onsourceopen = () => {
      URL.revokeObjectURL(this.audio.src);
      this.buffer = media.addSourceBuffer(type);
      // One packet behind the other, whatever was missing between them.
      this.buffer.mode = "sequence";
      this.buffer.onupdateend = () => this.pump();
      this.pump();
    };
    this.audio.play().catch(() => {});  // One that is closed before it has begun.
  }

  take(data) {
    this.waiting.push(cluster(this.count * 20, data));
    this.count += 1;
    this.arrived = performance.now();
    this.pump();
  }

  pump() {
    const { audio, buffer } = this;
    if (!buffer || buffer.updating || this.hasFailed) return;
    try {
      if (audio.currentTime > 2 * kept && buffer.buffered.start(0) < audio.currentTime - 2 * kept) {
        buffer.remove(0, audio.currentTime - kept);
      } else if (this.waiting.length > 0) {
        buffer.appendBuffer(new Uint8Array(this.waiting.splice(0).flat()));
      }
    } catch {
      this.hasFailed = true;
    }
  }

  /** Has what is heard be `wanted` seconds old, as the picture is. */
  keepStep(wanted) {
    const { audio } = this;
    const { buffered } = audio;
    if (buffered.length === 0 || audio.seeking) return;
    const ahead = buffered.end(buffered.length - 1) - audio.currentTime;
    const late = ahead + (performance.now() - this.arrived) / 1000 - wanted;
    if (late > farOut && ahead > leastAhead) {
      audio.currentTime += Math.min(late, ahead - leastAhead);
    } else if (late > inStep && ahead > leastAhead) {
      audio.playbackRate = 1.05;
    } else {
      audio.playbackRate = late < -inStep ? 0.95 : 1;
    }
  }

  close() {
    this.hasFailed = true;
    this.audio.pause();
    this.audio.removeAttribute("src");
    this.audio.load();
  }
}

// --- WebM (RFC 9559), as arrays of bytes

function element(id, ...content) {
  const bytes = content.flat();
  const { length } = bytes;
  return [...id, 0x10 | length >> 24, length >> 16 & 255, length >> 8 & 255, length & 255, ...bytes];
}

const text = (word) => Array.from(word, (letter) => letter.charCodeAt(0));

const header = [
  ...element([0x1a, 0x45, 0xdf, 0xa3], // EBML
    element([0x42, 0x82], text("webm")), element([0x42, 0x87], 4), element([0x42, 0x85], 2)),
  // A segment without an end.
  0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
  ...element([0x15, 0x49, 0xa9, 0x66], // Info: times in milliseconds
    element([0x2a, 0xd7, 0xb1], 0x0f, 0x42, 0x40),
    element([0x4d, 0x80], text("Porthole")), element([0x57, 0x41], text("Porthole"))),
  ...element([0x16, 0x54, 0xae, 0x6b], // Tracks: one
    element([0xae],
      element([0xd7], 1), element([0x73, 0xc5], 1), element([0x83], 2),
      element([0x86], text("A_OPUS")),
      // RFC 7845, 5.1: two channels, nothing skipped, 48 kHz.
      element([0x63, 0xa2], text("OpusHead"), [1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0]),
      element([0xe1], element([0xb5], 0x47, 0x3b, 0x80, 0), element([0x9f], 2)))),
];

function cluster(milliseconds, data) {
  const time = [24, 16, 8, 0].map((shift) => milliseconds >>> shift & 255);
  return element([0x1f, 0x43, 0xb6, 0x75],
    element([0xe7], time), element([0xa3], [0x81, 0, 0, 0x80], ...data));
}
