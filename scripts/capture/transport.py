#!/usr/bin/python3
"""Reads MPEG-TS of one stream from a TCP port for a while, and prints how many pictures came a second."""

import socket
import sys
import time

PACKET, SYNC, STARTS = 188, 0x47, 0x40
TABLES = {0, 32}  # where GStreamer's muxer has PAT and PMT


def main(host, port, seconds):
    stream = socket.create_connection((host, int(port))).makefile("rb", buffering=1 << 20)
    pictures, end = 0, time.monotonic() + float(seconds)
    while (packet := stream.read(PACKET)) and time.monotonic() < end:
        if packet[0] != SYNC:
            sys.exit("transport: no packet where one should begin")
        pid = (packet[1] & 0x1F) << 8 | packet[2]
        pictures += bool(packet[1] & STARTS) and pid not in TABLES
    print(f"{pictures / float(seconds):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
