"""Reads the relay's packets from its consumer port: docs/protocol.md, in Python."""

import os
import socket
import struct

HEADER = struct.Struct(">IIqII")  # kind, flags, pts, stream, length
GREETING, REFUSAL, FINISHED, PACKET = 1, 2, 4, 18
CONSUMER, VERSION = 3, 2


def packets(host, port):
    """Yields the payload of each packet: one access unit in Annex B."""
    connection = socket.create_connection((host, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    greeting = b"PORTHOLE" + struct.pack(">IBIQQIH", VERSION, CONSUMER, os.getpid(), 1, 0, 0, 0)
    connection.sendall(HEADER.pack(GREETING, 0, 0, 0, len(greeting)) + greeting)
    reader = connection.makefile("rb", buffering=1 << 20)
    while head := reader.read(HEADER.size):
        kind, _flags, _pts, _stream, length = HEADER.unpack(head)
        payload = reader.read(length)
        if kind == PACKET:
            yield payload
        elif kind in (REFUSAL, FINISHED):
            raise ConnectionError(f"the relay ended it: {payload[4:].decode(errors='replace')}")
