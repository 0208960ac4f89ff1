"""Charts with logarithmic axes as SVG files, for light and dark pages, with nothing but the standard library."""

import math
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path("build") / "examples"
LEFT, RIGHT, ABOVE, BELOW = 66, 12, 34, 46
STYLE = """
svg { background: #fff; --ink: #1f2328; --quiet: #6e7781; --grid: #eaeef2; font: 12px sans-serif;
  --a: #b3391f; --b: #0a6e54; --c: #1f5fbf; --d: #7d4fc4 }
@media (prefers-color-scheme: dark) { svg { background: #0d1117; --ink: #e6edf3; --quiet: #8b949e; --grid: #21262d;
  --a: #ff9b81; --b: #56d4a5; --c: #79b0ff; --d: #c8a6ff } }
text { fill: var(--ink) } .tick { fill: var(--quiet) } .grid { stroke: var(--grid) }
path { fill: none; stroke-width: 2 }
"""


def log_log(title, across, up, curves, size=(640, 360)):
    """The text of a chart. across, up: what the axes show. curves: (name, xs, ys), positive numbers, at most four.

    The names of the curves are above the chart, in their colours.
    """
    width, height = size
    xs = [math.log10(x) for _, many, _ in curves for x in many]
    ys = [math.log10(y) for _, _, many in curves for y in many]
    low_x, high_x, low_y, high_y = math.floor(min(xs)), math.ceil(max(xs)), math.floor(min(ys)), math.ceil(max(ys))

    def place(x, y):
        column = LEFT + (math.log10(x) - low_x) / (high_x - low_x) * (width - LEFT - RIGHT)
        row = ABOVE + (high_y - math.log10(y)) / (high_y - low_y) * (height - ABOVE - BELOW)
        return column, row

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>",
    ]
    for power in range(low_x, high_x + 1, 2):
        x, _ = place(10.0**power, 10.0**low_y)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{ABOVE}" x2="{x:.1f}" y2="{height - BELOW}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{height - BELOW + 18}" text-anchor="middle">1e{power}</text>')
    for power in range(low_y, high_y + 1, 2):
        _, y = place(10.0**low_x, 10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    beside = LEFT
    for (name, many, values), colour in zip(curves, "abcd", strict=False):
        points = [place(x, y) for x, y in zip(many, values, strict=True)]
        line = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{line}" style="stroke: var(--{colour})"/>')
        parts.append(
            f'<text x="{beside}" y="20" style="fill: var(--{colour}); font-weight: bold">{escape(name)}</text>'
        )
        beside += 8 * len(name) + 24
    parts.append(f'<text x="{(LEFT + width) / 2:.0f}" y="{height - 8}" text-anchor="middle">{escape(across)}</text>')
    middle = f"{(ABOVE + height - BELOW) / 2:.0f}"
    turned = f'x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})"'
    parts.append(f"<text {turned}>{escape(up)}</text>")
    return "\n".join([*parts, "</svg>\n"])


def save(name, text):
    """Write a picture as build/examples/NAME."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_text(text)
    print(f"picture: {FOLDER / name}")
