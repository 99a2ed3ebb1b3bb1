// States and figures in words.

/** Of each state, what stands in the line above and what covers the picture. */
export const stateWords = {
  connecting: ["Connecting", "Connecting to the relay"],
  waiting: ["Waiting", "Waiting for a broadcast"],
  starting: ["Starting", "The broadcast starts"],
  live: ["Live", ""],
  paused: ["Paused", "The broadcast is paused"],
  interrupted: ["Interrupted", "Interrupted: the picture comes back by itself"],
  finished: ["Ended", "The broadcast has ended"],
  lost: ["No connection", "The connection is lost: trying again"],
  refused: ["Not let in", "The relay does not let this page in: the address needs its key"],
};

export function bitrateWords(bits) {
  return bits < 1e6 ? `${Math.round(bits / 1e3)} kbit/s` : `${(bits / 1e6).toFixed(1)} Mbit/s`;
}

export function memoryWords(agent, memory) {
  const limit = agent.limit_address_kb || agent.limit_data_kb;
  const used = agent.limit_address_kb ? agent.vm_size_kb : agent.vm_data_kb;
  const step = memory.step === "rest" ? "" : `, gives up: ${memory.step}`;
  return `${(used / 1024).toFixed(1)} of ${(limit / 1024).toFixed(0)} MB${step}`;
}

// What no limit counts: a screen's frames, pixels of its own, and what is on its way to the relay.
export function uncounted(agent) {
  return (agent.frames_held_kb + agent.memfd_kb) * 1024 + agent.send_queue_bytes + agent.socket_bytes;
}

export function uncountedWords(agent) {
  const mb = (kb) => (kb / 1024).toFixed(1);
  const unsent = ((agent.send_queue_bytes + agent.socket_bytes) / 1024).toFixed(1);
  return `frames ${mb(agent.frames_held_kb)} MB, of them mapped ${mb(agent.frames_mapped_kb)}; `
    + `own pixels ${mb(agent.memfd_kb)} MB; unsent ${unsent} kB`;
}
