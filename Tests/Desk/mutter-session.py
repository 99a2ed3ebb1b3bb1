#!/usr/bin/python3
"""A screencast of mutter's own, by its D-Bus interface and without a portal, and a hand on its pointer.

    mutter-session.py PLAN hidden|embedded|metadata [MONITOR]

Prints "serial N", the screencast's node as PipeWire counts objects, once it is there. Then it does what
the lines of the file PLAN say that were not there before, and prints each when it is done:

    pointer X Y     the pointer goes there, in pixels of the monitor
    turn N          the monitor is turned by N quarters, which ends its screencast
    record          another screencast
"""

import os
import subprocess
import sys

from gi.repository import Gio, GLib

CAST = "org.gnome.Mutter.ScreenCast"
DESK = "org.gnome.Mutter.RemoteDesktop"
DISPLAY = "org.gnome.Mutter.DisplayConfig"
MODES = ("hidden", "embedded", "metadata")


def say(*words):
    print(*words, flush=True)


def path_of(name):
    return "/" + name.replace(".", "/")


class Session:
    def __init__(self, plan, mode, monitor):
        self.plan, self.mode, self.monitor, self.done = plan, mode, monitor, 0
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        self.record()
        GLib.timeout_add(20, self.look)

    def record(self):
        # The pointer can be moved by a session of the remote desktop that the screencast belongs to.
        self.desk = self.call(DESK, path_of(DESK), DESK, "CreateSession")[0]
        identity = self.call(
            DESK, self.desk, "org.freedesktop.DBus.Properties", "Get",
            GLib.Variant("(ss)", (DESK + ".Session", "SessionId")))[0]
        options = {"remote-desktop-session-id": GLib.Variant("s", identity)}
        session = self.call(
            CAST, path_of(CAST), CAST, "CreateSession", GLib.Variant("(a{sv})", (options,)))[0]
        options = {"cursor-mode": GLib.Variant("u", MODES.index(self.mode))}
        self.stream = self.call(
            CAST, session, CAST + ".Session", "RecordMonitor",
            GLib.Variant("(sa{sv})", (self.monitor, options)))[0]
        self.bus.signal_subscribe(
            CAST, CAST + ".Stream", "PipeWireStreamAdded", self.stream, None, 0,
            lambda *event: self.added(event[5].unpack()[0]))
        self.call(DESK, self.desk, DESK + ".Session", "Start")

    def call(self, name, path, interface, method, arguments=None):
        answer = self.bus.call_sync(
            name, path, interface, method, arguments, None, 0, 10000, None)
        return answer.unpack() if answer else ()

    def added(self, node):
        told = subprocess.run(
            ["pw-cli", "info", str(node)], check=True, capture_output=True, text=True).stdout
        serial = next(line for line in told.splitlines() if "object.serial" in line)
        say("serial", serial.split('"')[1])

    def look(self):
        with open(self.plan, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for line in lines[self.done:]:
            word, *numbers = line.split()
            if word == "pointer":
                x, y = map(float, numbers)
                self.call(
                    DESK, self.desk, DESK + ".Session", "NotifyPointerMotionAbsolute",
                    GLib.Variant("(sdd)", (self.stream, x, y)))
            elif word == "turn":
                self.turn(int(numbers[0]))
            elif word == "record":
                self.record()
            say(line)
        self.done = len(lines)
        return True

    def turn(self, quarters):
        serial, monitors, _, _ = self.call(DISPLAY, path_of(DISPLAY), DISPLAY, "GetCurrentState")
        mode = monitors[0][1][0][0]
        logical = [(0, 0, 1.0, quarters, True, [(self.monitor, mode, {})])]
        self.call(
            DISPLAY, path_of(DISPLAY), DISPLAY, "ApplyMonitorsConfig",
            GLib.Variant("(uua(iiduba(ssa{sv}))a{sv})", (serial, 1, logical, {})))


def main():
    plan, mode, *rest = sys.argv[1:]
    Session(plan, mode, rest[0] if rest else "Meta-0")
    GLib.MainLoop().run()


if __name__ == "__main__":
    # An entry of PYTHONPATH that is empty stands for the folder that it is run in.
    os.environ.pop("PYTHONPATH", None)
    main()
