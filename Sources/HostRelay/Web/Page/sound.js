// Plays the sounds of a broadcast by WebCodecs and Web Audio, each with a volume of its own, and says by
// how much pictures must wait to be in step with them.

export const isSupported = "AudioDecoder" in window && "AudioContext" in window;

// Seconds between a packet's coming and its being heard: what packets may be late by.
const cushion = 0.06;
// Beyond that much waiting, sound is heard anew from where it is.
const mostWaiting = 0.3;
// Packets in the decoder that is not quick enough.
const mostDecoding = 25;

/** What is heard: one `AudioContext`, and a voice for each source (3 application sound, 4 microphone). */
export class Mixer {
  constructor() {
    this.voices = new Map();
    this.volumes = new Map();
  }

  get isOn() { return this.context !== undefined; }

  /** Begins to play. Browsers allow that only while someone clicks. */
  start() {
    this.context ??= new AudioContext({ latencyHint: "interactive", sampleRate: 48000 });
    this.context.resume();
  }

  stop() {
    for (const voice of this.voices.values()) voice.close();
    this.voices.clear();
    this.context?.close();
    this.context = undefined;
  }

  /** From 0 to 1. */
  setVolume(source, volume) {
    this.volumes.set(source, volume);
    const voice = this.voices.get(source);
    if (voice) voice.gain.gain.setTargetAtTime(volume, this.context.currentTime, 0.02);
  }

  /** One Opus packet of 20 ms; `time` in microseconds. */
  take(source, data, time) {
    if (!this.isOn || this.context.state !== "running") return;
    let voice = this.voices.get(source);
    if (!voice) {
      voice = new Voice(this.context, this.volumes.get(source) ?? 1);
      this.voices.set(source, voice);
    }
    voice.take(data, time);
  }

  /** Microseconds until a picture of `time` is in step with what is heard; undefined in silence. */
  waitFor(time) {
    const { context } = this;
    if (!context || context.state !== "running") return undefined;
    for (const voice of this.voices.values()) {
      if (voice.anchor === undefined || context.currentTime - voice.end > 0.5) continue;
      const latency = context.outputLatency || context.baseLatency || 0;
      return (time / 1e6 + voice.anchor - context.currentTime + latency) * 1e6;
    }
    return undefined;
  }
}

class Voice {
  constructor(context, volume) {
    this.context = context;
    this.gain = new GainNode(context, { gain: volume });
    this.gain.connect(context.destination);
    // Seconds from a packet's time to the context's.
    this.anchor = undefined;
    // When the last packet that is to be heard is over, in the context's time.
    this.end = 0;
    this.open();
  }

  open() {
    const decoder = new AudioDecoder({
      output: (sound) => this.play(sound),
      // The next packet stands alone.
      error: () => { if (decoder === this.decoder) this.open(); },
    });
    decoder.configure({ codec: "opus", sampleRate: 48000, numberOfChannels: 2 });
    this.decoder = decoder;
  }

  take(data, time) {
    if (this.decoder.decodeQueueSize > mostDecoding) return;
    this.decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: time, data }));
  }

  play(sound) {
    const { context } = this;
    const buffer = new AudioBuffer({
      length: sound.numberOfFrames, numberOfChannels: sound.numberOfChannels,
      sampleRate: sound.sampleRate,
    });
    for (let channel = 0; channel < sound.numberOfChannels; channel += 1) {
      sound.copyTo(buffer.getChannelData(channel), { planeIndex: channel, format: "f32-planar" });
    }
    const time = sound.timestamp / 1e6;
    sound.close();
    let start = time + (this.anchor ?? NaN);
    const wait = start - context.currentTime;
    if (!(wait >= 0 && wait <= mostWaiting)) {
      start = context.currentTime + cushion;
      this.anchor = start - time;
    } else if (Math.abs(start - this.end) < 0.005) {
      // Without a seam: times are rounded, samples are not.
      start = this.end;
    }
    const node = new AudioBufferSourceNode(context, { buffer });
    node.connect(this.gain);
    node.start(start);
    this.end = start + buffer.duration;
  }

  close() {
    if (this.decoder.state !== "closed") this.decoder.close();
    this.gain.disconnect();
  }
}
