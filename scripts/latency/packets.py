"""Reads the relay's packets from its consumer port: docs/protocol.md, in Python."""

import math
import os
import socket
import struct
import time

HEADER = struct.Struct(">IIqII")  # kind, flags, pts, stream, length
GREETING, REFUSAL, FINISHED, PACKET = 1, 2, 4, 18
CONSUMER, VERSION = 3, 2


def packets(host, port):
    """Yields the payload of each packet: one access unit in Annex B."""
    for _pts, payload in timed(host, port):
        yield payload


def timed(host, port, seconds=math.inf):
    """Yields PTS (nanoseconds) and payload of each packet, for so long; the relay is never silent for more
    than a second."""
    end = time.monotonic() + seconds
    connection = socket.create_connection((host, port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    greeting = b"PORTHOLE" + struct.pack(">IBIQQIH", VERSION, CONSUMER, os.getpid(), 1, 0, 0, 0)
    connection.sendall(HEADER.pack(GREETING, 0, 0, 0, len(greeting)) + greeting)
    reader = connection.makefile("rb", buffering=1 << 20)
    while (head := reader.read(HEADER.size)) and time.monotonic() < end:
        kind, _flags, pts, _stream, length = HEADER.unpack(head)
        payload = reader.read(length)
        if kind == PACKET:
            yield pts, payload
        elif kind in (REFUSAL, FINISHED):
            raise ConnectionError(f"the relay ended it: {payload[4:].decode(errors='replace')}")
