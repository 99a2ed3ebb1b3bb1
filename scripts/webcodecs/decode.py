#!/usr/bin/env python3
"""Decodes the first picture of Annex B streams with a browser's WebCodecs, for the tests.

Standard input: a JSON list of {"codec": "avc1.…", "file": PATH, "spots": [[x, y], …]}.
Standard output: a JSON list of {"width", "height", "color", "spots": [[red, green, blue], …]}, or
{"error"} in the place of one that did not decode.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

PAGE = b"""<!doctype html><script>
async function first(job, number) {
  const data = await (await fetch(`/stream/${number}`)).arrayBuffer();
  const frame = await new Promise((resolve, reject) => {
    const decoder = new VideoDecoder({output: resolve, error: reject});
    decoder.configure({codec: job.codec, optimizeForLatency: true});
    decoder.decode(new EncodedVideoChunk({type: 'key', timestamp: 0, data}));
    decoder.flush().catch(reject);
  });
  const {displayWidth: width, displayHeight: height} = frame;
  // The decoded samples, and the conversion that the frame asks for. A canvas will not do: Chromium on
  // the CPU converts with coefficients of eight bits, and the one for blue does not fit (BT.709: 2.11).
  const data420 = new Uint8Array(frame.allocationSize());
  const planes = await frame.copyTo(data420);
  const at = (plane, x, y, step = 1, offset = 0) =>
    data420[planes[plane].offset + y * planes[plane].stride + x * step + offset];
  const [red, blue] = frame.colorSpace.matrix === 'bt709' ? [0.2126, 0.0722] : [0.299, 0.114];
  const [black, scale, chroma] = frame.colorSpace.fullRange ? [0, 1, 1] : [16, 255 / 219, 255 / 224];
  const byte = value => Math.max(0, Math.min(255, Math.round(value)));
  const spots = job.spots.map(([x, y]) => {
    const half = [x >> 1, y >> 1];
    const isNV12 = frame.format === 'NV12';
    const cb = ((isNV12 ? at(1, ...half, 2) : at(1, ...half)) - 128) * chroma;
    const cr = ((isNV12 ? at(1, ...half, 2, 1) : at(2, ...half)) - 128) * chroma;
    const luma = (at(0, x, y) - black) * scale;
    const r = luma + 2 * (1 - red) * cr;
    const b = luma + 2 * (1 - blue) * cb;
    return [byte(r), byte((luma - red * r - blue * b) / (1 - red - blue)), byte(b)];
  });
  const color = frame.colorSpace.toJSON();
  frame.close();
  return {width, height, color, spots};
}
(async () => {
  const results = [];
  for (const [number, job] of (await (await fetch('/jobs')).json()).entries())
    results.push(await first(job, number).catch(error => ({error: String(error)})));
  await fetch('/results', {method: 'POST', body: JSON.stringify(results)});
})();
</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/jobs":
            self.answer(json.dumps(self.server.jobs).encode())
        elif self.path.startswith("/stream/"):
            with open(self.server.jobs[int(self.path.split("/")[2])]["file"], "rb") as stream:
                self.answer(stream.read())
        elif self.path == "/":
            self.answer(PAGE)
        else:
            self.send_error(404)

    def do_POST(self):
        self.server.results = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"")
        self.server.done.set()

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if body is PAGE else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.jobs = json.load(sys.stdin)
    server.done = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio",
             f"--user-data-dir={home}/profile", f"http://127.0.0.1:{server.server_port}/"],
            env={**os.environ, "HOME": home, "TMPDIR": home}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            if not server.done.wait(120):
                sys.exit("chromium gave no answer in 120 s")
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
    sys.stdout.buffer.write(server.results)


main()
