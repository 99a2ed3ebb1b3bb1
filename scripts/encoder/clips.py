#!/usr/bin/python3
"""Writes a clip of a 1920x1080 screen as raw NV12 (BT.709, limited range), 30 pictures a second.

    clips.py scrolling|typing|video FILE [FRAMES]

scrolling  a terminal that fills the screen and gets one or two lines a picture, with rests
typing     a still desktop; somebody types short lines at the end of an editor's page, which moves up
           by a line for each, and a clock counts
video      the desktop with a video window: camera moves over textures and things, grain, cuts
"""

import sys

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT, RATE = 1920, 1080, 30
LINE = 18  # letters typed before a new line, one and a half seconds
FONTS = "/usr/share/fonts/truetype/dejavu/"
LICENCES = "/usr/share/common-licenses/"


def font(name, size):
    return ImageFont.truetype(FONTS + name, size)


def lines_of(*names):
    return [line.rstrip() for name in names for line in open(LICENCES + name, errors="replace")]


def nv12(picture):
    """BT.709 of limited range; a chroma sample is the mean of four pixels."""
    red, green, blue = numpy.moveaxis(numpy.asarray(picture, dtype=numpy.float32), 2, 0)
    luma = 16 + 0.1826 * red + 0.6142 * green + 0.0620 * blue

    def chroma(red_weight, green_weight, blue_weight):
        plane = red_weight * red + green_weight * green + blue_weight * blue
        return 128 + plane.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).mean(axis=(1, 3))

    pairs = numpy.stack(
        [chroma(-0.1006, -0.3386, 0.4392), chroma(0.4392, -0.3989, -0.0403)], axis=2)
    return b"".join(numpy.rint(plane).clip(0, 255).astype(numpy.uint8).tobytes()
                    for plane in (luma, pairs))


def scrolling(frames):
    """Listings and text in colours, antialiased, as `cat` and `ls` bring them."""
    text, face, step = lines_of("GPL-3", "Apache-2.0", "LGPL-2.1"), font("DejaVuSansMono.ttf", 15), 19
    rows = HEIGHT // step
    colours = [(211, 215, 207), (211, 215, 207), (138, 226, 52), (114, 159, 207), (252, 233, 79)]

    def strip(number):
        image = Image.new("RGB", (WIDTH, step), (24, 24, 28))
        draw = ImageDraw.Draw(image)
        left, right = text[number % len(text)], text[(number * 7 + 3) % len(text)]
        draw.text((6, 1), f"{number:5d} ", fill=(117, 80, 123), font=face)
        draw.text((70, 1), left, fill=colours[number * 5 // 7 % len(colours)], font=face)
        if number % 3 != 1:
            draw.text((980, 1), right, fill=colours[number % len(colours)], font=face)
        return image

    screen = Image.new("RGB", (WIDTH, HEIGHT), (24, 24, 28))
    last = 0
    while last < rows:
        screen.paste(strip(last), (0, last * step))
        last += 1
    for frame in range(frames):
        if frame and frame % 50 < 42:
            for _ in range(1 if frame // 50 % 2 == 0 else 2):
                screen.paste(screen.crop((0, step, WIDTH, rows * step)), (0, 0))
                screen.paste(strip(last), (0, (rows - 1) * step))
                last += 1
        yield screen


def desktop():
    """A wallpaper, a panel, a terminal at the left and a page of text at the right."""
    x, y = numpy.meshgrid(numpy.linspace(0, 1, WIDTH), numpy.linspace(0, 1, HEIGHT))
    ground = numpy.stack([40 + 50 * x, 60 + 60 * y, 110 - 40 * x * y + 30 * y], axis=2)
    screen = Image.fromarray(ground.astype(numpy.uint8))
    draw = ImageDraw.Draw(screen)
    draw.rectangle((0, 0, WIDTH, 29), fill=(46, 52, 54))
    for index, word in enumerate(["Activities", "Files", "Terminal", "Editor", "Web"]):
        draw.text((20 + 130 * index, 6), word, fill=(238, 238, 236), font=font("DejaVuSans.ttf", 14))
    draw.rectangle((40, 60, 900, 1040), fill=(48, 10, 36))
    for row, line in enumerate(lines_of("GPL-2")[20:71]):
        draw.text((50, 70 + 19 * row), line, fill=(238, 238, 236), font=font("DejaVuSansMono.ttf", 15))
    draw.rectangle((940, 60, 1880, 1040), fill=(252, 252, 250))
    draw.rectangle((940, 60, 1880, 92), fill=(70, 76, 80))
    draw.text((960, 68), "notes.txt - Editor", fill=(238, 238, 236), font=font("DejaVuSans.ttf", 14))
    for row, line in enumerate(lines_of("Apache-2.0")[6:50]):
        draw.text((960, 104 + 20 * row), line, fill=(30, 30, 34), font=font("DejaVuSans.ttf", 15))
    return screen


def typing(frames):
    screen, face = desktop(), font("DejaVuSans.ttf", 15)
    draw = ImageDraw.Draw(screen)
    words, paper = " ".join(" ".join(lines_of("BSD")).split()), (252, 252, 250)
    x, y, typed = 960, 1004, 0
    for frame in range(frames):
        seconds = frame // RATE
        draw.rectangle((1780, 4, 1900, 26), fill=(46, 52, 54))
        draw.text((1790, 6), f"12:34:{seconds:02d}", fill=(238, 238, 236), font=face)
        draw.rectangle((x + 1, y, x + 2, y + 17), fill=paper)
        if frame % 5 in (1, 3):
            letter = words[typed % len(words)]
            typed += 1
            draw.text((x, y), letter, fill=(30, 30, 34), font=face)
            x += round(face.getlength(letter))
            if typed % LINE == 0:
                x = 960
                screen.paste(screen.crop((940, 113, 1881, 1041)), (940, 93))
                draw.rectangle((940, 1021, 1880, 1040), fill=paper)
        caret = (30, 30, 34) if frame // 15 % 2 == 0 else paper
        draw.rectangle((x + 1, y, x + 2, y + 17), fill=caret)
        yield screen


def scenery(random, side=2048):
    """Things over things of all sizes, each with a texture: statistics of photographs."""
    image = Image.new("RGB", (side, side), (120, 128, 110))
    draw = ImageDraw.Draw(image)
    for radius in sorted(12 / numpy.sqrt(random.random(1500)), reverse=True):
        x, y = random.integers(0, side, 2)
        grey = random.uniform(30, 225) + 22 * random.standard_normal(3)
        colour = tuple(int(value) for value in grey.clip(0, 255))
        shape = draw.ellipse if random.random() < 0.6 else draw.rectangle
        shape((x - radius, y - radius, x + radius, y + radius * random.uniform(0.4, 1)), fill=colour)
    image = image.filter(ImageFilter.GaussianBlur(1.2))
    frequency = numpy.hypot(*numpy.meshgrid(numpy.fft.rfftfreq(side), numpy.fft.fftfreq(side)))
    frequency[0, 0] = 1
    spectrum = numpy.fft.rfft2(random.standard_normal((side, side))) / frequency
    texture = numpy.fft.irfft2(spectrum)
    texture *= 14 / texture.std()
    pixels = numpy.asarray(image, dtype=numpy.float32) + texture[:, :, None]
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def video(frames, width=1280, height=720, scene=36):
    random = numpy.random.default_rng(5)
    screen = desktop()
    left, top = 320, 200
    ImageDraw.Draw(screen).rectangle((left - 2, top - 32, left + width + 1, top + height + 1),
                                     fill=(30, 30, 30))
    for frame in range(frames):
        if frame % scene == 0:
            ground, thing = scenery(random), scenery(random).crop((0, 0, 300, 300))
            mask = Image.new("L", (300, 300), 0)
            ImageDraw.Draw(mask).ellipse((4, 4, 296, 296), fill=255)
            mask = mask.filter(ImageFilter.GaussianBlur(1))
            pan, drift = random.uniform(-6, 6, 2), random.uniform(-9, 9, 2)
            zoom, turn = 1 + random.uniform(-0.003, 0.003), random.uniform(-0.002, 0.002)
        time = frame % scene
        scale, angle = zoom**time, turn * time
        cos, sin = scale * numpy.cos(angle), scale * numpy.sin(angle)
        x, y = 1024 + pan[0] * time, 1024 + pan[1] * time
        view = ground.transform(
            (width, height), Image.Transform.AFFINE,
            (cos, -sin, x - cos * width / 2 + sin * height / 2,
             sin, cos, y - sin * width / 2 - cos * height / 2), Image.Resampling.BICUBIC)
        at = numpy.array([width / 2 - 150, height / 2 - 150]) + drift * (time - scene / 2)
        view.paste(thing, tuple(int(value) for value in at), mask)
        grain = random.standard_normal((height, width, 1)) * 1.5
        pixels = (numpy.asarray(view, dtype=numpy.float32) + grain).clip(0, 255)
        screen.paste(Image.fromarray(pixels.astype(numpy.uint8)), (left, top))
        yield screen


kind, path = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
with open(path, "wb") as file:
    for picture in {"scrolling": scrolling, "typing": typing, "video": video}[kind](count):
        file.write(nv12(picture))
