#!/usr/bin/env python3
"""Reads a broadcast from the relay and writes its screen as H.264, which any player plays.

    examples/read-stream.py FILE [--from ADDRESS:PORT] [--key KEY] [--seconds SECONDS]

FILE may be - for standard output: examples/read-stream.py - | ffplay -
Ends with the broadcast, after SECONDS, or by Ctrl-C. docs/protocol.md says what is read here.
"""

import argparse
import os
import socket
import struct
import sys
import time

HEADER = struct.Struct(">IIqII")  # kind, flags, pts in nanoseconds, stream, length
GREETING, REFUSAL, FINISHED, DESCRIPTION, PACKET, STATE = 1, 2, 4, 17, 18, 32
CONSUMER, VERSION = 3, 2
KEYFRAME = 1
SCREEN, H264 = 1, 1
STATES = ["", "waiting", "starting", "live", "paused", "interrupted", "finished"]


def greeting(key):
    fields = struct.pack(">IBIQQIH", VERSION, CONSUMER, os.getpid(), 1, 0, 0, len(key))
    payload = b"PORTHOLE" + fields + key
    return HEADER.pack(GREETING, 0, 0, 0, len(payload)) + payload


def messages(connection):
    """Yields each message as (kind, flags, pts, stream, payload)."""
    reader = connection.makefile("rb")
    while len(head := reader.read(HEADER.size)) == HEADER.size:
        *fields, length = HEADER.unpack(head)
        payload = reader.read(length)
        if len(payload) < length:
            return
        yield *fields, payload


def say(text):
    print(f"read-stream: {text}", file=sys.stderr)


def copy_screen(connection, output, seconds):
    """Writes the screen's access units to `output`; returns how many."""
    screen, state, count, end = None, None, 0, time.monotonic() + seconds
    for kind, flags, _pts, stream, payload in messages(connection):
        if kind in (REFUSAL, FINISHED):
            (code,) = struct.unpack(">H", payload[:2])
            say(f"ended with code {code}: {payload[4:].decode()}")
            break
        if kind == STATE:
            # Repeated each second while nothing is live.
            if payload != state:
                say(f"{STATES[payload[0]]} {payload[15:].decode()}".strip())
            state = payload
        elif kind == DESCRIPTION and payload[:2] == bytes([SCREEN, H264]):
            screen = stream
        elif kind == PACKET and stream == screen:
            # The first packet of a stream is a keyframe, with its parameter sets in front.
            assert count or flags & KEYFRAME
            output.write(payload)
            output.flush()
            count += 1
        if time.monotonic() >= end:
            break
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--from", dest="address", default="127.0.0.1:13580")
    parser.add_argument("--key", default="", help="the viewer key, for others than the relay's user")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    host, port = options.address.rsplit(":", 1)
    connection = socket.create_connection((host.strip("[]"), int(port)))
    connection.sendall(greeting(options.key.encode()))
    with sys.stdout.buffer if options.file == "-" else open(options.file, "wb") as output:
        try:
            count = copy_screen(connection, output, options.seconds)
        except KeyboardInterrupt:
            return
    say(f"{count} access units")
    if not count:
        sys.exit(1)


if __name__ == "__main__":
    main()
