#!/usr/bin/env python3
"""Opens a page in headless Chromium and evaluates expressions in it, for the tests and by hand.

  browser.py URL <expressions

Standard input: one JavaScript expression a line, promises awaited for 20 seconds.
Standard output: a line of JSON for each, {"value": …} or {"error": …}.
A line "shot FILE" writes a screenshot.
"""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request

import websockets


class Page:
    """The one page of a browser, by the DevTools protocol."""

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
                return message["result"]

    async def answer(self, line):
        if line.startswith("shot "):
            shot = await self.call("Page.captureScreenshot", format="png")
            with open(line[5:], "wb") as file:
                file.write(base64.b64decode(shot["data"]))
            return {"value": None}
        answer = await self.call(
            "Runtime.evaluate", expression=line, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            return {"error": answer["exceptionDetails"].get("exception", {}).get("description")}
        return {"value": answer["result"].get("value")}


def debugger(browser):
    """The address of its page, from what the browser says of its port."""
    for line in browser.stderr:
        if "DevTools listening on" in line:
            port = line.split(":")[-1].split("/")[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as pages:
                return next(page["webSocketDebuggerUrl"] for page in json.load(pages)
                            if page["type"] == "page")
    sys.exit("chromium did not start")


async def evaluate(address, url):
    async with websockets.connect(address, max_size=None) as socket:
        page = Page(socket)
        await page.call("Page.navigate", url=url)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            try:
                answer = await asyncio.wait_for(page.answer(line.strip()), 20)
            except asyncio.TimeoutError:
                answer = {"error": "no answer in 20 s"}
            print(json.dumps(answer), flush=True)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio",
             "--window-size=1280,800", "--remote-debugging-port=0",
             f"--user-data-dir={home}/profile", "about:blank"],
            env={**os.environ, "HOME": home, "TMPDIR": home}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True)
        try:
            asyncio.run(evaluate(debugger(browser), sys.argv[1]))
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()


main()
