"""Pictures drawn row by row into 32-bit pixels, and the counter that survives a lossy encoder.

A colour is (red, green, blue); memory order is blue, green, red, unused, as XRGB8888 is on a
little-endian machine.

The counter is a row of squares of CELL pixels, with its top left corner at COUNTER, aligned to
macroblocks. From left to right: one white, one black (so that a reader knows both levels), 16 bits
of the number, and 6 bits of the number modulo 61; the most significant bit of each comes first, and
white is 1. A picture whose 6 bits do not fit its 16 was torn or badly coded.
"""

CELL = 32
COUNTER = (64, 64)
CELLS = 24
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
BACKGROUND = (32, 64, 96)
PATCHES = [
    (192, 192, 192), (192, 192, 0), (0, 192, 192), (0, 192, 0),
    (192, 0, 192), (192, 0, 0), (0, 0, 192), (64, 64, 64),
]  # fmt: skip

# Letters of 5 by 7 pixels: one number a row, five bits each.
_LETTERS = {
    " ": "00000000000000", "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e",
    "D": "1e11111111111e", "E": "1f10101e10101f", "F": "1f10101e101010", "G": "0e11101711110f",
    "H": "1111111f111111", "I": "0e04040404040e", "K": "11121418141211", "L": "1010101010101f",
    "M": "111b1515111111", "N": "11111915131111", "O": "0e11111111110e", "P": "1e11111e101010",
    "R": "1e11111e141211", "S": "0f10100e01011e", "T": "1f040404040404", "U": "1111111111110e",
    "V": "11111111110a04", "W": "11111115151b11", "Y": "11110a04040404", "0": "0e11131519110e",
    "1": "040c040404040e", "2": "0e11010204081f", "3": "1f02040201110e", "4": "02060a121f0202",
    "5": "1f101e0101110e", "6": "0608101e11110e", "7": "1f010204080808", "8": "0e11110e11110e",
    "9": "0e11110f01020c",
}  # fmt: skip


def pixel(colour):
    red, green, blue = colour
    return bytes((blue, green, red, 255))


class Canvas:
    """A drawing surface over `pixels`, rows of `width` pixels without a gap."""

    def __init__(self, pixels, width, height):
        self.pixels, self.width, self.height = pixels, width, height

    def fill(self, x, y, width, height, colour):
        self.rows(x, y, [pixel(colour) * width] * height)

    def rows(self, x, y, rows):
        """Puts whole rows of pixels at (x, y); they must fit."""
        at, stride = (y * self.width + x) * 4, self.width * 4
        for row in rows:
            self.pixels[at : at + len(row)] = row
            at += stride

    def copy(self, source, x, y, width, height):
        """Takes a rectangle from `source`, a canvas of the same width."""
        at, stride, count = (y * self.width + x) * 4, self.width * 4, width * 4
        for _ in range(height):
            self.pixels[at : at + count] = source.pixels[at : at + count]
            at += stride

    def text(self, x, y, words, scale, colour):
        for place, letter in enumerate(words):
            bits = bytes.fromhex(_LETTERS[letter])
            for row, line in enumerate(bits):
                for column in range(5):
                    if line >> (4 - column) & 1:
                        left = x + (place * 6 + column) * scale
                        self.fill(left, y + row * scale, scale, scale, colour)


def counter_rows(number):
    """The counter's pixels for `number`, of which the low 16 bits are drawn."""
    number &= 0xFFFF
    bits = f"10{number:016b}{number % 61:06b}"
    white, black = pixel(WHITE) * CELL, pixel(BLACK) * CELL
    return [b"".join(white if bit == "1" else black for bit in bits)] * CELL


def background(canvas):
    """A still desktop: flat colour patches, lines of text, a plain ground."""
    canvas.fill(0, 0, canvas.width, canvas.height, BACKGROUND)
    size = min(canvas.width, canvas.height) // 8 & ~15
    for index, colour in enumerate(PATCHES):
        canvas.fill(64 + index * size, canvas.height - size - 64, size, size, colour)
    for line in range(6):
        words = "A PORTHOLE SHOWS THE SCREEN 0123456789"[line:]
        canvas.text(64, 160 + line * 40, words[: (canvas.width - 128) // 18], 3, (208, 208, 208))


def moving_rows(width, height):
    """What moves over the desktop: colour bars crossed by dark lines."""
    bar = width // len(PATCHES)
    plain = b"".join(pixel(colour) * bar for colour in PATCHES)
    lined = b"".join(pixel(tuple(part // 2 for part in colour)) * bar for colour in PATCHES)
    return [lined if row % 32 < 4 else plain for row in range(height)]
