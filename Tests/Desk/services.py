"""What a desktop has beside its portal, as a test says: notifications, a screen saver, logind's session.

    services.py NAME...     the names to own: org.freedesktop.Notifications, org.gnome.ScreenSaver,
                            org.freedesktop.ScreenSaver, org.freedesktop.login1

All are on the bus of DBUS_SESSION_BUS_ADDRESS. What is called stands on standard output, a line each. The
test speaks by org.porthole.Test.Do at /test of any of the names:

    lock, unlock            what owns the session says so; both ways of logind's
    hint yes, hint no       LockedHint alone
    sleep, wake             logind says that the computer is about to, and that it is awake
    press KEY               the button of the notification that stands
    dismiss                 the person closes it
"""

import sys

from gi.repository import Gio, GLib

INTERFACES = Gio.DBusNodeInfo.new_for_xml("""<node>
<interface name="org.freedesktop.Notifications">
  <method name="Notify">
    <arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/>
  </method>
  <method name="CloseNotification"><arg type="u" direction="in"/></method>
</interface>
<interface name="org.gnome.ScreenSaver">
  <method name="GetActive"><arg type="b" direction="out"/></method>
</interface>
<interface name="org.freedesktop.ScreenSaver">
  <method name="GetActive"><arg type="b" direction="out"/></method>
</interface>
<interface name="org.freedesktop.login1.Manager">
  <method name="GetSession"><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
</interface>
<interface name="org.freedesktop.login1.Session">
  <property name="LockedHint" type="b" access="read"/>
</interface>
<interface name="org.porthole.Test"><method name="Do"><arg type="s" direction="in"/></method></interface>
</node>""")
SESSION = "/org/freedesktop/login1/session/_31"
SAVERS = [name for name in sys.argv[1:] if name.endswith("ScreenSaver")]

loop = GLib.MainLoop()
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
locked = False
last = 0  # the number given last
standing = 0  # the one to be seen


def say(*words):
    print(*words, flush=True)


def emit(path, interface, name, form, *values):
    bus.emit_signal(None, path, interface, name, GLib.Variant(form, values) if form else None)


def notify(arguments):
    global last, standing
    _application, replaced, _icon, summary, body, actions, hints, _timeout = arguments
    if replaced == 0 or replaced != standing:
        last += 1
        standing = last
    say("Notify", standing, "replaces", replaced, "|", summary, "|", body, "|", " ".join(actions), "|",
        "urgency", hints.get("urgency"))
    return GLib.Variant("(u)", (standing,))


def closed(reason):
    global standing
    emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "NotificationClosed",
         "(uu)", standing, reason)
    standing = 0


def hint(value):
    global locked
    locked = value
    changes = {"LockedHint": GLib.Variant("b", value)}
    emit(SESSION, "org.freedesktop.DBus.Properties", "PropertiesChanged", "(sa{sv}as)",
         "org.freedesktop.login1.Session", changes, [])


def lock(value):
    global locked
    locked = value
    for name in SAVERS:
        emit("/" + name.replace(".", "/"), name, "ActiveChanged", "(b)", value)
    emit(SESSION, "org.freedesktop.login1.Session", "Lock" if value else "Unlock", None)


def do(words):
    say("do", words)
    verb, *rest = words.split()
    if verb in ("lock", "unlock"):
        lock(verb == "lock")
    elif verb == "hint":
        hint(rest[0] == "yes")
    elif verb in ("sleep", "wake"):
        emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "(b)",
             verb == "sleep")
    elif verb == "press":
        emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "ActionInvoked",
             "(us)", standing, rest[0])
    elif verb == "dismiss":
        closed(2)


def called(_bus, _sender, _path, _interface, method, arguments, invocation):
    values = arguments.unpack()
    result = None
    if method == "Notify":
        result = notify(values)
    elif method == "CloseNotification":
        say("CloseNotification", *values)
        if values[0] == standing:
            closed(3)
    elif method == "GetActive":
        result = GLib.Variant("(b)", (locked,))
    elif method == "GetSession":
        say("GetSession", *values)
        result = GLib.Variant("(o)", (SESSION,))
    else:
        do(values[0])
    invocation.return_value(result)


def read(_bus, _sender, _path, _interface, _name):
    return GLib.Variant("b", locked)


for path, interface in [
    ("/org/freedesktop/Notifications", "org.freedesktop.Notifications"),
    ("/org/gnome/ScreenSaver", "org.gnome.ScreenSaver"),
    ("/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver"),
    ("/org/freedesktop/login1", "org.freedesktop.login1.Manager"),
    (SESSION, "org.freedesktop.login1.Session"),
    ("/test", "org.porthole.Test"),
]:
    bus.register_object(path, INTERFACES.lookup_interface(interface), called, read, None)
left = set(sys.argv[1:])


def owned(_bus, name):
    left.discard(name)
    if not left:
        say("ready")


for name in sys.argv[1:]:
    Gio.bus_own_name_on_connection(
        bus, name, Gio.BusNameOwnerFlags.NONE, owned, lambda *_: loop.quit())
loop.run()
