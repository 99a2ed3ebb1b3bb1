#!/usr/bin/python3
"""Stands between the portal's wlr backend and the compositor, and names a DMA-BUF format.

    screencopy-shm.py SOCKET COMPOSITOR-SOCKET

xdg-desktop-portal-wlr 0.7.0 and 0.7.1 take a screencopy frame only if the compositor offers it as a
DMA-BUF too, although they then go on with shared memory. A compositor that renders on the CPU offers
none. So behind each zwlr_screencopy_frame_v1.buffer this program puts a linux_dmabuf event of the
same size.

The backend also asks for each picture with copy_with_damage, which waits until something moves that
this backend has not seen yet. A capture that follows another one on a still screen would wait for
ever. So the first pictures of a capture are asked for with a plain copy, which comes at once; the
very first may be lost, where the graph is not ready for it yet. A first one is known by the frame of
its output before it, which went without a picture: one made to learn the format, or one that still
waited when its capture ended.

All else passes as it is, file descriptors included; pictures do not go through here. It may go with
the first Debian whose backend does neither. Ends on TERM.
"""

import os
import selectors
import signal
import socket
import struct
import sys

MANAGER = b"zwlr_screencopy_manager_v1\0"
# wl_shm numbers these two formats 0 and 1; every other one has its fourcc for a number.
FOURCC = {0: 0x34325241, 1: 0x34325258}
REGISTRY_BIND, CAPTURE_OUTPUT, CAPTURE_REGION = 0, 0, 1  # requests
FRAME_COPY, FRAME_DESTROY, FRAME_COPY_WITH_DAMAGE = 0, 1, 2  # requests
FRAME_BUFFER, FRAME_READY, FRAME_LINUX_DMABUF = 0, 2, 5  # events
HEADER = struct.Struct("=II")
FIRST_PICTURES = 4


class Objects:
    """The object numbers of one connection that this program has to know."""

    def __init__(self):
        self.managers, self.ready = set(), set()
        self.frames = {}  # and the output of each
        self.given = {}  # how many pictures of each output there have been of its capture

    def request(self, target, opcode, message):
        if target in self.managers and opcode in (CAPTURE_OUTPUT, CAPTURE_REGION):
            frame, _, output = struct.unpack_from("=IiI", message, 8)
            self.frames[frame] = output
        elif target in self.frames and opcode == FRAME_DESTROY:
            output = self.frames.pop(target)
            self.given[output] = self.given.get(output, 0) + 1 if target in self.ready else 0
            self.ready.discard(target)
        elif (
            opcode == FRAME_COPY_WITH_DAMAGE
            and target in self.frames
            and self.given.get(self.frames[target], 0) < FIRST_PICTURES
        ):
            return HEADER.pack(target, len(message) << 16 | FRAME_COPY) + message[HEADER.size :]
        elif opcode == REGISTRY_BIND and message[16 : 16 + len(MANAGER)] == MANAGER:
            version, identity = struct.unpack_from("=II", message, len(message) - 8)
            if version >= 3:  # linux_dmabuf is an event of version 3
                self.managers.add(identity)
        return message

    def event(self, sender, opcode, message):
        if sender in self.frames and opcode == FRAME_READY:
            self.ready.add(sender)
        if sender not in self.frames or opcode != FRAME_BUFFER:
            return message
        shm_format, width, height, _ = struct.unpack_from("=IIII", message, 8)
        head = HEADER.pack(sender, 20 << 16 | FRAME_LINUX_DMABUF)
        return message + head + struct.pack("=III", FOURCC.get(shm_format, shm_format), width, height)


class Way:
    """One direction of one connection: whole messages go from `source` to `target` by `change`."""

    def __init__(self, source, target, change):
        self.source, self.target, self.change = source, target, change
        self.unread, self.descriptors = b"", []

    def carry(self):
        """Passes on what is there; False when the source has ended."""
        data, descriptors, _, _ = socket.recv_fds(self.source, 65536, 28)
        self.descriptors += descriptors
        self.unread += data
        out = bytearray()
        while len(self.unread) >= HEADER.size:
            target, word = HEADER.unpack_from(self.unread)
            size = max(word >> 16, HEADER.size)
            if len(self.unread) < size:
                break
            message, self.unread = self.unread[:size], self.unread[size:]
            out += self.change(target, word & 0xFFFF, message)
        if out:
            self.send(out)
        return bool(data)

    def send(self, out):
        # A descriptor travels with the first byte that is sent, so it may wait for its message.
        sent = socket.send_fds(self.target, [out], self.descriptors) if self.descriptors else 0
        self.forget()
        self.target.sendall(out[sent:])

    def forget(self):
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


def main():
    listen_at, compositor = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(listen_at)
    listener.listen()
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)

    def accept():
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(compositor)
        except OSError as error:
            print(f"screencopy: {compositor}: {error}", file=sys.stderr)
            client.close()
            server.close()
            return
        objects = Objects()
        ready.register(client, selectors.EVENT_READ, Way(client, server, objects.request))
        ready.register(server, selectors.EVENT_READ, Way(server, client, objects.event))

    while True:
        for key, _ in ready.select():
            if key.data is None:
                accept()
                continue
            way = key.data
            if way.source.fileno() < 0:  # closed with its other direction, a moment ago
                continue
            try:
                goes_on = way.carry()
            except OSError as error:
                print(f"screencopy: {error}", file=sys.stderr)
                goes_on = False
            if not goes_on:
                for end in (way.source, way.target):
                    ready.get_key(end).data.forget()
                    ready.unregister(end)
                    end.close()


if __name__ == "__main__":
    main()
