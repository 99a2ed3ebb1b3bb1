#!/usr/bin/python3
"""Our encoder beside x264 on one clip, in turn; prints rows of a table.

    compare.py ENCODE CLIP NAME [QP...]

ENCODE is the program built from encode.c, CLIP raw NV12 of 1920x1080 at 30 pictures a second. CPU
times and sizes are those of the middle QP; "bits at equal PSNR" sets our bits at that QP against
x264's at our PSNR, read off its curve. Both PSNR and SSIM are over all samples of all pictures.
"""

import math
import os
import re
import subprocess
import sys
import tempfile

SIZE = ("1920", "1080")
TURNS = 3


def encode(program, encoder, mode, number, clip, output):
    """Milliseconds: median, 99 %, mean; bits; peak kB; most bits of a second; bits overrun."""
    command = [program, encoder, mode, str(number), clip, *SIZE, output]
    return [float(word) for word in subprocess.check_output(command, text=True).split()]


def quality(stream, clip):
    """PSNR in dB and SSIM of the decoded stream; refuses one that a decoder complains of."""
    command = [
        "ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-r", "30", "-i", stream,
        "-f", "rawvideo", "-pix_fmt", "nv12", "-s", "x".join(SIZE), "-r", "30", "-i", clip,
        "-lavfi", "[0:v]format=nv12,split[a][b];[1:v]split[c][d];[a][c]psnr;[b][d]ssim",
        "-f", "null", "-"]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    complaint = re.search(r".*(conceal|error|invalid|corrupt).*", said, re.IGNORECASE)
    if complaint:
        sys.exit(f"compare: the decoder complains: {complaint.group(0)}")
    return tuple(
        float(re.search(pattern, said).group(1))
        for pattern in (r"PSNR .*average:([\d.]+)", r"SSIM .*All:([\d.]+)"))


def bits_at(psnr, curve):
    """Bits of the curve's (PSNR, bits) at `psnr`: their logarithm is drawn straight between points,
    and beyond the ends as between the last two."""
    curve = sorted(curve)
    for (low, few), (high, many) in zip(curve, curve[1:]):
        if psnr <= high or (high, many) == curve[-1]:
            part = (psnr - low) / (high - low)
            return math.exp(math.log(few) + part * (math.log(many) - math.log(few)))


def main(program, clip, name, qps):
    middle = qps[len(qps) // 2]
    curve = {"porthole": [], "x264": []}
    rows = {}
    with tempfile.TemporaryDirectory(prefix="porthole-encoder.") as folder:
        for qp in qps:
            for encoder in curve:
                stream = os.path.join(folder, encoder + ".264")
                figures = encode(program, encoder, "qp", qp, clip, stream)
                psnr, ssim = quality(stream, clip)
                curve[encoder].append((psnr, figures[3]))
                if qp == middle:
                    rows[encoder] = [[figures], psnr, ssim]
        for _ in range(TURNS - 1):
            for encoder in curve:
                stream = os.path.join(folder, encoder + ".264")
                rows[encoder][0].append(encode(program, encoder, "qp", middle, clip, stream))
    ratio = rows["porthole"][0][0][3] / bits_at(rows["porthole"][1], curve["x264"])
    for encoder, (turns, psnr, ssim) in rows.items():
        median, most = (sorted(column)[len(turns) // 2] for column in list(zip(*turns))[:2])
        print(
            f"| {name} | {encoder} | {median:.2f} | {most:.2f} | {turns[0][3] / 1e3:.0f} "
            f"| {psnr:.2f} | {ssim:.4f} | {turns[0][4]:.0f} "
            f"| {f'{ratio:.2f}' if encoder == 'porthole' else '1'} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], [int(word) for word in sys.argv[4:]] or [20, 23, 26, 29, 32])
