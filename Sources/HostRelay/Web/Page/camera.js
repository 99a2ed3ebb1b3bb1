// The camera beside the screen: a small picture in a corner, which can be put away. It is played as the screen
// is: by WebCodecs, or by Media Source Extensions.

import * as codecs from "/codecs.js";
import * as source from "/source.js";
import * as wire from "/wire.js";

export class Camera {
  /** `address` is that of its fragments; `send` sends a message to the relay. */
  constructor({ canvas, video, button, address }, send) {
    this.canvas = canvas;
    this.video = video;
    this.button = button;
    this.address = address;
    this.send = send;
    this.isWanted = true;
    this.state = "off";
    button.onclick = () => this.toggle();
  }

  /** Its stream has this number, and its pictures this codec. */
  describe(stream, codec) {
    this.stream = stream;
    this.codec = codec;
    this.show();
  }

  /** How it stands: {state, detail}. */
  update({ state, detail }) {
    if (state !== "on") this.restart();
    this.state = state;
    this.detail = detail;
    this.show();
  }

  /** One access unit of its stream. */
  take(data, isKeyframe, time) {
    if (this.isShown && !this.isSource) this.player.take(data, isKeyframe, time);
  }

  /** By WebCodecs, or by Media Source Extensions: "codecs" or "source". */
  choose(name) {
    this.player?.close();
    this.playing = undefined;
    this.isSource = name === "source";
    const { isSupported } = this.isSource ? source : codecs;
    this.player = isSupported && this.makePlayer();
    this.show();
  }

  makePlayer() {
    const events = {
      decoded: () => {},
      shown: () => {},
      dropped: () => {},
      waitFor: () => undefined,
      needsKeyframe: () => this.ask(),
      failed: (why) => {
        console.warn(why);
        if (this.isSource) setTimeout(() => this.startAnew(), 1000);
      },
    };
    return this.isSource
      ? new source.SourcePlayer(this.video, this.address, events)
      : new codecs.CodecPlayer(this.canvas, events);
  }

  /** Goes on at a keyframe. */
  restart() {
    if (this.player && !this.isSource) this.player.restart();
  }

  startAnew() {
    if (!this.isSource || !this.playing) return;
    this.playing = undefined;
    this.show();
  }

  toggle() {
    this.isWanted = !this.isWanted;
    this.restart();
    this.show();
    if (this.isShown && !this.isSource) this.ask();
  }

  ask() {
    if (this.stream !== undefined) this.send(wire.requestKeyframe(this.stream));
  }

  get isShown() {
    return Boolean(this.player) && this.isWanted && this.state === "on";
  }

  show() {
    this.canvas.hidden = !this.isShown || this.isSource;
    this.video.hidden = !this.isShown || !this.isSource;
    this.button.hidden = !(this.player && this.state !== "off");
    this.button.disabled = this.state !== "on";
    this.button.textContent = this.state === "lost" ? "Camera lost" : "Camera";
    this.button.title = this.state === "lost" ? this.detail : "Key c";
    this.button.setAttribute("aria-pressed", String(this.isShown));
    if (this.isSource) this.play(this.isShown && !document.hidden ? this.codec : undefined);
  }

  /** Fragments of this codec; undefined: none. */
  play(codec) {
    if (!this.player || codec === this.playing) return;
    this.playing = codec;
    if (codec) this.player.start(codec);
    else this.player.close();
  }
}
