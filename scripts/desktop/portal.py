#!/usr/bin/python3
"""Asks the portal for the screen and runs a program that takes it.

    portal.py COMMAND...

In COMMAND {fd} becomes the inherited descriptor of the portal's PipeWire connection and {node} the
number of the screen's node there. The exit code is the command's, or 69 without a portal and 77 if
it says no. This is what a peer of ours needs to capture the same desktop; it needs python3-gi.
"""

import os
import signal
import subprocess
import sys
import time

from gi.repository import Gio, GLib

BUS, PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
SCREEN_CAST = "org.freedesktop.portal.ScreenCast"
MONITOR, EMBEDDED_CURSOR = 1, 2


class Portal:
    def __init__(self):
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        self.sender = self.bus.get_unique_name()[1:].replace(".", "_")
        self.asked = 0

    def call(self, method, signature, *arguments):
        body = GLib.Variant(signature, arguments)
        return self.bus.call_sync(BUS, PATH, SCREEN_CAST, method, body, None, 0, 10000, None)

    def ask(self, method, signature, *arguments, **options):
        """Calls a method that answers through a Request object, and returns the results."""
        self.asked += 1
        token = f"peer{self.asked}"
        loop, answer = GLib.MainLoop(), []

        def take(_bus, _sender, _path, _interface, _signal, parameters):
            answer[:] = parameters.unpack()
            loop.quit()

        request = f"{PATH}/request/{self.sender}/{token}"
        interface = "org.freedesktop.portal.Request"
        watch = self.bus.signal_subscribe(BUS, interface, "Response", request, None, 0, take)
        options["handle_token"] = GLib.Variant("s", token)
        self.call(method, signature, *arguments, options)
        GLib.timeout_add_seconds(20, loop.quit)
        if not answer:
            loop.run()
        self.bus.signal_unsubscribe(watch)
        if not answer or answer[0] != 0:
            print(f"portal: {method}: {'refused' if answer else 'no answer'}", file=sys.stderr)
            sys.exit(77)
        return answer[1]

    def open_screen(self):
        """The descriptor of a PipeWire connection and the node of the screen."""
        name = GLib.Variant("s", "peer")
        created = self.ask("CreateSession", "(a{sv})", session_handle_token=name)
        session = created["session_handle"]
        kinds, cursor = GLib.Variant("u", MONITOR), GLib.Variant("u", EMBEDDED_CURSOR)
        self.ask("SelectSources", "(oa{sv})", session, types=kinds, cursor_mode=cursor)
        streams = self.ask("Start", "(osa{sv})", session, "")["streams"]
        body = GLib.Variant("(oa{sv})", (session, {}))
        _, descriptors = self.bus.call_with_unix_fd_list_sync(
            BUS, PATH, SCREEN_CAST, "OpenPipeWireRemote", body, None, 0, 10000, None, None
        )
        return descriptors.get(0), streams[0][0]


def main():
    try:
        portal = Portal()  # the session lives as long as its connection
        descriptor, node = portal.open_screen()
    except GLib.Error as error:
        print(f"portal: {error.message}", file=sys.stderr)
        sys.exit(69)
    words = [word.replace("{fd}", str(descriptor)) for word in sys.argv[1:]]
    words = [word.replace("{node}", str(node)) for word in words]
    child = subprocess.Popen(words, pass_fds=[descriptor])
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    code = child.wait()
    # The wlr backend 0.7.0 can crash where a session ends with frames under way.
    time.sleep(0.3)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
