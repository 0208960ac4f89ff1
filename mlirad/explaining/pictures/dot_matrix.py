"""Boolean matrices as a picture: a block for each pair of a row's and a column's name, a square for each True.

Reads: blocks of booleans. Writes: SVG. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

import numpy as np

from mlirad.explaining.pictures.svg import LETTER, LINE, STYLE
from mlirad.explaining.text_width import cut, width_of

_LARGEST, _LONGEST_SIDE = 14.0, 720.0
"""Squares have sides of this at most, and the matrix of that."""
_GAP, _MARGIN, _LONGEST_NAME = 8.0, 10.0, 24
_COLOURS = ".graph .dot { fill: var(--ink); stroke: none } .graph .block { fill: var(--node); stroke: var(--edge) }\n"


def dot_matrix(title: str, rows: Sequence[str], columns: Sequence[str], blocks: Sequence[Sequence[np.ndarray]]) -> str:
    """The picture. rows, columns: the names; blocks: a matrix for each pair of them, in this order."""
    heights = [row[0].shape[0] for row in blocks]
    widths = [each.shape[1] for each in blocks[0]]
    side = min(_LARGEST, _LONGEST_SIDE / max(sum(heights), sum(widths), 1))
    names = [cut(name, _LONGEST_NAME) for name in rows]
    left = 2 * _MARGIN + LETTER * max(map(width_of, names))
    lefts = [*_starts(left, [side * each for each in widths], columns)]
    tops = [*_starts(2 * _MARGIN + LINE, [side * each for each in heights], [""] * len(heights))]
    width, height = lefts.pop() + _MARGIN, tops.pop() + _MARGIN
    parts = [_text(x, _MARGIN + 0.75 * LINE, cut(name, _LONGEST_NAME)) for x, name in zip(lefts, columns, strict=True)]
    for y, name, row in zip(tops, names, blocks, strict=True):
        parts.append(_text(_MARGIN, y + 0.75 * LINE, name))
        parts += [_block(x, y, side, each) for x, each in zip(lefts, row, strict=True)]
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" {size}>'
    head = f"{start}\n<title>{escape(title)}</title>\n<style>\n{STYLE}{_COLOURS}</style>"
    return "\n".join([head, *parts, "</svg>"])


def _starts(at: float, sizes: Sequence[float], names: Sequence[str]) -> Iterator[float]:
    """Where blocks begin, each as wide as its name at least; and where the last one ends."""
    for size, name in zip(sizes, names, strict=True):
        yield at
        at += max(size, LINE if not name else LETTER * width_of(cut(name, _LONGEST_NAME))) + _GAP
    yield at - _GAP


def _block(x: float, y: float, side: float, block: np.ndarray) -> str:
    height, width = block.shape
    frame = f'<rect class="block" x="{x:.2f}" y="{y:.2f}" width="{side * width:.2f}" height="{side * height:.2f}"/>'
    runs = [(row, start, stop) for row in range(height) for start, stop in _runs(block[row])]
    dots = "".join(
        _rectangle(x + side * start, y + side * row, side * (stop - start), side) for row, start, stop in runs
    )
    return f'{frame}<path class="dot" d="{dots}"/>' if dots else frame


def _runs(row: np.ndarray) -> list[tuple[int, int]]:
    """The stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
