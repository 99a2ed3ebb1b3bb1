#!/usr/bin/env python3
"""Reads a stream as ffprobe's demuxer does, and says how long it went without a picture.

  gaps.py SECONDS URL     `-`: from standard input

Waits for the first picture, then looks for SECONDS. The last line is JSON: "pictures", and in seconds
the longest time between two of them as they came ("wall") and as they are to be shown ("media").
"""

import json
import os
import pty
import subprocess
import sys
import time


def main():
    seconds, url = float(sys.argv[1]), sys.argv[2]
    # To a terminal ffprobe writes each line at once.
    ours, theirs = pty.openpty()
    probe = subprocess.Popen(
        ["ffprobe", "-v", "error", "-probesize", "500000", "-analyzeduration", "1000000",
         "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", url],
        stdout=theirs)
    os.close(theirs)
    wall = media = 0.0
    pictures, first, came, shown = 0, None, None, None
    try:
        for line in os.fdopen(ours):
            now = time.monotonic()
            try:
                stamp = float(line.strip().strip(","))
            except ValueError:
                if line.strip():
                    print(line.strip(), file=sys.stderr)
                continue
            pictures += 1
            first = first or now
            if came is not None:
                wall, media = max(wall, now - came), max(media, abs(stamp - shown))
            came, shown = now, stamp
            if now - first >= seconds:
                break
    except OSError:
        pass  # What a terminal says when its other end is gone.
    probe.kill()
    probe.wait()
    whole = first is not None and came - first >= seconds
    print(json.dumps({"pictures": pictures, "wall": round(wall, 3), "media": round(media, 3)}))
    sys.exit(0 if whole else 1)


main()
