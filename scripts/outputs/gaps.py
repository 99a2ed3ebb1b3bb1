#!/usr/bin/env python3
"""Reads a stream as ffprobe's demuxer does, and says how long it went without a picture.

  gaps.py SECONDS URL
  gaps.py SECONDS - COMMAND...    what a command writes; it is ended with its process group

Waits for the first picture, says "reading", then looks for SECONDS. The last line is JSON: "pictures",
and in seconds the longest time between two of them as they came ("wall") and as they are to be shown
("media").
"""

import json
import os
import pty
import signal
import subprocess
import sys
import time


def stamps(source):
    """The time of each picture, as its line comes."""
    try:
        for line in source:
            text = line.strip().strip(",")
            try:
                yield float(text)
            except ValueError:
                if text:
                    print(text, file=sys.stderr)
    except OSError:
        pass  # What a terminal says when its other end is gone.


def main():
    seconds, url, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    started = []
    try:
        source = None
        if command:
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True))
            source = started[0].stdout
        # To a terminal ffprobe writes each line at once.
        ours, theirs = pty.openpty()
        started.append(subprocess.Popen(
            ["ffprobe", "-v", "error", "-probesize", "500000", "-analyzeduration", "1000000",
             "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", url],
            stdin=source, stdout=theirs, start_new_session=True))
        os.close(theirs)
        pictures, wall, media = 0, 0.0, 0.0
        first = came = shown = None
        for stamp in stamps(os.fdopen(ours)):
            now = time.monotonic()
            pictures += 1
            if first is None:
                first = now
                print("reading", flush=True)
            else:
                wall, media = max(wall, now - came), max(media, abs(stamp - shown))
            came, shown = now, stamp
            if now - first >= seconds:
                break
        figures = {"pictures": pictures, "wall": round(wall, 3), "media": round(media, 3)}
        print(json.dumps(figures), flush=True)
        if first is None or came - first < seconds:
            sys.exit(1)
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


main()
