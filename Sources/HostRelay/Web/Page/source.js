// Plays fragmented MP4 by Media Source Extensions, where there is no WebCodecs: a page on plain HTTP
// that does not come from this machine. The fragments come over a WebSocket of their own.

const mostBehind = 1; // seconds behind the newest picture, beyond which it jumps
const kept = 10; // seconds of what was shown

export const isSupported = "MediaSource" in window;

export class SourcePlayer {
  /** `events`: decoded(pictures), shown(undefined, seconds that wait behind it), dropped(pictures), failed(why). */
  constructor(video, address, events) {
    this.video = video;
    this.address = address;
    this.events = events;
    this.waiting = [];
    // Where what came ends in the video, and when it came.
    this.arrivals = [];
    this.shown = 0;
  }

  /** Begins a stream whose codec has this name (RFC 6381). */
  start(codec) {
    this.close();
    const media = new MediaSource();
    this.media = media;
    this.video.src = URL.createObjectURL(media);
    // The attribute `autoplay` waits for seconds of media first.
    this.video.onloadeddata = () => this.video.play().catch((error) => {
      // One that another beginning cuts short has not failed: it would begin a third time.
      if (media === this.media) this.events.failed(error.message);
    });
    this.video.onerror = () => this.events.failed(this.video.error?.message ?? "");
    media.onsourceopen = () => {
      URL.revokeObjectURL(this.video.src);
      this.buffer = media.addSourceBuffer(`video/mp4; codecs="${codec}"`);
      // One picture behind the other, whatever their times: a screen that stands still leaves gaps.
      this.buffer.mode = "sequence";
      this.buffer.onupdateend = () => {
        this.noteArrival();
        this.pump();
      };
      this.open();
    };
    this.countPictures();
  }

  close() {
    this.socket?.close();
    this.socket = undefined;
    this.buffer = undefined;
    this.waiting = [];
    this.arrivals = [];
    this.delay = undefined;
    if (this.media) this.video.removeAttribute("src");
    this.media = undefined;
  }

  open() {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return;
      this.waiting.push(data);
      this.pump();
    };
    socket.onclose = () => {
      if (socket === this.socket) this.events.failed("the connection is closed");
    };
    this.socket = socket;
  }

  pump() {
    const { buffer, video } = this;
    if (!buffer || buffer.updating || this.media.readyState !== "open") return;
    if (this.waiting.length > 0) {
      const pieces = this.waiting.splice(0);
      this.arriving = performance.now();
      try {
        buffer.appendBuffer(joined(pieces));
      } catch (error) {
        this.events.failed(error.message);
      }
      return;
    }
    // A jump that is not over would begin anew with each picture, and a slow browser would show none.
    if (buffer.buffered.length === 0 || video.seeking) return;
    const end = buffer.buffered.end(buffer.buffered.length - 1);
    if (end - video.currentTime > mostBehind) {
      video.currentTime = Math.max(buffer.buffered.start(buffer.buffered.length - 1), end - 0.05);
    } else {
      video.playbackRate = end - video.currentTime > 0.15 ? 1.1 : 1;
    }
    if (video.currentTime - buffer.buffered.start(0) > 2 * kept) {
      buffer.remove(0, video.currentTime - kept);
    }
  }

  noteArrival() {
    const { buffered } = this.buffer;
    if (this.arriving === undefined || buffered.length === 0) return;
    this.arrivals.push({ end: buffered.end(buffered.length - 1), time: this.arriving });
    this.arriving = undefined;
  }

  // Keeps `delay`: seconds from a picture's coming to its being shown, about.
  noteShown(mediaTime, now) {
    while (this.arrivals.length > 1 && this.arrivals[0].end <= mediaTime + 0.001) this.arrivals.shift();
    if (this.arrivals.length === 0) return;
    const delay = (now - this.arrivals[0].time) / 1000;
    this.delay = this.delay === undefined ? delay : this.delay + (delay - this.delay) / 8;
  }

  countPictures() {
    const { video } = this;
    if (!video.requestVideoFrameCallback || this.isCounting) return;
    this.isCounting = true;
    const next = (now, { mediaTime }) => {
      this.shown += 1;
      this.noteShown(mediaTime, now);
      this.events.decoded(this.shown);
      const { length } = video.buffered;
      this.events.shown(
        undefined, length > 0 ? video.buffered.end(length - 1) - mediaTime : undefined);
      video.requestVideoFrameCallback(next);
    };
    video.requestVideoFrameCallback(next);
  }
}

function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(new Uint8Array(piece), at);
    at += piece.byteLength;
  }
  return bytes;
}
