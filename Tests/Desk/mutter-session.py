#!/usr/bin/python3
"""A screencast of mutter's own, by its D-Bus interface and without a portal, and a hand on its pointer.

    mutter-session.py PLAN hidden|embedded|metadata

Prints "serial N", the screencast's node as PipeWire counts objects, each time that there is another, and
"closed" when mutter ends one. It does what the lines of the file PLAN say that were not there before, and
prints "did" and the line when that is done:

    pointer X Y         the pointer goes there, in pixels of the monitor
    turn N              the first monitor is turned by N quarters, which ends its screencast
    monitors NAME...    these are on, side by side, and no others
    power N             how much they save: 0 nothing, 3 all, as when the desktop is idle
    record              another screencast of what was recorded last
    record NAME         one of that monitor
    record window       one of the window that has the focus
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
    def __init__(self, plan, mode):
        self.plan, self.mode, self.source, self.done = plan, mode, "Meta-0", 0
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        self.bus.signal_subscribe(
            CAST, CAST + ".Session", "Closed", None, None, 0, lambda *_: say("closed"))
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
        if self.source == "window":
            method, arguments = "RecordWindow", GLib.Variant("(a{sv})", (options,))
        else:
            method, arguments = "RecordMonitor", GLib.Variant("(sa{sv})", (self.source, options))
        self.stream = self.call(CAST, session, CAST + ".Session", method, arguments)[0]
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
            word, *values = line.split()
            if word == "pointer":
                x, y = map(float, values)
                self.call(
                    DESK, self.desk, DESK + ".Session", "NotifyPointerMotionAbsolute",
                    GLib.Variant("(sdd)", (self.stream, x, y)))
            elif word == "turn":
                self.apply(["Meta-0"], int(values[0]))
            elif word == "monitors":
                self.apply(values)
            elif word == "power":
                mode = GLib.Variant("(ssv)", (DISPLAY, "PowerSaveMode", GLib.Variant("i", int(values[0]))))
                self.call(
                    DISPLAY, path_of(DISPLAY), "org.freedesktop.DBus.Properties", "Set", mode)
            elif word == "record":
                self.source = values[0] if values else self.source
                self.record()
            say("did", line)
        self.done = len(lines)
        return True

    def apply(self, names, quarters=0):
        serial, monitors, _, _ = self.call(DISPLAY, path_of(DISPLAY), DISPLAY, "GetCurrentState")
        modes = {monitor[0][0]: monitor[1][0] for monitor in monitors}
        logical, x = [], 0
        for name in names:
            mode, width = modes[name][:2]
            logical.append((x, 0, 1.0, quarters, x == 0, [(name, mode, {})]))
            x += width
        self.call(
            DISPLAY, path_of(DISPLAY), DISPLAY, "ApplyMonitorsConfig",
            GLib.Variant("(uua(iiduba(ssa{sv}))a{sv})", (serial, 1, logical, {})))


def main():
    Session(*sys.argv[1:])
    GLib.MainLoop().run()


if __name__ == "__main__":
    # An entry of PYTHONPATH that is empty stands for the folder that it is run in.
    os.environ.pop("PYTHONPATH", None)
    main()
