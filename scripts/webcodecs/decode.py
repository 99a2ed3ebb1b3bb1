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
  const {displayWidth: width, displayHeight: height, format} = frame;
  const color = frame.colorSpace.toJSON();
  const bytes = new Uint8Array(frame.allocationSize());
  const planes = await frame.copyTo(bytes);
  frame.close();
  const sample = (plane, x, y) => bytes[planes[plane].offset + y * planes[plane].stride + x];
  const spots = job.spots.map(([x, y]) => {
    const half = [x >> 1, y >> 1];
    const cb = format == 'NV12' ? sample(1, 2 * half[0], half[1]) : sample(1, ...half);
    const cr = format == 'NV12' ? sample(1, 2 * half[0] + 1, half[1]) : sample(2, ...half);
    return rgb(sample(0, x, y), cb, cr, color);
  });
  return {width, height, color, spots};
}
// By the matrix that the frame names. A canvas would do it too, but without a GPU its blue is cut off
// at 243: the factor of BT.709 is larger than its arithmetic holds.
function rgb(y, cb, cr, {matrix, fullRange}) {
  const [red, blue] = {bt709: [0.2126, 0.0722], smpte170m: [0.299, 0.114]}[matrix];
  const green = 1 - red - blue;
  const luma = fullRange ? y / 255 : (y - 16) / 219;
  const [u, v] = [cb, cr].map(chroma => (chroma - 128) / (fullRange ? 255 : 224));
  const r = luma + 2 * (1 - red) * v, b = luma + 2 * (1 - blue) * u;
  return [r, (luma - red * r - blue * b) / green, b]
    .map(value => Math.round(255 * Math.min(1, Math.max(0, value))));
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
            env={**os.environ, "HOME": home}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            if not server.done.wait(120):
                sys.exit("chromium gave no answer in 120 s")
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
    sys.stdout.buffer.write(server.results)


main()
