"""A desktop's portal backend that does as a test says: ScreenCast, Inhibit and Access (whether a camera
may be used) behind the real xdg-desktop-portal.

    portal-backend.py PLAN [CURSOR-MODES]

PLAN is a file that is read anew at each Start. Its lines are `name value`:

    answer WORD     accept, cancel, other, silence, none (no stream) or blank (no results at all)
    after SECONDS   thinks so long about it
    node NAME       the PipeWire node that is shared
    place X Y       where on the desktop the monitor is that it shows
    second NAME     another one beside it, as a stream of its own
    id NUMBER       says this id instead of the node's
    serial NUMBER   says this serial, where none is said otherwise
    persist no      gives no permission for the next time
    camera WORD     accept, cancel or other, to a question about the camera

Each restore datum is good for one start that is accepted; with a stale one the user is asked. What is called stands on
standard output, a line each. SIGUSR1 takes all permissions back.
"""

import json
import signal
import subprocess
import sys

from gi.repository import Gio, GLib

NAME = "org.freedesktop.impl.portal.desktop.test"
OBJECT = "/org/freedesktop/portal/desktop"
SESSION = "org.freedesktop.impl.portal.Session"

INTERFACES = Gio.DBusNodeInfo.new_for_xml("""<node>
<interface name="org.freedesktop.impl.portal.ScreenCast">
  <method name="CreateSession">
    <arg type="o" direction="in"/><arg type="o" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{sv}" direction="in"/>
    <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/>
  </method>
  <method name="SelectSources">
    <arg type="o" direction="in"/><arg type="o" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{sv}" direction="in"/>
    <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/>
  </method>
  <method name="Start">
    <arg type="o" direction="in"/><arg type="o" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
    <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/>
  </method>
  <property name="AvailableSourceTypes" type="u" access="read"/>
  <property name="AvailableCursorModes" type="u" access="read"/>
  <property name="version" type="u" access="read"/>
</interface>
<interface name="org.freedesktop.impl.portal.Inhibit">
  <method name="Inhibit">
    <arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="u" direction="in"/><arg type="a{sv}" direction="in"/>
  </method>
  <method name="CreateMonitor">
    <arg type="o" direction="in"/><arg type="o" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="u" direction="out"/>
  </method>
  <method name="QueryEndResponse"><arg type="o" direction="in"/></method>
</interface>
<interface name="org.freedesktop.impl.portal.Access">
  <method name="AccessDialog">
    <arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{sv}" direction="in"/>
    <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/>
  </method>
</interface>
<interface name="org.freedesktop.impl.portal.Session">
  <method name="Close"/><signal name="Closed"/>
  <property name="version" type="u" access="read"/>
</interface>
<interface name="org.freedesktop.impl.portal.Request"><method name="Close"/></interface>
</node>""")
PROPERTIES = {
    "AvailableSourceTypes": GLib.Variant("u", 3),
    "AvailableCursorModes": GLib.Variant("u", int(sys.argv[2]) if len(sys.argv) > 2 else 3),
    "version": GLib.Variant("u", 4),
}

loop = GLib.MainLoop()
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
sessions = {}  # path: (registration, options of SelectSources)
good = set()  # restore data that were given out and not used
count = 0


def say(*words):
    print(*words, flush=True)


def plan():
    lines = open(sys.argv[1]).read().splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)


def node_numbers(name):
    """The id and the serial of a node."""
    for thing in json.loads(subprocess.check_output(["pw-dump"])):
        properties = (thing.get("info") or {}).get("props") or {}
        if properties.get("node.name") == name:
            return thing["id"], properties["object.serial"]
    say("no node", name)
    return 0, 0


def export(path, interface, call):
    def called(_bus, _sender, _path, _interface, method, arguments, invocation):
        call(method, arguments.unpack(), invocation)

    def read(_bus, _sender, _path, _interface, name):
        return PROPERTIES[name]

    return bus.register_object(path, INTERFACES.lookup_interface(interface), called, read, None)


def close(path):
    registration, _ = sessions.pop(path)
    bus.unregister_object(registration)


def create_session(arguments):
    path = arguments[1]

    def call(method, _arguments, invocation):
        say("Session.Close")
        close(path)
        invocation.return_value(None)

    sessions[path] = (export(path, SESSION, call), {})
    return 0, {}


def start(arguments):
    global count
    wish = plan()
    registration, options = sessions[arguments[1]]
    restored = options.get("restore_data", ("", 0, ""))[2]
    how = "restored" if restored in good else "stale" if restored else "asked"
    word = wish.get("answer", "accept")
    say("Start", word, how)
    if word in ("cancel", "other"):
        return 1 if word == "cancel" else 2, {}
    if word == "silence":
        return None
    if word == "blank":
        return 0, {}
    identity, serial = node_numbers(wish["node"]) if "node" in wish else (0, 0)
    properties = {"source_type": GLib.Variant("u", 1), "size": GLib.Variant("(ii)", (640, 480))}
    if "place" in wish:
        properties["position"] = GLib.Variant("(ii)", tuple(map(int, wish["place"].split())))
    if "serial" in wish:
        properties["pipewire-serial"] = GLib.Variant("t", int(wish["serial"]))
    streams = [] if word == "none" else [(int(wish.get("id", identity)), properties)]
    if "second" in wish:
        streams.append((node_numbers(wish["second"])[0], {}))
    good.discard(restored)
    results = {"streams": GLib.Variant("a(ua{sv})", streams)}
    if options.get("persist_mode") and wish.get("persist") != "no":
        count += 1
        datum = f"{serial}.{count}"
        good.add(datum)
        results["persist_mode"] = GLib.Variant("u", 2)
        results["restore_data"] = GLib.Variant("(suv)", ("test", 1, GLib.Variant("s", datum)))
    return 0, results


def screen_cast(method, arguments, invocation):
    if method == "CreateSession":
        answer = create_session(arguments)
    elif method == "SelectSources":
        options = arguments[3]
        say("SelectSources", "types", options.get("types"), "cursor", options.get("cursor_mode"))
        sessions[arguments[1]] = (sessions[arguments[1]][0], options)
        answer = 0, {}
    else:
        answer = start(arguments)
    if answer is None:
        return

    def reply():
        invocation.return_value(GLib.Variant("(ua{sv})", answer))
        return False

    delay = float(plan().get("after", 0)) if method == "Start" else 0
    GLib.timeout_add(int(delay * 1000), reply)


def inhibit(method, arguments, invocation):
    if method == "Inhibit":
        path, _application, _window, flags, options = arguments

        def call(_method, _arguments, closing):
            say("Inhibit.Close")
            bus.unregister_object(registration)
            closing.return_value(None)

        registration = export(path, "org.freedesktop.impl.portal.Request", call)
        say("Inhibit", flags, options.get("reason"))
        invocation.return_value(None)
    elif method == "CreateMonitor":
        invocation.return_value(GLib.Variant("(u)", (2,)))
    else:
        invocation.return_value(None)


def access(_method, _arguments, invocation):
    word = plan().get("camera", "accept")
    say("Access", word)
    code = {"accept": 0, "cancel": 1}.get(word, 2)
    invocation.return_value(GLib.Variant("(ua{sv})", (code, {})))


def revoke():
    for path in list(sessions):
        bus.emit_signal(None, path, SESSION, "Closed", None)
        close(path)
    say("revoked")
    return True


export(OBJECT, "org.freedesktop.impl.portal.ScreenCast", screen_cast)
export(OBJECT, "org.freedesktop.impl.portal.Inhibit", inhibit)
export(OBJECT, "org.freedesktop.impl.portal.Access", access)
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGUSR1, revoke)
Gio.bus_own_name_on_connection(
    bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: say("ready"), lambda *_: loop.quit())
loop.run()
