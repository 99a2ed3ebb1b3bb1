#!/usr/bin/python3
"""Times how long a flip of the test window (window.py --flips) takes to a decoded picture.

    flips.py LOG COUNT NAME packets HOST PORT
    flips.py LOG COUNT NAME player SOURCE-ELEMENT [PROPERTY...]
    flips.py LOG COUNT NAME page URL

LOG is what the window prints. `packets` reads the relay's consumer port with a decoder that holds
nothing back; `player` is GStreamer, reading a transport stream from the given element; `page` is the
relay's page in Chromium, and a flip is seen when it can be read back from the canvas. All
read CLOCK_MONOTONIC. Prints one line, in milliseconds: NAME, flips seen within 350 ms, minimum,
median, 95th percentile, maximum; dashes where fewer than two were seen.
"""

import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "desktop"))
from window import FLIP  # noqa: E402

PATCH = 16  # pixels a side, from the middle of the flipping square
LEFT, TOP = FLIP[0] + (FLIP[2] - PATCH) // 2, FLIP[1] + (FLIP[3] - PATCH) // 2
SETTLING = 2.0  # seconds at the start that are not counted
LONGEST = 0.35  # seconds; a flip seen later would be taken for the next one


def player_levels(source):
    """Luma of the square in each picture that a GStreamer player decodes."""
    crop = f"top={TOP} left={LEFT} right={1920 - LEFT - PATCH} bottom={1080 - TOP - PATCH}"
    words = ["gst-launch-1.0", "-q", *source, "!", "tsdemux", "!", "h264parse", "!", "avdec_h264"]
    words += ["max-threads=1", "!", "videocrop", *crop.split(), "!", "videoconvert"]
    words += ["!", "video/x-raw,format=GRAY8", "!", "fdsink", "fd=1", "sync=false"]
    size = PATCH * PATCH
    with subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0) as player:
        try:
            while len(patch := player.stdout.read(size)) == size:
                yield patch[PATCH * PATCH // 2 + PATCH // 2]
        finally:
            player.terminate()


def packet_levels(host, port):
    from decoder import Decoder
    from packets import packets

    decoder = Decoder()
    for access_unit in packets(host, int(port)):
        for picture in decoder.pictures(access_unit):
            yield picture.luma(LEFT + PATCH // 2, TOP + PATCH // 2)


def sightings(levels, count):
    """When the square was first seen in its new colour: (is white, nanoseconds)."""
    start, was_white, seen = time.monotonic(), None, []
    for level in levels:
        now, is_white = time.monotonic_ns(), level > 128
        if was_white is not None and is_white != was_white and time.monotonic() - start > SETTLING:
            seen.append((is_white, now))
        was_white = is_white
        if len(seen) >= count or time.monotonic() - start > SETTLING + 2 * count:
            break
    levels.close()
    return seen


def page_sightings(url, count):
    from page import levels

    start, was_white, seen = None, None, []
    for at, level in levels(url, LEFT + PATCH // 2, TOP + PATCH // 2, SETTLING + 0.5 * count):
        start = start or at
        is_white = level > 128
        if was_white is not None and is_white != was_white and at - start > SETTLING * 1e9:
            seen.append((is_white, at))
        was_white = is_white
    return seen


def drawn(log):
    with open(log) as lines:
        words = [line.split() for line in lines if line.startswith("flip ")]
    return [(word[1] == "1", int(word[2])) for word in words]


def delays(flips, seen):
    """Milliseconds from each flip to its sighting."""
    found = []
    for is_white, at in seen:
        before = [when for white, when in flips if white == is_white and when < at]
        if before and at - before[-1] < LONGEST * 1e9:
            found.append((at - before[-1]) / 1e6)
    return found


def main():
    log, count, name, kind, *source = sys.argv[1:]
    if kind == "page":
        seen = page_sightings(*source, int(count))
    else:
        levels = packet_levels(*source) if kind == "packets" else player_levels(source)
        seen = sightings(levels, int(count))
    found = delays(drawn(log), seen)
    figures = ["-"] * 4
    if len(found) >= 2:
        most = statistics.quantiles(found, n=20, method="inclusive")[18]
        times = [min(found), statistics.median(found), most, max(found)]
        figures = [f"{time:.1f}" for time in times]
    print(name, len(found), *figures, sep="\t")


if __name__ == "__main__":
    main()
