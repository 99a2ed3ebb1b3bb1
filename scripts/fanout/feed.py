#!/usr/bin/python3
"""An agent for measurements: sends the relay packets that are no capture's, at a steady rate.

    feed.py PORT TOKEN-FILE RATE SECONDS packets BYTES     filler, a keyframe every tenth
    feed.py PORT TOKEN-FILE RATE SECONDS h264 FILE         an Annex B file with AUDs, again and again

Listens on 127.0.0.1:PORT for one relay, greets, and sends until SECONDS are over or the relay goes.
"""

import os
import re
import select
import socket
import struct
import sys
import time

HEADER = struct.Struct(">IIqII")  # kind, flags, pts, stream, length
GREETING, STARTED, DESCRIPTION, PACKET = 1, 16, 17, 18
AGENT, VERSION, STREAM, KEYFRAME = 1, 2, 1, 1


def message(kind, payload=b"", flags=0, pts=0, stream=0):
    return HEADER.pack(kind, flags, pts, stream, len(payload)) + payload


def text(value):
    return struct.pack(">H", len(value)) + value


def description():
    sizes = (1, 1_000_000_000, 1280, 720, 1280, 720, 30, 1)  # time base, coded, shown, rate
    return struct.pack(">BB8I", 1, 1, *sizes) + text(b"avc1.42C01F") + text(b"")


def access_units(kind, argument):
    """All of them, as (is a keyframe, bytes)."""
    if kind == "packets":
        filler = b"\x55" * (int(argument) - HEADER.size - 5)
        return [(i == 0, b"\0\0\0\1" + (b"\x65" if i == 0 else b"\x41") + filler) for i in range(10)]
    with open(argument, "rb") as file:
        data = file.read()
    starts = [found.start() for found in re.finditer(rb"\x00\x00\x00\x01\x09", data)] + [len(data)]
    units = [data[start:end] for start, end in zip(starts, starts[1:])]
    return [(b"\0\0\1\x67" in unit[:64], unit) for unit in units]


def main():
    port, token_file, rate, seconds, *source = sys.argv[1:]
    units = access_units(*source)
    with open(token_file, "rb") as file:
        token = file.read()
    with socket.create_server(("127.0.0.1", int(port))) as listener:
        connection, _ = listener.accept()
        # The relay's greeting, in one piece; before it the relay looks who listens here.
        connection.recv(65536)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    fields = struct.pack(">IBIQQI", VERSION, AGENT, os.getpid(), 1, 0, 0)
    connection.sendall(message(GREETING, b"PORTHOLE" + fields + text(token)))
    connection.sendall(message(STARTED, text(b"feed") + text(source[0].encode()) + text(b"none")))
    connection.sendall(message(DESCRIPTION, description(), stream=STREAM))
    begin, count = time.monotonic(), 0
    while (due := begin + count / float(rate)) < begin + float(seconds):
        while (rest := due - time.monotonic()) > 0:
            if select.select([connection], [], [], rest)[0] and not connection.recv(65536):
                return
        is_keyframe, unit = units[count % len(units)]
        flags = KEYFRAME if is_keyframe else 0
        connection.sendall(message(PACKET, unit, flags, time.monotonic_ns(), STREAM))
        count += 1


if __name__ == "__main__":
    main()
