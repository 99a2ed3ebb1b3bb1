#!/usr/bin/python3
"""Opens a page in a headless browser and evaluates expressions in it, for the tests and by hand.

  browser.py [--firefox] [--trust KEY] [--user NUMBER] URL <expressions

Standard input: one JavaScript expression a line, promises awaited for 20 seconds.
Standard output: a line of JSON for each, {"value": …} or {"error": …}.
--trust: base 64 of the SHA-256 of the public key of a certificate that Chromium shall take; Firefox
takes every one. --user: who runs Chromium, where root asks.

A line may also say "shot FILE" (a screenshot), "go URL", "resize WIDTH HEIGHT" or, in Chromium,
"prefer light" or "prefer dark".
"""

import argparse
import asyncio
import json
import sys

import chromium
import firefox


async def answer(page, line):
    word, *rest = line.split()
    if word == "shot":
        with open(rest[0], "wb") as file:
            file.write(await page.screenshot())
    elif word == "go":
        await page.go(rest[0])
    elif word == "resize":
        await page.resize(int(rest[0]), int(rest[1]))
    elif word == "prefer":
        await page.prefer(rest[0])
    else:
        return await page.evaluate(line)
    return {"value": None}


async def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--firefox", action="store_true")
    options.add_argument("--trust", metavar="KEY")
    options.add_argument("--user", type=int)
    options.add_argument("url")
    chosen = options.parse_args()
    opened = firefox.page() if chosen.firefox else chromium.page(chosen.trust, chosen.user)
    loop = asyncio.get_running_loop()
    async with opened as page:
        await page.go(chosen.url)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            try:
                said = await asyncio.wait_for(answer(page, line.strip()), 20)
            except asyncio.TimeoutError:
                said = {"error": "no answer in 20 s"}
            except ConnectionError as error:
                said = {"error": str(error)}
            print(json.dumps(said), flush=True)


asyncio.run(main())
