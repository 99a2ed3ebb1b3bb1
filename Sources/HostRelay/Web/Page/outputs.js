// Where the broadcast goes besides its viewers: pushes and the recording, for all to see; what has been
// recorded, for who may control.

const stateWords = {
  starting: "starting", live: "live", waiting: "waiting", ended: "ended",
  recording: "recording", paused: "paused",
};

/** Bytes in a unit that people read. */
export function sizeWords(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let size = bytes;
  for (; size >= 1000 && at + 1 < units.length; at += 1) size /= 1000;
  return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
}

function timeWords(seconds) {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function make(name, text, more = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, more);
}

export class Outputs {
  /** `ask(method, path, body)` resolves to what the relay answers, or throws its reason. */
  constructor(dialog, ask) {
    this.dialog = dialog;
    this.ask = ask;
    this.mayControl = false;
    this.shown = "";
    dialog.onclose = () => this.replay(undefined);
  }

  element(name) {
    return this.dialog.querySelector(`[data-part=${name}]`);
  }

  /** Takes the status; returns one line for people, empty where nothing goes out. */
  update({ pushes = [], recording, may_control: mayControl }) {
    this.mayControl = mayControl;
    this.has = pushes.length > 0 || Boolean(recording);
    if (this.dialog.open) this.list(pushes, recording);
    const words = [];
    if (recording) {
      words.push(recording.state === "recording"
        ? `recording ${timeWords(recording.seconds)}` : `recording ${stateWords[recording.state]}`);
    }
    if (pushes.length > 0) {
      const live = pushes.filter(({ state }) => state === "live").length;
      words.push(`${live} of ${pushes.length} ${pushes.length === 1 ? "push" : "pushes"} live`);
    }
    return words.join(", ");
  }

  /** Shows the dialog, with the recordings of this moment. */
  open() {
    this.dialog.showModal();
    this.listRecordings();
  }

  list(pushes, recording) {
    const rows = pushes.map(({ name, state, restarts, bytes, detail }) => [
      name, state, [sizeWords(bytes), restarts > 0 && `restarted ${restarts} times`, detail],
    ]);
    if (recording) {
      const { file, state, bytes, seconds, detail } = recording;
      rows.push([`Recording ${file ?? ""}`, state, [sizeWords(bytes), timeWords(seconds), detail]]);
    }
    this.element("outputs").replaceChildren(...rows.map(([name, state, details]) => {
      const row = make("li", "");
      row.append(
        make("strong", name), " ", make("span", stateWords[state] ?? state, { className: state }),
        make("small", details.filter(Boolean).join(", ")));
      return row;
    }));
    // What is being written has another name or another size now.
    if (this.mayControl && recording?.file !== this.shown) {
      this.shown = recording?.file;
      this.listRecordings();
    }
  }

  async listRecordings() {
    this.element("recordings").parentElement.hidden = !this.mayControl;
    if (!this.mayControl) return;
    try {
      const { recordings } = await this.ask("GET", "/api/v1/recordings");
      this.element("recordings").replaceChildren(...recordings.map((one) => this.row(one)));
      this.say(recordings.length === 0 ? "Nothing has been recorded." : "");
    } catch (error) {
      this.say(error.message);
    }
  }

  row({ name, bytes, modified, live }) {
    const row = make("li", "");
    const when = new Date(modified * 1000).toLocaleString();
    const erase = make("button", "Delete", { disabled: live });
    erase.onclick = () => {
      if (erase.dataset.sure) return this.erase(name);
      // A second click within the time means it.
      erase.dataset.sure = "yes";
      erase.textContent = "Really delete?";
      setTimeout(() => {
        delete erase.dataset.sure;
        erase.textContent = "Delete";
      }, 4000);
      return undefined;
    };
    row.append(
      make("strong", name), make("small", `${sizeWords(bytes)}, ${live ? "being written" : when}`),
      make("button", "Play", { onclick: () => this.replay(name) }),
      make("button", "Download", { onclick: () => this.download(name) }), erase);
    return row;
  }

  async ticketed(name) {
    const { ticket } = await this.ask("POST", "/api/v1/recordings/ticket", { name });
    return `/recordings/${encodeURIComponent(name)}?ticket=${encodeURIComponent(ticket)}`;
  }

  /** Plays a recording; undefined ends it. */
  async replay(name) {
    const video = this.element("replay");
    video.hidden = !name;
    video.removeAttribute("src");
    if (!name) return video.load();
    video.onerror = () => this.say(`${name} does not play here: download it`);
    try {
      video.src = await this.ticketed(name);
      // A browser that wants another click for it shows its own buttons.
      video.play().catch(() => {});
    } catch (error) {
      this.say(error.message);
    }
    return undefined;
  }

  async download(name) {
    try {
      make("a", "", { href: await this.ticketed(name), download: name }).click();
    } catch (error) {
      this.say(error.message);
    }
  }

  async erase(name) {
    try {
      await this.ask("POST", "/api/v1/recordings/delete", { name });
      await this.listRecordings();
    } catch (error) {
      this.say(error.message);
    }
  }

  say(text) {
    this.element("said").textContent = text;
  }
}
