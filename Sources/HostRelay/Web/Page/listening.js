// The broadcast's sounds on the page: what plays them, their buttons and volumes, and the words for one that
// is lost.

import * as sound from "/sound.js";
import * as soundSource from "/soundsource.js";

// By their numbers on the wire: the ending of their buttons' names, and what people read.
const sources = { 3: ["app", "Desktop sound"], 4: ["mic", "Microphone"] };
const screen = 1;

export class Listening {
  /** `element` finds a part of the page by its name; `post` asks the relay for something. */
  constructor(element, post) {
    this.element = element;
    this.post = post;
    this.states = new Map();
    this.volumes = new Map();
    this.loss = ""; // why the screen's pictures do not come though it is there
    element("listen").onclick = () => this.toggle();
    for (const [from, [word]] of Object.entries(sources)) this.listenTo(Number(from), word);
  }

  listenTo(from, word) {
    const { element } = this;
    element(`volume-${word}`).oninput = ({ target }) => {
      this.volumes.set(from, Number(target.value));
      this.mixer?.setVolume(from, Number(target.value));
    };
    element(word).onclick = () => {
      const isOn = element(word).getAttribute("aria-pressed") === "true";
      this.post("sound", { source: word, on: !isOn });
    };
  }

  /** By Web Audio, or beside the video of a `SourcePlayer`. */
  choose(sourcePlayer) {
    const wasOn = this.mixer?.isOn;
    this.mixer?.stop();
    if (sourcePlayer) {
      this.mixer = soundSource.isSupported
        ? new soundSource.SourceMixer(() => sourcePlayer.delay) : undefined;
    } else {
      this.mixer = sound.isSupported ? new sound.Mixer() : undefined;
    }
    for (const [from, volume] of this.volumes) this.mixer?.setVolume(from, volume);
    if (wasOn) this.mixer?.start();
  }

  /** Another broadcast, or another agent: nothing is known of its sounds yet. */
  restart() {
    this.states.clear();
    this.loss = "";
    this.show();
  }

  /** How a source stands: {state, detail}. */
  update(from, how) {
    if (from === screen) this.loss = how.state === "lost" ? how.detail : "";
    else this.states.set(from, how);
    this.show();
  }

  /** One packet of a sound; `time` in microseconds. */
  take(from, data, time) {
    if (this.states.has(from)) this.mixer?.take(from, data, time);
  }

  /** Microseconds until a picture of `time` is in step with what is heard; undefined in silence. */
  waitFor(time) { return this.mixer?.waitFor(time); }

  toggle() {
    const { element, mixer } = this;
    if (element("listen").hidden) return;
    if (mixer.isOn) mixer.stop();
    else mixer.start();
    element("listen").setAttribute("aria-pressed", String(mixer.isOn));
    this.show();
  }

  show() {
    const { element, mixer } = this;
    const all = [...this.states].filter(([, how]) => how.state !== "off");
    element("listen").hidden = !(mixer && all.length > 0);
    element("heard").textContent = (this.loss ? [`Screen lost: ${this.loss}`] : [])
      .concat(all.filter(([, how]) => how.state === "lost")
        .map(([from, how]) => `${sources[from][1]} lost: ${how.detail}`))
      .concat(all.length > 0 && !mixer ? "This browser plays no Opus" : [])
      .join(". ");
    for (const [from, [word]] of Object.entries(sources)) {
      const state = this.states.get(Number(from))?.state ?? "off";
      element(word).setAttribute("aria-pressed", String(state !== "off"));
      element(`volume-${word}`).parentElement.hidden = !(mixer?.isOn && state !== "off");
    }
  }
}
