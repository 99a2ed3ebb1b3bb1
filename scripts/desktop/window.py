#!/usr/bin/python3
"""A window to broadcast, whose picture can be read back at the far end.

    window.py still      colour patches and text; nothing changes after the first picture
    window.py counter    the same, with a counter and colour bars that move over it
    window.py full       the counter on a picture that scrolls as a whole
    window.py typing     one letter more in each picture, on a page that begins anew when it is full

--flips makes a square turn black and white at uneven times and prints for each, on one line,
"flip 0|1 NANOSECONDS": the new colour (1: white) and CLOCK_MONOTONIC just before it was drawn.
--poked makes it turn each time that USR1 comes, and at no other time. With --sizes USR1 has the window
take the next of them, which it begins with; only a compositor that does not tile leaves that to it.
"ready" is printed when the first picture is with the compositor. Ends on TERM or when closed.
"""

import argparse
import math
import random
import signal
import sys
import time

import picture
from wayland import Window

FLIP = (1024, 320, 256, 256)  # x, y, width, height: clear of the counter and of what moves
STEP = 8  # pixels that things move between two pictures
# Nearest and farthest time between two flips, in seconds: a decoder has long settled by then.
FLIP_GAP = (0.35, 0.65)
# How often a window that is poked looks whether it was, in seconds.
POKE_LOOK = 0.1


class Scene:
    """One way to fill the window. `draw` brings a buffer up to date and returns the damage."""

    def __init__(self, window):
        self.ground = self.canvas(bytearray(window.width * window.height * 4), window)
        picture.background(self.ground)
        self.whole = (0, 0, window.width, window.height)
        self.flip = 0

    @staticmethod
    def canvas(pixels, window):
        return picture.Canvas(pixels, window.width, window.height)

    def prepare(self, canvas):
        canvas.pixels[:] = self.ground.pixels

    def draw(self, canvas, number):
        return []

    def draw_flip(self, canvas):
        canvas.fill(*FLIP, picture.WHITE if self.flip else picture.BLACK)


class Counter(Scene):
    """A counter, and bars that cross the lower half from side to side."""

    def __init__(self, window):
        super().__init__(window)
        self.size = (min(640, window.width // 3 & ~15), min(320, window.height // 3 & ~15))
        self.bars = picture.moving_rows(*self.size)
        self.span = window.width - self.size[0] - 64
        self.top = window.height - self.size[1] - 96
        self.drawn = {}  # where the bars stand in each canvas

    def place(self, number):
        way = number * STEP % (2 * self.span)
        return way if way < self.span else 2 * self.span - way

    def draw(self, canvas, number):
        canvas.rows(*picture.COUNTER, picture.counter_rows(number))
        width, height = self.size
        if id(canvas) in self.drawn:
            canvas.copy(self.ground, self.drawn[id(canvas)], self.top, width, height)
        x = self.drawn[id(canvas)] = self.place(number)
        canvas.rows(x, self.top, self.bars)
        before = self.place(number - 1)
        left = min(x, before)
        strip = (*picture.COUNTER, picture.CELL * picture.CELLS, picture.CELL)
        return [strip, (left, self.top, max(x, before) - left + width, height)]


class Full(Scene):
    """The whole picture scrolls upwards; only the counter stands still."""

    def __init__(self, window):
        super().__init__(window)
        self.tall = memoryview(bytes(self.ground.pixels) * 2)

    def draw(self, canvas, number):
        size = len(canvas.pixels)
        start = number * STEP % canvas.height * canvas.width * 4
        canvas.pixels[:] = self.tall[start : start + size]
        canvas.rows(*picture.COUNTER, picture.counter_rows(number))
        return [self.whole]


class Typing(Scene):
    """Letters on an empty page, one more in each picture."""

    LETTERS = "A PORTHOLE SHOWS THE SCREEN 0123456789 "
    SCALE, WIDTH, HEIGHT = 2, 12, 24

    def __init__(self, window):
        super().__init__(window)
        self.columns = (window.width - 128) // self.WIDTH
        self.page = self.columns * ((window.height - 128) // self.HEIGHT)
        self.drawn = {}  # how many letters each canvas has

    def prepare(self, canvas):
        canvas.fill(0, 0, canvas.width, canvas.height, picture.BACKGROUND)

    def draw(self, canvas, number):
        count = self.drawn.get(id(canvas), 0)
        if number // self.page > count // self.page:
            self.prepare(canvas)
            count = number // self.page * self.page
        self.drawn[id(canvas)] = number
        for letter in range(count, number):
            row, column = divmod(letter % self.page, self.columns)
            canvas.text(
                64 + column * self.WIDTH, 64 + row * self.HEIGHT,
                self.LETTERS[letter % len(self.LETTERS)], self.SCALE, (208, 208, 208),
            )  # fmt: skip
        if number % self.page <= 1:
            return [self.whole]
        row, column = divmod((number - 1) % self.page, self.columns)
        return [(64 + column * self.WIDTH, 64 + row * self.HEIGHT, self.WIDTH, self.HEIGHT)]


SCENES = {"still": Scene, "counter": Counter, "full": Full, "typing": Typing}


def fill(window, mode):
    """A scene of the window's size, and the buffers that it is drawn into."""
    scene = SCENES[mode](window)
    shown = [(buffer, Scene.canvas(buffer.pixels, window)) for buffer in window.buffers(3)]
    for _, canvas in shown:
        scene.prepare(canvas)
    return scene, shown


def run(mode, rate, flips, poked, sizes):
    window = Window(f"porthole {mode}", *sizes[:1])
    scene, shown = fill(window, mode)
    moving = mode != "still"
    number, first = 0, True
    next_picture = time.monotonic()
    next_flip = next_picture + 1.0 if flips else math.inf
    pokes = []
    if poked or sizes:
        signal.signal(signal.SIGUSR1, lambda *_: pokes.append(1))
    while not window.closed:
        due = [] if not (moving or first) else [next_picture]
        due += [next_flip] if flips else []
        # A signal does not end a wait for the compositor.
        due += [time.monotonic() + POKE_LOOK] if (poked or sizes) and not pokes else []
        wait = min(due) - time.monotonic() if due else None
        if not pokes and (wait is None or wait > 0):
            window.dispatch(wait)
            continue
        if pokes and sizes:
            pokes.clear()
            sizes.append(sizes.pop(0))
            window.resize(*sizes[0])
            scene, shown = fill(window, mode)
            first, next_picture = True, time.monotonic()
        free = next(((b, c) for b, c in shown if not b.busy), None)
        if free is None:
            window.dispatch(0.05)
            continue
        buffer, canvas = free
        now = time.monotonic()
        drawn_at, flipping = time.monotonic_ns(), bool(pokes or now >= next_flip)
        if flipping:
            scene.flip ^= 1
            pokes.clear()
            if flips:
                next_flip = now + random.uniform(*FLIP_GAP)
        if moving and now >= next_picture:
            number += 1
            next_picture = max(next_picture + 1 / rate, now - 1 / rate)
        damage = scene.draw(canvas, number) + [FLIP] * flipping
        if flips or poked:
            scene.draw_flip(canvas)
        window.show(buffer, [scene.whole] if first else damage)
        if flipping:
            print("flip", scene.flip, drawn_at, flush=True)
        if first:
            print("ready", flush=True)
        first = False


def sizes(text):
    return [tuple(map(int, size.split("x"))) for size in text.split(",")]


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("mode", choices=SCENES)
    options.add_argument("--rate", type=float, default=30, help="changes a second (30)")
    options.add_argument("--flips", action="store_true")
    options.add_argument("--poked", action="store_true")
    options.add_argument("--sizes", type=sizes, default=[], help="WxH,WxH...")
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        run(chosen.mode, chosen.rate, chosen.flips, chosen.poked, chosen.sizes)
    except (ConnectionError, FileNotFoundError) as error:
        sys.exit(f"window: {error}")


if __name__ == "__main__":
    main()
