"""One page of a headless Firefox, by WebDriver BiDi."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import tempfile

import websockets


class Page:
    def __init__(self, socket):
        self.socket = socket
        self.calls = 0
        self.context = None

    async def call(self, method, **parameters):
        self.calls += 1
        number = self.calls
        await self.socket.send(
            json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self.socket.recv())
            if message.get("id") == number:
                if message["type"] == "error":
                    raise ConnectionError(f"{method}: {message['message']}")
                return message["result"]

    async def begin(self):
        # As a user does who looks at the fingerprint and goes on.
        await self.call("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        tree = await self.call("browsingContext.getTree")
        self.context = tree["contexts"][0]["context"]

    async def go(self, url):
        await self.call("browsingContext.navigate", context=self.context, url=url, wait="none")

    async def evaluate(self, expression):
        """{"value"} or {"error"} of a JavaScript expression; a promise is waited for."""
        answer = await self.call(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})) ?? 'null')()",
            target={"context": self.context}, awaitPromise=True)
        if answer["type"] == "exception":
            return {"error": answer["exceptionDetails"]["text"]}
        return {"value": json.loads(answer["result"]["value"])}

    async def resize(self, width, height):
        await self.call("browsingContext.setViewport", context=self.context,
                        viewport={"width": width, "height": height})

    async def screenshot(self):
        shot = await self.call("browsingContext.captureScreenshot", context=self.context)
        return base64.b64decode(shot["data"])


def _debugger(browser):
    for line in browser.stderr:
        if "WebDriver BiDi listening on" in line:
            return line.split()[-1] + "/session"
    raise ConnectionError("firefox did not start")


@contextlib.asynccontextmanager
async def page():
    """A page of a browser of its own, which ends with it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", home,
             "--remote-debugging-port", "0", "about:blank"],
            env={**os.environ, "HOME": home, "TMPDIR": home}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            async with websockets.connect(_debugger(browser), max_size=None) as socket:
                page = Page(socket)
                await page.begin()
                yield page
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
