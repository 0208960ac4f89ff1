"""Writes a graph that has been laid out as SVG, for light and dark pages.

Reads: nodes whose contents are `Label`s. Writes: text. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from mlirad.explaining.pictures.nested_layout import GraphLayout, GraphLine, GraphNode, Net, Rectangle, laid_out
from mlirad.explaining.text_width import cut, width_of

LETTER, LINE = 7.25, 16.0
_SIDE, _ABOVE = 9.0, 7.0
LONGEST = 34

STYLE = """\
.graph { --page: #fff; --ink: #1f2328; --line: #6e7781; --node: #fff; --given: #e7f0fd; --result: #e6f4ea;
  --box: #57606a0d; --edge: #afb8c1; --adjoint: #b3391f; --tangent: #0a6e54; --quiet: #6e7781;
  background: var(--page); font: 12px "DejaVu Sans Mono", Menlo, Consolas, monospace }
@media (prefers-color-scheme: dark) { .graph { --page: #0d1117; --ink: #e6edf3; --line: #8b949e; --node: #161b22;
  --given: #16283f; --result: #12301f; --box: #b1bac40f; --edge: #484f58; --adjoint: #ff9b81; --tangent: #56d4a5;
  --quiet: #8b949e } }
.graph text { fill: var(--ink); white-space: pre }
.graph .name { font-weight: bold }
.graph .adjoint { fill: var(--adjoint) }
.graph .tangent { fill: var(--tangent) }
.graph .quiet { fill: var(--quiet) }
.graph .heading { font-family: sans-serif; fill: var(--quiet);
  paint-order: stroke; stroke: var(--page); stroke-width: 5px }
.graph rect { fill: var(--node); stroke: var(--line) }
.graph .given rect { fill: var(--given) }
.graph .result rect { fill: var(--result) }
.graph .hidden rect { stroke-dasharray: 2 4 }
.graph .box { fill: var(--box); stroke: var(--edge) }
.graph .off { opacity: 0.55 }
.graph path { fill: none; stroke: var(--line); stroke-width: 1.2 }
.graph .tip { fill: var(--line); stroke: none }
"""


@dataclass(frozen=True)
class Label:
    """What a leaf shows. rows: texts with their classes. kind: a class. tooltip: all that is abbreviated."""

    rows: tuple[tuple[str, str], ...]
    kind: str = ""
    tooltip: str = ""


def leaf(label: Label) -> GraphNode:
    """A node that is as large as its text."""
    longest = max(width_of(cut(text, LONGEST)) for text, _ in label.rows)
    return GraphNode(label, LETTER * longest + 2 * _SIDE, LINE * len(label.rows) + 2 * _ABOVE)


def box(heading: str, children: Sequence[GraphNode], *, is_sequence: bool = False) -> GraphNode:
    """A box that is wide enough for its heading. is_sequence: its children are drawn one below the other."""
    return GraphNode(heading, LETTER * len(heading) + 2 * _SIDE, children=tuple(children), is_sequence=is_sequence)


def as_svg(root: GraphNode, nets: Sequence[Net], title: str, last: Sequence[GraphNode] = ()) -> str:
    """The picture, which needs nothing else."""
    found = laid_out(root, nets, last)
    boxes = [node for node in found.places if node.children]
    leaves = [node for node in found.places if not node.children]
    parts = [
        *(_frame(found.places[node]) for node in boxes),
        *(_line(line) for line in found.lines),
        *(_heading(node, found.places[node]) for node in boxes),
        *(_leaf(node, found.places[node]) for node in leaves),
    ]
    return "\n".join([_head(found, title), *parts, "</svg>"])


def _head(found: GraphLayout, title: str) -> str:
    size = f'width="{found.width:.0f}" height="{found.height:.0f}" viewBox="0 0 {found.width:.0f} {found.height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" {size}>'
    return f"{start}\n<title>{escape(title)}</title>\n<style>\n{STYLE}</style>"


def _frame(place: Rectangle) -> str:
    return f'<rect class="box" {_rectangle(place)} rx="8"/>'


def _heading(node: GraphNode, place: Rectangle) -> str:
    return f'<text class="heading" x="{place.x + _SIDE:.1f}" y="{place.y + LINE:.1f}">{escape(node.content)}</text>'


def _leaf(node: GraphNode, place: Rectangle) -> str:
    label: Label = node.content
    rows = "".join(
        f'<text class="{kind}" x="{place.x + _SIDE:.1f}" y="{place.y + _ABOVE + LINE * (number + 0.75):.1f}">'
        f"{escape(cut(text, LONGEST))}</text>"
        for number, (text, kind) in enumerate(label.rows)
    )
    tooltip = f"<title>{escape(label.tooltip)}</title>" if label.tooltip else ""
    return f'<g class={quoteattr(label.kind)}>{tooltip}<rect {_rectangle(place)} rx="5"/>{rows}</g>'


def _rectangle(place: Rectangle) -> str:
    return f'x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" height="{place.height:.1f}"'


def _line(line: GraphLine) -> str:
    half = (line.end - line.bend) / 2
    curve = (
        f"{line.x:.1f} {line.bend + half:.1f} {line.end_x:.1f} {line.end - half:.1f} {line.end_x:.1f} {line.end:.1f}"
    )
    tip = line.tip - (5 if line.at else 0)
    path = f'<path d="M{line.x:.1f} {line.start:.1f} V{line.bend:.1f} C{curve} V{tip:.1f}"/>'
    if line.at is None:
        return f'<g class="{line.net.content}">{path}</g>'
    arrow = f"M{line.end_x - 4:.1f} {line.tip - 7:.1f} h8 l-4 7 z"
    return f'<g class="{line.net.content}">{path}<path class="tip" d="{arrow}"/></g>'
