#!/usr/bin/python3
"""Times how long a late joiner waits: from connect to the last byte of a picture it can decode.

    joins.py JOINS CONSUMERS-PORT HTTP-PORT

Joins the consumer port and /live.ts in turn, JOINS times each, at random moments (seeded). On the
port that is a keyframe's last byte. In the transport stream it is the last byte of the picture that
follows the keyframe, since a demuxer gives a picture out when the next one begins. Prints a line
for each: joins, median, 95th percentile and most, in milliseconds.
"""

import os
import random
import socket
import statistics
import struct
import sys
import time

HEADER = struct.Struct(">IIqII")  # kind, flags, pts, stream, length
GREETING, PACKET, KEYFRAME = 1, 18, 1
TS_PACKET, PICTURE_PID = 188, 0x100
PATIENCE = 10  # seconds
PAUSE = 0.6  # seconds between two joins, at most


def read(connection, count):
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            sys.exit("joins: the relay closed a connection")
        data += piece
    return data


def join_packets(connection):
    fields = struct.pack(">IBIQQIH", 1, 3, os.getpid(), 1, 0, 0, 0)
    connection.sendall(HEADER.pack(GREETING, 0, 0, 0, 8 + len(fields)) + b"PORTHOLE" + fields)
    while True:
        kind, flags, _pts, _stream, length = HEADER.unpack(read(connection, HEADER.size))
        read(connection, length)
        if kind == PACKET:
            if not flags & KEYFRAME:
                sys.exit("joins: the first packet was no keyframe")
            return


def join_container(connection):
    connection.sendall(b"GET /live.ts HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        head += read(connection, 1)
    pictures = 0
    # The second picture is small and fills its packets up: it is whole when its last one is.
    while True:
        packet = read(connection, TS_PACKET)
        pid = struct.unpack(">H", packet[1:3])[0] & 0x1FFF
        if pid == PICTURE_PID and packet[1] & 0x40:
            pictures += 1
            if pictures == 2:
                return


def main():
    joins, consumers, http = map(int, sys.argv[1:])
    numbers = random.Random(4)
    outputs = {"packets": (consumers, join_packets), "/live.ts": (http, join_container)}
    times = {name: [] for name in outputs}
    for _ in range(joins):
        for name, (port, join) in outputs.items():
            time.sleep(numbers.uniform(0, PAUSE))
            begin = time.monotonic()
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                join(connection)
            times[name].append((time.monotonic() - begin) * 1000)
    for name, found in times.items():
        most = statistics.quantiles(found, n=20)[18]
        figures = (statistics.median(found), most, max(found))
        print(name, len(found), *(f"{figure:.1f}" for figure in figures), sep="\t")


if __name__ == "__main__":
    main()
