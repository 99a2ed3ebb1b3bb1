// Porthole's wire, as far as a viewer speaks it: 24 bytes of header, big-endian, then the payload
// (docs/protocol.md). A WebSocket message carries one of its messages.

export const kinds = {
  refusal: 2, heartbeat: 3, finished: 4, started: 16, description: 17, packet: 18,
  sourceState: 26, state: 32, keyframeRequest: 48, pause: 49, resume: 50, acknowledgement: 54,
};
export const states = ["", "waiting", "starting", "live", "paused", "interrupted", "finished"];
const headerBytes = 24;
const keyframe = 1;

/** Reads one message: {kind, isKeyframe, time (microseconds), stream, payload}. */
export function read(buffer) {
  const view = new DataView(buffer);
  return {
    kind: view.getUint32(0),
    isKeyframe: (view.getUint32(4) & keyframe) !== 0,
    time: Number(view.getBigInt64(8) / 1000n),
    stream: view.getUint32(16),
    payload: new Uint8Array(buffer, headerBytes, view.getUint32(20)),
  };
}

/** Makes one message whose payload is a row of 64-bit numbers. */
export function write(kind, ...numbers) {
  const view = new DataView(new ArrayBuffer(headerBytes + 8 * numbers.length));
  view.setUint32(0, kind);
  view.setUint32(20, 8 * numbers.length);
  numbers.forEach((number, index) => {
    view.setBigUint64(headerBytes + 8 * index, BigInt(Math.round(number)));
  });
  return view.buffer;
}

/** Asks for a keyframe of one stream. */
export function requestKeyframe(stream) {
  const message = write(kinds.keyframeRequest);
  new DataView(message).setUint32(16, stream);
  return message;
}

/** Asks for a pause of this page alone (its reasons are one byte, 1), or for its end. */
export function hold(isHeld) {
  if (!isHeld) return write(kinds.resume);
  const message = new Uint8Array(headerBytes + 1);
  message[3] = kinds.pause;
  message[23] = 1;
  message[headerBytes] = 1;
  return message.buffer;
}

const utf8 = new TextDecoder();

function text(view, offset) {
  const start = view.byteOffset + offset + 2;
  return utf8.decode(new Uint8Array(view.buffer, start, view.getUint16(offset)));
}

function viewOf(payload) {
  return new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
}

/** A session state: {state, detail}. */
export function readState(payload) {
  const view = viewOf(payload);
  return { state: states[view.getUint8(0)] ?? "waiting", detail: text(view, 13) };
}

/** How a sound stands, the camera or the screen: {source, state, detail}. */
export function readSourceState(payload) {
  const view = viewOf(payload);
  return {
    source: view.getUint8(0), state: ["off", "on", "lost"][view.getUint8(1)] ?? "off",
    detail: text(view, 2),
  };
}

/** A stream's description: {isVideo, source, codec}. */
export function readDescription(payload) {
  const view = viewOf(payload);
  return { isVideo: view.getUint8(1) === 1, source: view.getUint8(0), codec: text(view, 34) };
}

/** A heartbeat: both times in microseconds. */
export function readHeartbeat(payload) {
  const view = viewOf(payload);
  return { time: Number(view.getBigUint64(0) / 1000n), echo: Number(view.getBigUint64(8) / 1000n) };
}
