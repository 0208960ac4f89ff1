"""Saves arrays as PNG files, with nothing but the standard library."""

import struct
import zlib
from pathlib import Path

import numpy as np

FOLDER = Path("build") / "examples"


def save(name, image, scale=1):
    """Write an image of numbers from 0 to 1, grey (H, W) or coloured (H, W, 3), as build/examples/NAME."""
    rgb = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    pixels = np.round(255 * np.clip(rgb, 0, 1)).astype(np.uint8).repeat(scale, axis=0).repeat(scale, axis=1)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    (FOLDER / name).write_bytes(b"\x89PNG\r\n\x1a\n" + written)
    print(f"picture: {FOLDER / name}")


def drawn(curves, size=(240, 360)):
    """A coloured picture of curves: (colour, x, y), joined by straight lines, in one pair of axes."""
    height, width = size
    image = np.ones((height, width, 3))
    every_x = np.concatenate([x for _, x, _ in curves])
    every_y = np.concatenate([y for _, _, y in curves])
    for colour, x, y in curves:
        column = (x - every_x.min()) / np.ptp(every_x) * (width - 21) + 10
        row = (every_y.max() - y) / np.ptp(every_y) * (height - 21) + 10
        steps = np.linspace(0, len(x) - 1, 40 * width)
        i = np.round(np.interp(steps, np.arange(len(x)), row)).astype(int)
        j = np.round(np.interp(steps, np.arange(len(x)), column)).astype(int)
        image[i, j] = image[i + 1, j] = colour
    image[-10:-9, 10:-10] = image[10:-10, 10:11] = 0
    return image
