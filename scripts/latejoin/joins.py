#!/usr/bin/python3
"""Times how long a late joiner waits: from connect to the last byte of a picture it can decode.

    joins.py JOINS CONSUMERS-PORT HTTP-PORT

Joins the consumer port, /live.ts, /live.mp4 and the page's WebSocket in turn, JOINS times each, at random
moments (seeded). On the port, the WebSocket and in the MP4 it is a keyframe's last byte. In the
transport stream it is the last byte of the picture that follows the keyframe, since a demuxer gives a
picture out when the next one begins. Prints a line for each: joins, median, 95th percentile and most,
in milliseconds.
"""

import base64
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
PAUSE = 0.3  # seconds between two joins, at most


def read(connection, count):
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            sys.exit("joins: the relay closed a connection")
        data += piece
    return data


def join_packets(connection):
    fields = struct.pack(">IBIQQIH", 2, 3, os.getpid(), 1, 0, 0, 0)
    connection.sendall(HEADER.pack(GREETING, 0, 0, 0, 8 + len(fields)) + b"PORTHOLE" + fields)
    while True:
        kind, flags, _pts, _stream, length = HEADER.unpack(read(connection, HEADER.size))
        read(connection, length)
        if kind == PACKET:
            if not flags & KEYFRAME:
                sys.exit("joins: the first packet was no keyframe")
            return


def request(connection, path, fields=""):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        head += read(connection, 1)


def join_socket(connection):
    key = base64.b64encode(os.urandom(16)).decode()
    fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    request(connection, "/watch", f"{fields}Sec-WebSocket-Key: {key}\r\n")
    while True:
        # RFC 6455, 5.2: what a server sends is not masked, and each message is one frame here.
        length = read(connection, 2)[1]
        if length > 125:
            length = int.from_bytes(read(connection, 2 if length == 126 else 8), "big")
        message = read(connection, length)
        if len(message) < HEADER.size:
            continue
        kind, flags, *_ = HEADER.unpack(message[: HEADER.size])
        if kind == PACKET and flags & KEYFRAME:
            return


def join_movie(connection):
    request(connection, "/live.mp4")
    while True:
        # ISO 14496-12, 4.2: the first mdat is the keyframe's.
        length, kind = struct.unpack(">I4s", read(connection, 8))
        read(connection, length - 8)
        if kind == b"mdat":
            return


def join_container(connection):
    request(connection, "/live.ts")
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
    outputs = {
        "packets": (consumers, join_packets),
        "/live.ts": (http, join_container),
        "/live.mp4": (http, join_movie),
        "WebSocket": (http, join_socket),
    }
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
