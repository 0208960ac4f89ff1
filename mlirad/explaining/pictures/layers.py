"""Places the parts of one box in layers, so that every line between them goes down: Sugiyama's method.

Reads: slots, and the nets that connect them. Writes: the places of the slots. Leaves: `Layers`.

The layer of a slot is the length of the longest path to it. Orders come from the means of neighbours (few crossings),
places from means too, pushed apart by isotonic regression, which is the exact answer for one layer.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

GAP_ACROSS, GAP_OF_LINES = 22.0, 14.0
_GAP_DOWN, _MORE_DOWN = 30.0, 0.035
"""Between layers: this, and a share of how far the widest line goes sideways."""
_ORDERINGS, _IN_VAIN, _PLACINGS = 12, 3, 24
"""How often layers are ordered and slots placed; orders also end when so many in turn have saved no crossing."""
_STRAIGHT = 6.0
"""How much more a line through a layer should be straight than a node in the middle of its neighbours."""
_IN_COLUMN = 1e9


@dataclass(eq=False)
class LayerSlot:
    """What takes a place in a layer: a node, or (`node` is None) a line on its way. x: its middle; y: its upper edge.

    above, below: where lines of nets end on its edges, from its middle. turn: the order in which it is first placed.
    """

    node: Any
    width: float
    height: float
    turn: float = 0.0
    above: Mapping[Any, float] = field(default_factory=dict)
    below: Mapping[Any, float] = field(default_factory=dict)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Link:
    """A piece of the line of a net, between slots of neighbouring layers."""

    upper: LayerSlot
    lower: LayerSlot
    net: Any

    @property
    def starts(self) -> float:
        return self.upper.x + self.upper.below.get(self.net, 0.0)

    @property
    def ends(self) -> float:
        return self.lower.x + self.lower.above.get(self.net, 0.0)


@dataclass(frozen=True)
class Layers:
    """layers: the slots of each, from left to right. tops, bottoms: of each. crossings: of links."""

    layers: tuple[tuple[LayerSlot, ...], ...]
    links: tuple[Link, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    crossings: int


def in_layers(
    slots: Sequence[LayerSlot],
    nets: Iterable[tuple[Any, LayerSlot, Sequence[LayerSlot]]],
    first: Sequence[LayerSlot] = (),
    last: Sequence[LayerSlot] = (),
    column: Sequence[LayerSlot] = (),
    fixed: bool = False,
) -> Layers:
    """Places the slots. nets: each with its source and its sinks. column: slots that are placed below one another.

    first, last: slots for layers of their own. fixed: these two layers keep their order.
    """
    nets = list(nets)
    arrows = [(source, sink) for _, source, sinks in nets for sink in sinks]
    _rank([*first, *slots, *last], [*arrows, *pairwise(column)], first, last)
    rows, links = _with_lines([*first, *slots, *last], nets)
    held = ({0} if first else set()) | ({len(rows) - 1} if last else set()) if fixed else set()
    crossings = _order(rows, links, held)
    _place(rows, links, set(column))
    tops, bottoms = _stack(rows, links)
    return Layers(tuple(map(tuple, rows)), tuple(links), tuple(tops), tuple(bottoms), crossings)


def _rank(
    slots: Sequence[LayerSlot],
    arrows: Sequence[tuple[LayerSlot, LayerSlot]],
    first: Sequence[LayerSlot],
    last: Sequence[LayerSlot],
) -> None:
    following: dict[LayerSlot, list[LayerSlot]] = {slot: [] for slot in slots}
    waits = dict.fromkeys(slots, 0)
    for upper, lower in arrows:
        following[upper].append(lower)
        waits[lower] += 1
    least = 1 if first else 0
    for slot in slots:
        slot.layer = 0 if slot in first else least
    ready = [slot for slot in slots if not waits[slot]]
    while ready:
        slot = ready.pop()
        for lower in following[slot]:
            lower.layer = max(lower.layer, slot.layer + 1)
            waits[lower] -= 1
            if not waits[lower]:
                ready.append(lower)
    lowest = max((slot.layer for slot in slots if slot not in last), default=-1) + 1
    for slot in last:
        slot.layer = lowest


def _with_lines(
    slots: Sequence[LayerSlot], nets: Sequence[tuple[Any, LayerSlot, Sequence[LayerSlot]]]
) -> tuple[list[list[LayerSlot]], list[Link]]:
    """The layers, and the links. A net that passes layers has one line there, from which all its sinks are reached."""
    rows: list[list[LayerSlot]] = [[] for _ in range(1 + max((slot.layer for slot in slots), default=0))]
    for slot in slots:
        rows[slot.layer].append(slot)
    links: list[Link] = []
    for net, source, sinks in nets:
        at = source
        for layer in range(source.layer + 1, 1 + max(sink.layer for sink in sinks)):
            links += [Link(at, sink, net) for sink in sinks if sink.layer == layer]
            if any(sink.layer > layer for sink in sinks):
                line = LayerSlot(None, 0.0, 0.0, source.turn, layer=layer)
                rows[layer].append(line)
                links.append(Link(at, line, net))
                at = line
    for row in rows:
        row.sort(key=lambda slot: slot.turn)
    return rows, links


def _order(rows: list[list[LayerSlot]], links: Sequence[Link], held: set[int]) -> int:
    """Orders each layer by the means of its neighbours, down and up in turns. Gives the crossings of the best order."""
    above: dict[LayerSlot, list[Link]] = {}
    below: dict[LayerSlot, list[Link]] = {}
    for link in links:
        above.setdefault(link.lower, []).append(link)
        below.setdefault(link.upper, []).append(link)
    best, least = [list(row) for row in rows], _crossings(rows, links)
    last_gain = -1
    for turn in range(_ORDERINGS):
        if not least or turn - last_gain > _IN_VAIN:
            break
        downwards = turn % 2 == 0
        for number in range(len(rows)) if downwards else reversed(range(len(rows))):
            if number not in held:
                _order_row(rows, number, above if downwards else below, downwards)
        if (count := _crossings(rows, links)) < least:
            best, least, last_gain = [list(row) for row in rows], count, turn
    rows[:] = best
    return least


def _order_row(rows: list[list[LayerSlot]], number: int, near: Mapping[LayerSlot, list[Link]], downwards: bool) -> None:
    other = number + (-1 if downwards else 1)
    if not 0 <= other < len(rows):
        return
    places = {slot: place for place, slot in enumerate(rows[other])}

    def wanted(pair: tuple[int, LayerSlot]) -> float:
        own, slot = pair
        met = [_fraction(link, places, downwards) for link in near.get(slot, ())]
        return sum(met) / len(met) if met else own * max(1, len(rows[other])) / len(rows[number])

    rows[number] = [slot for _, slot in sorted(enumerate(rows[number]), key=wanted)]


def _fraction(link: Link, places: Mapping[LayerSlot, int], is_upper: bool) -> float:
    """The place of the end of a link in its layer, with how far along its slot it is."""
    slot, edge = (link.upper, link.upper.below) if is_upper else (link.lower, link.lower.above)
    return places[slot] + edge.get(link.net, 0.0) / (slot.width + 1.0)


def _crossings(rows: Sequence[Sequence[LayerSlot]], links: Sequence[Link]) -> int:
    places = {slot: place for row in rows for place, slot in enumerate(row)}
    by_layer: dict[int, list[tuple[float, float]]] = {}
    for link in links:
        pair = _fraction(link, places, True), _fraction(link, places, False)
        by_layer.setdefault(link.upper.layer, []).append(pair)
    count = 0
    for pairs in by_layer.values():
        seen: list[float] = []
        for _, end in sorted(pairs):
            count += len(seen) - bisect.bisect_right(seen, end)
            bisect.insort(seen, end)
    return count


def _place(rows: Sequence[Sequence[LayerSlot]], links: Sequence[Link], column: set[LayerSlot]) -> None:
    """Gives each slot its x: near the middle of those that it is linked with, and apart from those beside it."""
    near: dict[LayerSlot, list[tuple[Link, bool]]] = {slot: [] for row in rows for slot in row}
    for link in links:
        near[link.lower].append((link, True))
        near[link.upper].append((link, False))
    for row in rows:
        _push_apart(row, [0.0 for _ in row], [1.0 for _ in row])
    for turn in range(_PLACINGS):
        for row in rows if turn % 2 == 0 else reversed(rows):
            wanted, weights = [], []
            for slot in row:
                shares = [(_weight(link), _wanted(link, is_lower)) for link, is_lower in near[slot]]
                if slot in column:
                    shares = [(_IN_COLUMN, 0.0)]
                total = sum(weight for weight, _ in shares)
                wanted.append(sum(weight * x for weight, x in shares) / total if total else slot.x)
                weights.append(total or 0.1)
            _push_apart(row, wanted, weights)


def _weight(link: Link) -> float:
    return _STRAIGHT if link.upper.node is None or link.lower.node is None else 1.0


def _wanted(link: Link, is_lower: bool) -> float:
    """Where one of its slots would be, for a link that is straight."""
    if is_lower:
        return link.starts - link.lower.above.get(link.net, 0.0)
    return link.ends - link.upper.below.get(link.net, 0.0)


def _push_apart(row: Sequence[LayerSlot], wanted: Sequence[float], weights: Sequence[float]) -> None:
    """The places next to those that are wanted, in the sum of weighted squares, at which the slots are apart."""
    offsets = [0.0]
    for one, other in pairwise(row):
        gap = GAP_OF_LINES if one.node is None or other.node is None else GAP_ACROSS
        offsets.append(offsets[-1] + (one.width + other.width) / 2 + gap)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, slots: pooled until the means ascend
    for x, weight, offset in zip(wanted, weights, offsets, strict=False):
        blocks.append((x - offset, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, many, n), (other, much, m) = blocks[-2], blocks[-1]
            blocks[-2:] = [((mean * many + other * much) / (many + much), many + much, n + m)]
    places = [mean for mean, _, count in blocks for _ in range(count)]
    for slot, place, offset in zip(row, places, offsets, strict=False):
        slot.x = place + offset


def _stack(rows: Sequence[Sequence[LayerSlot]], links: Sequence[Link]) -> tuple[list[float], list[float]]:
    """Gives each slot its y. Returns the upper and lower edges of the layers."""
    sideways: dict[int, float] = {}
    for link in links:
        layer = link.upper.layer
        sideways[layer] = max(sideways.get(layer, 0.0), abs(link.starts - link.ends))
    tops, bottoms, y = [], [], 0.0
    for number, row in enumerate(rows):
        height = max((slot.height for slot in row), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        for slot in row:
            slot.y = y + (height - slot.height) / 2 if slot.node is not None else y
        y += height + _GAP_DOWN + _MORE_DOWN * sideways.get(number, 0.0)
    return tops, bottoms
