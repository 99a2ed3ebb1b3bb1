"""A Wayland client of one window, spoken straight to the compositor's socket.

It knows just what a test window needs: shared-memory buffers, damage, one xdg toplevel. Numbers in
messages are in host byte order, and every object is an integer, as the protocol has them.
"""

import mmap
import os
import socket
import struct
import time

DISPLAY = 1
XRGB8888 = 1
# (interface, highest version spoken here)
GLOBALS = {"wl_compositor": 4, "wl_shm": 1, "xdg_wm_base": 1}


class Buffer:
    """One picture shared with the compositor; `busy` from its attach until its release."""

    def __init__(self, identity, pixels, width, height):
        self.identity, self.pixels = identity, pixels
        self.width, self.height, self.stride = width, height, width * 4
        self.busy = False


class Window:
    """One mapped toplevel window, of the size that the compositor gives it when it appears."""

    def __init__(self, title, fallback=(1280, 720)):
        self._socket = socket.socket(socket.AF_UNIX)
        name = os.environ.get("WAYLAND_DISPLAY", "wayland-0")
        self._socket.connect(os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), name))
        self._next, self._unread, self._names = 2, b"", {}
        self._buffers, self.closed = {}, False
        self._given, self._configured = None, False
        self._bind_globals()
        self._make_toplevel(title)
        while not self._configured:
            self.dispatch(None)
        self.width, self.height = fallback
        # A compositor that tiles gives the size only once there is something to see; one that lets
        # the window choose never does.
        if not self._given:
            self.show(self.buffers(1)[0], [(0, 0, *fallback)])
        deadline = time.monotonic() + 0.5
        while not self._given and time.monotonic() < deadline:
            self.dispatch(0.05)
        self.width, self.height = self._given or fallback

    def resize(self, width, height):
        """The size of the pictures that follow, where the compositor leaves it to the window."""
        self.width, self.height = width, height

    def fileno(self):
        return self._socket.fileno()

    def buffers(self, count):
        """`count` buffers of the window's size, black at first."""
        size = self.width * self.height * 4
        fd = os.memfd_create("window")
        os.ftruncate(fd, size * count)
        memory = memoryview(mmap.mmap(fd, size * count))
        pool = self._new()
        self._send(self._names["wl_shm"], 0, struct.pack("=Ii", pool, size * count), fd)
        os.close(fd)
        made = []
        for index in range(count):
            identity = self._new()
            shape = (identity, size * index, self.width, self.height, self.width * 4, XRGB8888)
            self._send(pool, 0, struct.pack("=IiiiiI", *shape))
            pixels = memory[size * index : size * (index + 1)]
            made.append(Buffer(identity, pixels, self.width, self.height))
            self._buffers[identity] = made[-1]
        return made

    def show(self, buffer, damage):
        """Puts `buffer` on the screen; `damage` lists what changed as (x, y, width, height)."""
        self._send(self._surface, 1, struct.pack("=Iii", buffer.identity, 0, 0))
        for rectangle in damage:
            self._send(self._surface, 9, struct.pack("=iiii", *rectangle))
        self._send(self._surface, 6)
        buffer.busy = True

    def dispatch(self, timeout):
        """Handles what the compositor has sent, waiting `timeout` seconds (None: for ever)."""
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            return
        if not data:
            raise ConnectionError("the compositor closed the connection")
        self._unread += data
        while len(self._unread) >= 8:
            sender, word = struct.unpack_from("=II", self._unread)
            size = word >> 16
            if len(self._unread) < size:
                break
            body, self._unread = self._unread[8:size], self._unread[size:]
            self._event(sender, word & 0xFFFF, body)

    def _event(self, sender, opcode, body):
        if sender == DISPLAY and opcode == 0:
            _, code, length = struct.unpack_from("=III", body)
            raise ConnectionError(f"protocol error {code}: {body[12:11 + length].decode()}")
        if sender in self._buffers and opcode == 0:
            self._buffers[sender].busy = False
        elif sender == self._registry and opcode == 0:
            name, length = struct.unpack_from("=II", body)
            interface = body[8 : 7 + length].decode()
            if interface in GLOBALS:
                self._names[interface] = self._bind(name, interface, GLOBALS[interface])
        elif sender == self._sync:
            self._sync = None
        elif sender == self._names.get("xdg_wm_base") and opcode == 0:
            self._send(sender, 3, body[:4])
        elif sender == self._toplevel and opcode == 0:
            self._given = struct.unpack_from("=ii", body) if any(body[:8]) else None
        elif sender == self._toplevel and opcode == 1:
            self.closed = True
        elif sender == self._xdg_surface and opcode == 0:
            self._send(sender, 4, body[:4])
            self._configured = True

    def _bind_globals(self):
        self._toplevel = self._xdg_surface = None
        self._registry, self._sync = self._new(), self._new()
        self._send(DISPLAY, 1, struct.pack("=I", self._registry))
        self._send(DISPLAY, 0, struct.pack("=I", self._sync))
        while self._sync:
            self.dispatch(None)
        missing = sorted(set(GLOBALS) - set(self._names))
        if missing:
            raise ConnectionError(f"the compositor lacks {', '.join(missing)}")

    def _make_toplevel(self, title):
        self._surface, self._xdg_surface, toplevel = self._new(), self._new(), self._new()
        self._send(self._names["wl_compositor"], 0, struct.pack("=I", self._surface))
        pair = struct.pack("=II", self._xdg_surface, self._surface)
        self._send(self._names["xdg_wm_base"], 2, pair)
        self._send(self._xdg_surface, 1, struct.pack("=I", toplevel))
        self._toplevel = toplevel
        self._send(toplevel, 2, _string(title))
        self._send(toplevel, 3, _string("porthole." + title.replace(" ", "-")))
        self._send(self._surface, 6)

    def _bind(self, name, interface, version):
        identity = self._new()
        body = struct.pack("=I", name) + _string(interface)
        self._send(self._registry, 0, body + struct.pack("=II", version, identity))
        return identity

    def _new(self):
        self._next += 1
        return self._next - 1

    def _send(self, target, opcode, body=b"", fd=None):
        message = struct.pack("=II", target, (8 + len(body)) << 16 | opcode) + body
        self._socket.settimeout(None)
        if fd is None:
            self._socket.sendall(message)
        else:
            socket.send_fds(self._socket, [message], [fd])


def _string(text):
    data = text.encode() + b"\0"
    return struct.pack("=I", len(data)) + data + bytes(-len(data) % 4)
