// The form that sets a broadcast up and starts it, for who may control a relay that waits for a start.

const texts = ["name", "source", "sound", "size"];

export class Setup {
  /** `ask(method, path, body)` resolves to what the relay answers, or throws its reason; `changed` is
      called when the relay has done something. */
  constructor(form, ask, changed) {
    this.form = form;
    this.ask = ask;
    this.changed = changed;
    this.isEdited = false;
    form.oninput = () => { this.isEdited = true; };
    form.onsubmit = (event) => {
      event.preventDefault();
      this.start();
    };
    this.part("cancel").onclick = () => this.cancel();
  }

  part(name) {
    return this.form.querySelector(`[data-part=${name}]`);
  }

  /** Takes the status, and what the page says of the broadcast: whether one has ended, and why. */
  update({ setup, may_control: mayControl }, hasEnded, why) {
    const isWanted = Boolean(mayControl && setup && !setup.started);
    this.part("title").textContent = hasEnded ? "The broadcast has ended" : "Start a broadcast";
    this.part("why").textContent = why === "waiting for the start" ? "" : why;
    if (isWanted && (this.form.hidden || !this.isEdited)) this.fill(setup);
    if (this.form.hidden === !isWanted) return;
    this.form.hidden = !isWanted;
    if (isWanted) {
      this.isEdited = false;
      this.say("");
    }
  }

  fill(setup) {
    const fields = this.form.elements;
    for (const name of texts) fields[name].value = setup[name] ?? "";
    fields.fps.value = setup.fps ?? "";
    fields.bitrate.value = setup.bitrate ? setup.bitrate / 1e6 : "";
    fields.pushes.value = setup.pushes.join("\n");
    // An agent that the relay does not start has its own command.
    for (const name of [...texts, "fps"]) {
      fields[name].closest("label").hidden = !setup.starts_agent;
    }
  }

  /** What the form says; a field that is empty is the agent's own choice. */
  members() {
    const fields = this.form.elements;
    const isOurs = !fields.name.closest("label").hidden;
    const said = isOurs ? Object.fromEntries(texts.map((name) => [name, fields[name].value.trim()])) : {};
    if (isOurs) said.fps = fields.fps.value ? Number(fields.fps.value) : null;
    said.bitrate = fields.bitrate.value ? Math.round(Number(fields.bitrate.value) * 1e6) : null;
    said.pushes = fields.pushes.value.split("\n").map((line) => line.trim()).filter(Boolean);
    return said;
  }

  async start() {
    await this.try(async () => {
      await this.ask("POST", "/api/v1/setup", this.members());
      await this.ask("POST", "/api/v1/start", {});
    });
  }

  async cancel() {
    await this.try(() => this.ask("POST", "/api/v1/cancel", {}));
  }

  async try(step) {
    this.say("");
    try {
      await step();
      this.isEdited = false;
    } catch (error) {
      this.say(error.message);
    }
    this.changed();
  }

  say(text) {
    this.part("said").textContent = text;
  }
}
