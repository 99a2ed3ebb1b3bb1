// The viewer page: one WebSocket for states and packets, a player for the picture, and what people see.

import * as wire from "/wire.js";
import * as codecs from "/codecs.js";
import * as source from "/source.js";
import { Outputs, sizeWords } from "/outputs.js";
import { Listening } from "/listening.js";
import { Setup } from "/setup.js";
import { bitrateWords, memoryWords, stateWords, uncounted, uncountedWords } from "/words.js";
import { Camera } from "/camera.js";

const element = (id) => document.getElementById(id);
// Keys stand in the fragment, which a browser never sends: #key=…&control=…
const keys = new URLSearchParams(location.hash.slice(1));
const key = keys.get("key") ?? new URLSearchParams(location.search).get("key") ?? "";
const control = keys.get("control") ?? "";
const query = key ? `?key=${encodeURIComponent(key)}` : "";

let socket;
let player;
let codec;
let retryDelay = 250;
let state = "connecting";
let clockOffset; // microseconds from this page's clock to the relay's
let lastHeard = 0;
let hasEnded = false;
let mayControl = false;
// The last status of a relay that waits for a start; undefined for others.
let setupStatus;
// The sources of the streams, by number.
const sources = new Map();
const counts = { bytes: 0, pictures: 0, dropped: 0, latency: undefined };

// --- What people see

function show(newState, detail = "") {
  state = newState;
  const [word, cover] = stateWords[newState];
  element("state").dataset.state = newState;
  element("word").textContent = word;
  element("detail").textContent = newState === "live" ? "" : detail;
  element("cause").textContent = cover;
  element("why").textContent = cover && detail;
  element("cover").className = cover ? "full" : "";
  element("pause").textContent = newState === "paused" ? "Resume" : "Pause";
  showControl();
  document.title = `${word} – Porthole`;
}

function showControl() {
  const isOn = ["starting", "live", "paused", "interrupted"].includes(state);
  // What was started and shows nothing yet is taken back rather than finished.
  const isWaiting = Boolean(setupStatus?.setup.started) && ["waiting", "starting"].includes(state);
  element("control").hidden = !(mayControl && (isOn || isWaiting));
  element("cancel").hidden = !isWaiting;
  for (const id of ["pause", "finish", "app", "mic"]) element(id).hidden = isWaiting;
}

function showSetup() {
  if (setupStatus) setup.update(setupStatus, hasEnded, element("detail").textContent);
}

function showFigures() {
  const isKnown = counts.latency !== undefined && state === "live";
  // Media Source Extensions tell no picture's age, only how much waits to be shown.
  const how = player instanceof source.SourcePlayer ? " buffered" : "";
  element("latency").textContent =
    isKnown ? `${Math.round(counts.latency / 1000)} ms${how}` : "–";
  element("bitrate").textContent = bitrateWords(counts.bytes * 8);
  element("rate").textContent = `${counts.pictures} a second`;
  element("drops").textContent = String(counts.dropped);
  counts.bytes = 0;
  counts.pictures = 0;
}

async function showStatus() {
  if (document.hidden) return;
  try {
    const response = await fetch(`/api/v1/status${query}`, { headers: authorization() });
    if (!response.ok) return;
    const status = await response.json();
    mayControl = status.may_control;
    setupStatus = status.setup ? status : undefined;
    // Another one has been started: what is said and seen of the last one holds no longer.
    if (hasEnded && status.setup?.started && ["waiting", "starting"].includes(status.state)) {
      hasEnded = false;
      wipe();
    }
    showControl();
    showSetup();
    element("goes").textContent = outputs.update(status);
    element("open").hidden = !(outputs.has || mayControl);
    const { agent } = status;
    const isMeasured = agent.connected && agent.vm_size_kb;
    element("memory").textContent = isMeasured ? memoryWords(agent, status.memory) : "–";
    element("uncounted").textContent = isMeasured ? sizeWords(uncounted(agent)) : "–";
    element("uncounted").title = isMeasured ? uncountedWords(agent) : "";
  } catch {
    // The WebSocket tells when the relay is gone; what else it said holds no longer.
    element("goes").textContent = "";
    for (const name of ["memory", "uncounted"]) element(name).textContent = "–";
  }
}

// --- The connection

function address(path, more = "") {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const parts = [key && `key=${encodeURIComponent(key)}`, more].filter(Boolean).join("&");
  return `${scheme}://${location.host}${path}${parts && `?${parts}`}`;
}

function connect() {
  const isHeld = player instanceof source.SourcePlayer || document.hidden;
  const mine = new WebSocket(address("/watch", isHeld ? "hold=1" : ""));
  let isOpen = false;
  socket = mine;
  mine.binaryType = "arraybuffer";
  mine.onopen = () => {
    isOpen = true;
    retryDelay = 250;
    lastHeard = performance.now();
    measureClock();
  };
  mine.onmessage = ({ data }) => {
    if (mine === socket) take(wire.read(data));
  };
  mine.onclose = () => {
    if (mine !== socket) return;
    player.restart?.();
    camera.restart();
    reconnect(isOpen);
  };
}

async function reconnect(wasOpen) {
  if (!hasEnded || wasOpen === false) {
    const isRefused = !wasOpen && (await isForbidden());
    if (!hasEnded) show(isRefused ? "refused" : "lost");
  }
  setTimeout(connect, retryDelay * (0.8 + 0.4 * Math.random()));
  retryDelay = Math.min(2000, retryDelay * 2);
}

async function isForbidden() {
  try {
    return (await fetch(`/api/v1/status${query}`)).status === 403;
  } catch {
    return false;
  }
}

function take(message) {
  lastHeard = performance.now();
  counts.bytes += message.payload.byteLength;
  switch (message.kind) {
    case wire.kinds.state: {
      const { state, detail } = wire.readState(message.payload);
      // A broadcast that has ended stays ended on the page until another one starts.
      const isNew = !(hasEnded && state === "waiting");
      if (isNew) show(state, detail);
      hasEnded = state === "finished" || (hasEnded && state === "waiting");
      if (isNew && setupStatus) showStatus();
      break;
    }
    case wire.kinds.started:
      listening.restart();
      camera.update({ state: "off", detail: "" });
      break;
    case wire.kinds.description: {
      const description = wire.readDescription(message.payload);
      sources.set(message.stream, description.source);
      if (description.isVideo && description.source === 1) describe(description.codec);
      if (description.isVideo && description.source === 2) camera.describe(message.stream, description.codec);
      break;
    }
    case wire.kinds.sourceState: {
      const { source: from, ...how } = wire.readSourceState(message.payload);
      if (from === 2) camera.update(how);
      else listening.update(from, how);
      break;
    }
    case wire.kinds.packet: {
      const from = sources.get(message.stream);
      if (from === 1) player.take?.(message.payload, message.isKeyframe, message.time);
      else if (from === 2) camera.take(message.payload, message.isKeyframe, message.time);
      else listening.take(from, message.payload, message.time);
      break;
    }
    case wire.kinds.heartbeat:
      takeHeartbeat(wire.readHeartbeat(message.payload));
      break;
  }
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(message);
}

function say(kind, ...numbers) {
  send(wire.write(kind, ...numbers));
}

function measureClock() {
  say(wire.kinds.heartbeat, performance.now() * 1e6, 0);
}

function takeHeartbeat({ time, echo }) {
  if (echo === 0) return;
  const now = performance.now() * 1000;
  clockOffset = time - (now + echo) / 2;
}

// --- The picture

const events = {
  decoded(pictures) {
    events.total = pictures;
  },
  shown(time, buffered) {
    counts.pictures += 1;
    if (buffered !== undefined) counts.latency = buffered * 1e6;
    if (time === undefined || clockOffset === undefined) return;
    const latency = performance.now() * 1000 + clockOffset - time;
    // Only where agent and relay share a clock does the difference mean anything.
    counts.latency = latency >= 0 && latency < 60e6 ? latency : undefined;
  },
  total: 0,
  waitFor: (time) => listening.waitFor(time),
  needsKeyframe: () => say(wire.kinds.keyframeRequest),
  dropped: (pictures) => { counts.dropped += pictures; },
  failed(why) {
    console.warn(why);
    if (player instanceof source.SourcePlayer && codec) {
      setTimeout(() => player instanceof source.SourcePlayer && player.start(codec), 1000);
    }
  },
};

function wipe() {
  const canvas = element("canvas");
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}

function describe(newCodec) {
  if (player instanceof source.SourcePlayer && newCodec !== codec) player.start(newCodec);
  codec = newCodec;
}

function choose(name) {
  player?.close();
  const isSource = name === "source";
  element("video").hidden = !isSource;
  element("canvas").hidden = isSource;
  player = isSource
    ? new source.SourcePlayer(element("video"), address("/watch.mp4"), events)
    : new codecs.CodecPlayer(element("canvas"), events);
  counts.latency = undefined;
  camera.choose(name);
  listening.choose(isSource ? player : undefined);
  if (socket?.readyState !== WebSocket.OPEN) return;
  send(wire.hold(isSource || document.hidden));
  if (isSource && codec) player.start(codec);
}

// --- What people do

async function ask(method, path, body) {
  const response = await fetch(`${path}${query}`, {
    method, headers: authorization(), body: body && JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the relay answers ${response.status}`);
  return answer;
}

async function post(what, body = {}) {
  try {
    await ask("POST", `/api/v1/${what}`, body);
  } catch (error) {
    element("detail").textContent = error.message;
  }
}

const camera = new Camera({
  canvas: element("camera"), video: element("camera-video"), button: element("show-camera"),
  address: address("/watch-camera.mp4"),
}, send);
const listening = new Listening(element, post);
const outputs = new Outputs(element("outputs"), ask);
const setup = new Setup(element("setup"), ask, showStatus);

function authorization() {
  return control ? { Authorization: `Bearer ${control}` } : {};
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else element("stage").requestFullscreen();
}

function toggleFigures() {
  const isHidden = !element("figures").hidden;
  element("figures").hidden = isHidden;
  element("toggle").setAttribute("aria-pressed", String(!isHidden));
}

element("pause").onclick = () => post(state === "paused" ? "resume" : "pause");
element("cancel").onclick = () => post("cancel");
element("finish").onclick = () => element("sure").showModal();
element("sure").onclose = () => {
  if (element("sure").returnValue === "finish") post("finish", { reason: element("reason").value });
};
element("fullscreen").onclick = fullScreen;
element("stage").ondblclick = fullScreen;
element("toggle").onclick = toggleFigures;
element("open").onclick = () => outputs.open();
element("snapshot").href = `/snapshot.png${query}`;
element("player").onchange = ({ target }) => choose(target.value);
document.onkeydown = (event) => {
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey) return;
  if (event.key === "f") fullScreen();
  if (event.key === "i") toggleFigures();
  if (event.key === "c" && !element("show-camera").hidden) camera.toggle();
  if (event.key === "m") listening.toggle();
};
// Another key.
window.onhashchange = () => location.reload();
// A hidden tab gets no pictures, and goes on at a keyframe.
document.onvisibilitychange = () => {
  if (player instanceof source.SourcePlayer) {
    if (document.hidden) player.close();
    else if (codec) player.start(codec);
    camera.show();
  } else {
    send(wire.hold(document.hidden));
  }
};

for (const [id, isSupported] of [["codecs", codecs.isSupported], ["source", source.isSupported]]) {
  element("player").querySelector(`[value=${id}]`).disabled = !isSupported;
}
element("player").value = codecs.isSupported ? "codecs" : "source";
for (const span of document.querySelectorAll(".address")) {
  span.textContent = `${location.origin}/live.ts${query}`;
}
show("connecting");
choose(element("player").value);
connect();
showStatus();
setInterval(() => {
  showFigures();
  showStatus();
  measureClock();
  // The relay speaks at least once a second; one that does not is gone, though nobody said so.
  if (socket.readyState === WebSocket.OPEN && performance.now() - lastHeard > 5000) socket.close();
}, 1000);
setInterval(() => say(wire.kinds.acknowledgement, events.total), 250);
