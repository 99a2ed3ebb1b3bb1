"""One page of a headless Chromium, by the DevTools protocol."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import urllib.request

import websockets


class Page:
    def __init__(self, socket):
        self.socket = socket
        self.calls = 0

    async def call(self, method, **parameters):
        self.calls += 1
        number = self.calls
        await self.socket.send(
            json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise ConnectionError(f"{method}: {message['error']['message']}")
                return message["result"]

    async def go(self, url):
        await self.call("Page.navigate", url=url)

    async def evaluate(self, expression):
        """{"value"} or {"error"} of a JavaScript expression; a promise is waited for."""
        answer = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True,
            userGesture=True)
        if "exceptionDetails" in answer:
            return {"error": answer["exceptionDetails"].get("exception", {}).get("description")}
        return {"value": answer["result"].get("value")}

    async def resize(self, width, height):
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                        deviceScaleFactor=1, mobile=width < 600)

    async def prefer(self, scheme):
        """`scheme` is light or dark."""
        await self.call("Emulation.setEmulatedMedia",
                        features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def screenshot(self):
        shot = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])


def _debugger(browser):
    """The address of its page, from what the browser says of its port."""
    for line in browser.stderr:
        if "DevTools listening on" in line:
            port = line.split(":")[-1].split("/")[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as pages:
                return next(page["webSocketDebuggerUrl"] for page in json.load(pages)
                            if page["type"] == "page")
    raise ConnectionError("chromium did not start")


@contextlib.asynccontextmanager
async def page(trusted_key=None, user=None):
    """A page of a browser of its own, which ends with it. `trusted_key` is the SHA-256 of a public key,
    in base 64: certificates with it are taken, and no others that no authority vouches for. `user` is
    who runs it, by number, where root asks."""
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio",
             "--window-size=1280,800", "--remote-debugging-port=0"]
    if trusted_key:
        words += [f"--ignore-certificate-errors-spki-list={trusted_key}"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        if user:
            os.chown(home, user, user)
            words = ["setpriv", "--reuid", str(user), "--clear-groups", *words]
        browser = subprocess.Popen(
            [*words, f"--user-data-dir={home}/profile", "about:blank"],
            env={**os.environ, "HOME": home, "TMPDIR": home}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            async with websockets.connect(_debugger(browser), max_size=None) as socket:
                yield Page(socket)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
