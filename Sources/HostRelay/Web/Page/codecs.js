// Plays H.264 by WebCodecs onto a canvas: the newest picture that is decoded, each time the browser is about
// to show something. A browser that is too slow to draw them all falls behind by none.

const mostWaiting = 30; // pictures in the decoder; beyond, it is too slow, and goes on at a keyframe
// Microseconds that a picture is held for its sound.
const leastHeld = 4_000;
const mostHeld = 400_000;

export const isSupported = "VideoDecoder" in window;

export class CodecPlayer {
  /**
   * `events`: decoded(pictures), shown(time), needsKeyframe(), dropped(pictures), failed(why), and
   * waitFor(time): microseconds until a picture of that time is due, or undefined for at once.
   */
  constructor(canvas, events) {
    this.canvas = canvas;
    this.events = events;
    this.context = canvas.getContext("2d", { alpha: false, desynchronized: true });
    this.decoded = 0;
    this.due = [];
    this.restart();
  }

  /** A new stream, or the same one again: goes on at the next keyframe. */
  restart() {
    this.close();
    this.awaitsKeyframe = true;
  }

  /** One access unit in Annex B; `time` in microseconds. */
  take(data, isKeyframe, time) {
    if (isKeyframe && !this.decoder) this.configure(data);
    if (!isKeyframe && this.decoder?.decodeQueueSize > mostWaiting && !this.awaitsKeyframe) {
      this.awaitsKeyframe = true;
      this.events.needsKeyframe();
    }
    if (isKeyframe) this.awaitsKeyframe = false;
    if (this.awaitsKeyframe || !this.decoder) return this.events.dropped(1);
    this.decoder.decode(
      new EncodedVideoChunk({ type: isKeyframe ? "key" : "delta", timestamp: time, data }));
  }

  close() {
    for (const { frame, timer } of this.due) {
      clearTimeout(timer);
      frame.close();
    }
    this.due = [];
    if (this.decoder && this.decoder.state !== "closed") this.decoder.close();
    this.decoder = undefined;
    this.newest?.close();
    this.newest = undefined;
  }

  // Once for a stream: the parameter sets before each keyframe say the rest, a new size too.
  configure(accessUnit) {
    const codec = codecOf(accessUnit);
    if (!codec) return;
    const decoder = new VideoDecoder({
      output: (frame) => this.put(frame),
      error: (error) => {
        if (decoder !== this.decoder) return;
        this.restart();
        this.events.failed(error.message);
        this.events.needsKeyframe();
      },
    });
    decoder.configure({ codec, optimizeForLatency: true });
    this.decoder = decoder;
  }

  // A picture that comes before its sound is heard waits for it, and those behind it wait for that one.
  put(frame) {
    this.decoded += 1;
    this.events.decoded(this.decoded);
    const wait = Math.min(this.events.waitFor(frame.timestamp) ?? 0, mostHeld);
    if (wait < leastHeld && this.due.length === 0) return this.showNext(frame);
    const timer = setTimeout(() => {
      // Of several that are due at once, on a busy machine, the newest is enough.
      while (this.due[0].frame !== frame) {
        const older = this.due.shift();
        clearTimeout(older.timer);
        older.frame.close();
        this.events.dropped(1);
      }
      this.due.shift();
      this.showNext(frame);
    }, Math.max(wait, 0) / 1000);
    this.due.push({ frame, timer });
    return undefined;
  }

  showNext(frame) {
    if (this.newest) this.newest.close();
    else requestAnimationFrame(() => this.show());
    this.newest = frame;
  }

  show() {
    const { canvas, context, newest: frame } = this;
    if (!frame) return;
    this.newest = undefined;
    if (canvas.width !== frame.displayWidth || canvas.height !== frame.displayHeight) {
      canvas.width = frame.displayWidth;
      canvas.height = frame.displayHeight;
    }
    context.drawImage(frame, 0, 0);
    const time = frame.timestamp;
    frame.close();
    this.events.shown(time);
  }
}

/** RFC 6381's name of the stream, from its SPS; undefined without one. */
function codecOf(accessUnit) {
  for (let at = 0; at + 6 < accessUnit.length; at += 1) {
    const isSPS = accessUnit[at] === 0 && accessUnit[at + 1] === 0 && accessUnit[at + 2] === 1
      && (accessUnit[at + 3] & 31) === 7;
    if (!isSPS) continue;
    const bytes = accessUnit.subarray(at + 4, at + 7);
    return "avc1." + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  return undefined;
}
