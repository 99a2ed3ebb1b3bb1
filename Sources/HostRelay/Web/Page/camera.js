// The camera beside the screen: a small picture in a corner, by WebCodecs, which can be put away.

import * as codecs from "/codecs.js";
import * as wire from "/wire.js";

export class Camera {
  /** `send` sends a message to the relay. */
  constructor(canvas, button, send) {
    this.canvas = canvas;
    this.button = button;
    this.send = send;
    this.isWanted = true;
    this.mayPlay = false;
    this.state = "off";
    button.onclick = () => this.toggle();
    this.player = codecs.isSupported && new codecs.CodecPlayer(canvas, {
      decoded: () => {},
      shown: () => {},
      dropped: () => {},
      waitFor: () => undefined,
      needsKeyframe: () => this.ask(),
      failed: (why) => console.warn(why),
    });
  }

  /** Its stream has this number. */
  describe(stream) {
    this.stream = stream;
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
    if (this.isShown) this.player.take(data, isKeyframe, time);
  }

  /** Whether pictures come that WebCodecs plays. */
  setPlayable(mayPlay) {
    this.mayPlay = mayPlay;
    this.restart();
    this.show();
  }

  /** Goes on at a keyframe. */
  restart() {
    if (this.player) this.player.restart();
  }

  toggle() {
    this.isWanted = !this.isWanted;
    this.restart();
    this.show();
    if (this.isShown) this.ask();
  }

  ask() {
    if (this.stream !== undefined) this.send(wire.requestKeyframe(this.stream));
  }

  get isShown() {
    return Boolean(this.player) && this.mayPlay && this.isWanted && this.state === "on";
  }

  show() {
    this.canvas.hidden = !this.isShown;
    this.button.hidden = !(this.player && this.mayPlay && this.state !== "off");
    this.button.disabled = this.state !== "on";
    this.button.textContent = this.state === "lost" ? "Camera lost" : "Camera";
    this.button.title = this.state === "lost" ? this.detail : "Key c";
    this.button.setAttribute("aria-pressed", String(this.isShown));
  }
}
