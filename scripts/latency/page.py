"""When the flipping square is seen on the canvas of the page, in a real browser."""

import asyncio
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import chromium  # noqa: E402

# After each picture that the page draws: its time and the square's colour, read back from the canvas.
WATCH = """
(() => {
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  window.seen = [];
  CanvasRenderingContext2D.prototype.drawImage = function (...words) {
    draw.apply(this, words);
    const level = this.getImageData(%d, %d, 1, 1).data[1];
    window.seen.push([performance.now(), level]);
  };
})()
"""


async def _value(page, expression):
    return (await page.evaluate(expression))["value"]


async def _clock_offset(page):
    """Milliseconds of CLOCK_MONOTONIC at the page's time 0: of many questions the shortest tells."""
    best = None
    for _ in range(50):
        before = time.monotonic_ns()
        now = await _value(page, "performance.now()")
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) / 2e6 - now)
    return best[1]


async def _watch(url, x, y, seconds):
    async with chromium.page() as page:
        await page.go(url)
        while not await _value(page, "document.getElementById('canvas')?.width > 1"):
            await asyncio.sleep(0.05)
        offset = await _clock_offset(page)
        await page.evaluate(WATCH % (x, y))
        await asyncio.sleep(seconds)
        return [(round((at + offset) * 1e6), level) for at, level in await _value(page, "window.seen")]


def levels(url, x, y, seconds):
    """(nanoseconds of CLOCK_MONOTONIC, green of the pixel at x, y) of each picture drawn."""
    return asyncio.run(_watch(url, x, y, seconds))
