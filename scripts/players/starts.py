#!/usr/bin/python3
"""Times players from their start to their first picture, on a live stream and on a recording of it.

    starts.py BASE KEY ROUNDS SCREEN

BASE is the relay's address as `http://127.0.0.1:PORT`, KEY its viewer key (VLC runs as another user where
this is root, as which it refuses to run). The recording comes from a server of ours that sends all of it at
once: what a player needs then is its own minimum. Prints a table row for each player and output: median
and range of both in milliseconds, and the difference of the medians.
"""

import http.server
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RECORDED = 12  # seconds: more than any player looks at before it begins
LONGEST = 20.0  # seconds
OUTPUTS = ["live.ts", "live.mp4"]
DUMMIES = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "LC_ALL": "C.UTF-8"}
MPV = ["mpv", "--no-config", "-v", "--vo=null", "--ao=null"]
MPV_SHOWS = b"playback restart complete"
FFPLAY = ["ffplay", "-hide_banner", "-an"]
VLC = ["cvlc", "--intf=dummy", "--no-audio", "--vout=dummy", "-vv"]
if os.geteuid() == 0:
    VLC = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *VLC]

# Name, command (URL stands for the address), and how the first picture shows: by the end of the
# program, or by what it prints. ffplay says "nan" until it has a clock, which its first picture sets.
PLAYERS = [
    ("mpv", [*MPV, "URL"], MPV_SHOWS),
    ("mpv, low latency", [*MPV, "--profile=low-latency", "URL"], MPV_SHOWS),
    ("VLC", [*VLC, "URL"], b"Received first picture"),
    ("ffplay", [*FFPLAY, "URL"], "clock"),
    ("ffplay, probing little",
     [*FFPLAY, "-flags", "low_delay", "-probesize", "5000", "URL"], "clock"),
    ("ffprobe", ["ffprobe", "-v", "error", "-show_streams", "URL"], None),
    ("curl to ffprobe", ["bash", "-c", "curl -sN \"$1\" | ffprobe -v error -show_streams -", "-",
                         "URL"], None),
    ("GStreamer", ["gst-launch-1.0", "-q", "uridecodebin", "uri=URL", "!", "identity", "eos-after=1",
                   "!", "fakesink"], None),
]


def shows_clock(line):
    words = line.split()
    return len(words) > 1 and words[1] in (b"M-V:", b"A-V:") and words[0] != b"nan"


def milliseconds_to_picture(command, url, sign, home):
    """From the start of the program; None where no picture came."""
    words = [word.replace("URL", url) for word in command]
    start = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0,
                          stderr=subprocess.STDOUT, start_new_session=True,
                          env={**os.environ, **DUMMIES, "HOME": home}) as player:
        killer = threading.Timer(LONGEST, player.kill)
        killer.start()
        seen, rest = None, b""
        while piece := player.stdout.read(65536):
            *lines, rest = (rest + piece).replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                if seen is None and sign and (shows_clock(line) if sign == "clock" else sign in line):
                    seen = time.monotonic()
                    player.kill()
        code = player.wait()
        killer.cancel()
    if sign is None and code == 0:
        seen = time.monotonic()
    return None if seen is None else (seen - start) * 1000


class Recording(http.server.BaseHTTPRequestHandler):
    """Sends a whole recording at once, and then nothing, as the relay would."""

    bytes_of = {}

    def do_GET(self):
        self.send_response(200)
        kind = "video/mp4" if ".mp4" in self.path else "video/mp2t"
        self.send_header("content-type", kind)
        self.end_headers()
        try:
            self.wfile.write(self.bytes_of[self.path.lstrip("/").split("?")[0]])
        except OSError:
            pass  # The player has what it wanted.

    def log_message(self, *_):
        pass


def record(url):
    run = subprocess.run(["curl", "-sN", "--max-time", str(RECORDED), url], stdout=subprocess.PIPE,
                         check=False)
    return run.stdout


def figure(times):
    known = [value for value in times if value is not None]
    if len(known) < len(times) or not known:
        return None, f"none in {len(times) - len(known)} of {len(times)}"
    return statistics.median(known), f"{statistics.median(known):.0f} ({min(known):.0f} to {max(known):.0f})"


def main():
    base, key, rounds, screen = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    for output in OUTPUTS:
        Recording.bytes_of[output] = record(f"{base}/{output}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    local = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory(prefix="porthole-players.") as home:
        os.chmod(home, 0o777)
        for output in OUTPUTS:
            for name, command, sign in PLAYERS:
                own, live = [], []
                # The first round, in which programs are read from the disk, does not count.
                for _ in range(rounds + 1):
                    own.append(milliseconds_to_picture(command, f"{local}/{output}", sign, home))
                    live.append(milliseconds_to_picture(
                        command, f"{base}/{output}?key={key}", sign, home))
                own, live = own[1:], live[1:]
                (least, own_text), (most, live_text) = figure(own), figure(live)
                more = "" if least is None or most is None else f"{most - least:.0f}"
                print(f"| {screen} | /{output} | {name} | {own_text} | {live_text} | {more} |",
                      flush=True)


main()
