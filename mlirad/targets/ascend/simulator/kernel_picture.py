"""Draws one block of a kernel: when each pipe is busy, and which bytes of the unified buffer are in use at what time.

Reads: a timeline. Writes: a self-contained SVG. Leaves: nothing. Times are modelled cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mlirad.dialect.core.types import from_location
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, Pipe
from mlirad.targets.ascend.simulator.pipe_clock import Span
from mlirad.targets.ascend.simulator.pipe_order import NUMBER

WIDTH, MARGIN, LANE, MAP_HEIGHT, HEAD = 960, 90, 26, 260, 48
_COLOURS = {
    Pipe.S: "#7f7f7f",
    Pipe.V: "#1f77b4",
    Pipe.M: "#d62728",
    Pipe.MTE1: "#9467bd",
    Pipe.MTE2: "#2ca02c",
    Pipe.MTE3: "#ff7f0e",
    Pipe.FIX: "#8c564b",
}

Life = tuple[int, int, float, float, Span]
"""First byte, end byte, and the times between which the bytes hold the data of this instruction."""


def lives(spans: Sequence[Span], space: AddressSpace = AddressSpace.UB) -> list[Life]:
    """The data that each instruction wrote to a memory, until its last reader has finished."""
    found: list[Life] = []
    for span in spans:
        for name, low, high, written in span.touched:
            if name != space.value:
                continue
            if written:
                found.append((low, high, span.start, span.end, span))
                continue
            # A reader needs the last writers of its bytes.
            missing = [(low, high)]
            for place in range(len(found) - 1, -1, -1):
                first, behind, start, end, by = found[place]
                if by is not span and any(first < stop and begin < behind for begin, stop in missing):
                    found[place] = first, behind, start, max(end, span.end), by
                    missing = [
                        piece
                        for begin, stop in missing
                        for piece in ((begin, min(stop, first)), (max(begin, behind), stop))
                        if piece[0] < piece[1]
                    ]
                if not missing:
                    break
    return found


def picture(kernel: str, block: int, spans: Sequence[Span], capacity: int) -> str:
    """An SVG of the pipes over the memory map. capacity: of the unified buffer, in bytes."""
    end = max((span.end for span in spans), default=1.0)
    pipes = sorted({span.pipe for span in spans}, key=NUMBER.__getitem__)
    top = HEAD + LANE * len(pipes) + 40
    height = top + MAP_HEIGHT + 50
    scale = (WIDTH - MARGIN - 20) / end
    body = [_text(20, 22, f"{kernel}, block {block}: {end:,.0f} cycles (model, uncalibrated; a simulator's)", 15)]
    for row, pipe in enumerate(pipes):
        y = HEAD + row * LANE
        body.append(_text(20, y + 16, pipe.value.removeprefix("PIPE_")))
        body.append(f'<line x1="{MARGIN}" y1="{y + LANE - 2}" x2="{WIDTH - 20}" y2="{y + LANE - 2}" stroke="#ddd"/>')
        body += [
            _box(
                MARGIN + span.start * scale, y + 2, (span.end - span.start) * scale, LANE - 6, pipe, _description(span)
            )
            for span in spans
            if span.pipe is pipe
        ]
    held = lives(spans)
    used = max((high for _, high, *_ in held), default=1)
    body.append(_text(20, top - 10, f"unified buffer: {used:,} of {capacity:,} bytes used; address upwards"))
    per_byte = MAP_HEIGHT / used
    for low, high, start, stop, span in held:
        y = top + MAP_HEIGHT - high * per_byte
        description = f"[{low}, {high}) until cycle {stop:,.0f}\n{_description(span)}"
        body.append(
            _box(
                MARGIN + start * scale, y, (stop - start) * scale, (high - low) * per_byte, span.pipe, description, 0.45
            )
        )
    frame = f'<rect x="{MARGIN}" y="{top}" width="{WIDTH - MARGIN - 20}" height="{MAP_HEIGHT}"'
    body.append(f'{frame} fill="none" stroke="#999"/>')
    body.append(_text(MARGIN, top + MAP_HEIGHT + 18, "cycle 0"))
    body.append(_text(WIDTH - 110, top + MAP_HEIGHT + 18, f"{end:,.0f} (model)"))
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    )
    return "\n".join([f'{opening} font-family="sans-serif" font-size="12">', *body, "</svg>\n"])


def _description(span: Span) -> str:
    place = from_location(span.op.location)
    source = "" if place is None else f"\n{place}: {(place.source_line() or '').strip()}"
    return f"{span.op.name}, cycles {span.start:,.0f} to {span.end:,.0f}, {span.bytes:,} bytes{source}"


def _text(x: float, y: float, text: str, size: int = 12) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}">{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, pipe: Pipe, description: str, opacity: float = 0.9) -> str:
    shape = f'x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.5):.2f}" height="{max(height, 0.5):.2f}"'
    colour = f'fill="{_COLOURS[pipe]}" fill-opacity="{opacity}" stroke="white" stroke-width="0.5"'
    return f"<rect {shape} {colour}><title>{escape(description)}</title></rect>"
