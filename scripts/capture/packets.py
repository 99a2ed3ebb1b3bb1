#!/usr/bin/python3
"""Reads a broadcast from the relay's consumer port for a while, and prints one line with tabs between:

    packets a second, their age at the median and at 95 % in milliseconds, bits a second

The age of a packet is the time from its PTS, which on a Wayland desktop is when the compositor had drawn the
frame, to its arrival here; both are CLOCK_MONOTONIC of this machine.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "latency"))
import packets  # noqa: E402


def main(host, port, seconds):
    ages, size = [], 0
    for pts, payload in packets.timed(host, int(port), float(seconds)):
        ages.append((time.monotonic_ns() - pts) / 1e6)
        size += len(payload)
    ages.sort()
    print(
        f"{len(ages) / float(seconds):.1f}",
        f"{statistics.median(ages):.1f}",
        f"{ages[int(len(ages) * 0.95)]:.1f}",
        f"{size * 8 / float(seconds):.0f}",
        sep="\t",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
