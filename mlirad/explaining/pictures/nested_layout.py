"""Places the nodes of a graph, which may lie in boxes inside of boxes, and the lines between them.

Reads: nodes of known sizes, and nets. Writes: nothing. Leaves: a `GraphLayout`.

A box is laid out alone, and is one large node of the box around it. A line that enters or leaves it has a port on its
edge. Inside and outside agree on the order of the ports in a second turn, if that saves crossings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mlirad.explaining.pictures.layers import GAP_OF_LINES, Layers, LayerSlot, in_layers

_PADDING, _HEADING = 14.0, 24.0
_TURNS = 3


@dataclass(eq=False)
class GraphNode:
    """A leaf of a size, or a box around children. content: what is drawn.

    is_sequence: the children of the box are drawn one below the other, in their order. width: of a box, the least.
    """

    content: Any
    width: float = 0.0
    height: float = 0.0
    children: tuple[GraphNode, ...] = ()
    is_sequence: bool = False


@dataclass(frozen=True, eq=False)
class Net:
    """A value: the leaf that gives it, and the leaves that take it."""

    source: GraphNode
    sinks: tuple[GraphNode, ...]
    content: Any = None


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class GraphLine:
    """A piece of a net: down from `start` to `bend`, in a curve to `end`, down to `tip`. at: the leaf it ends on."""

    net: Net
    x: float
    start: float
    bend: float
    end_x: float
    end: float
    tip: float
    at: GraphNode | None


@dataclass(frozen=True)
class GraphLayout:
    """places: of all nodes except the outermost. crossings: an estimate of how many lines cross."""

    width: float
    height: float
    places: dict[GraphNode, Rectangle]
    lines: tuple[GraphLine, ...]
    crossings: int


def laid_out(root: GraphNode, nets: Sequence[Net], last: Sequence[GraphNode] = ()) -> GraphLayout:
    """Places all nodes in `root`. last: children of it for the lowest layer."""
    parents = {child: node for node in _boxes(root) for child in node.children}
    orders: dict[GraphNode, _PortOrder] = {}
    best: GraphLayout | None = None
    for _ in range(_TURNS if any(child.children for child in root.children) else 1):
        found = _Turn(parents, nets, last, orders).layout(root)
        if best is None or found.crossings < best.crossings:
            best = found
    assert best is not None
    return best


@dataclass
class _PortOrder:
    """Where, in the box around it, the lines of a box come from and go to."""

    inputs: dict[Net, float] = field(default_factory=dict)
    outputs: dict[Net, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Box:
    """A box that has been laid out. left, top: of its content, in the content's own coordinates."""

    slots: dict[GraphNode, LayerSlot]
    layers: Layers
    inputs: dict[Net, LayerSlot]
    outputs: dict[Net, LayerSlot]
    left: float
    width: float
    top: float
    height: float


class _Turn:
    """One layout of all boxes, the inner ones first. orders: of the ports, which it reads and then writes."""

    def __init__(
        self,
        parents: dict[GraphNode, GraphNode],
        nets: Sequence[Net],
        last: Sequence[GraphNode],
        orders: dict[GraphNode, _PortOrder],
    ):
        self.parents, self.last = parents, last
        self.before, self.orders = dict(orders), orders
        self.boxes: dict[GraphNode, _Box] = {}
        self.nets: dict[GraphNode, list[Net]] = {}
        for net in nets:
            for box in dict.fromkeys(each for leaf in (net.source, *net.sinks) for each in self._around(leaf)):
                self.nets.setdefault(box, []).append(net)
        self.places: dict[GraphNode, Rectangle] = {}
        self.lines: list[GraphLine] = []

    def layout(self, root: GraphNode) -> GraphLayout:
        self._box(root)
        box = self.boxes[root]
        self._draw(root, -box.left + _PADDING, -box.top + _PADDING)
        crossings = sum(each.layers.crossings for each in self.boxes.values())
        size = box.width + 2 * _PADDING, box.height + 2 * _PADDING
        return GraphLayout(*size, self.places, tuple(self.lines), crossings)

    def _around(self, leaf: GraphNode) -> list[GraphNode]:
        """The boxes that a leaf is in, the innermost first."""
        found = []
        while leaf in self.parents:
            leaf = self.parents[leaf]
            found.append(leaf)
        return found

    def _child(self, box: GraphNode, leaf: GraphNode) -> GraphNode | None:
        """The child of a box that a leaf is in, or is."""
        while leaf in self.parents:
            if self.parents[leaf] is box:
                return leaf
            leaf = self.parents[leaf]
        return None

    def _box(self, node: GraphNode) -> None:
        slots: dict[GraphNode, LayerSlot] = {}
        for turn, child in enumerate(node.children):
            if child.children:
                self._box(child)
                inner = self.boxes[child]
                slots[child] = LayerSlot(child, inner.width, inner.height, turn, *_ports(inner))
            else:
                slots[child] = LayerSlot(child, child.width, child.height, turn)
        inputs, outputs, nets = self._nets(node, slots)
        last = [slots[each] for each in self.last if each in slots]
        children = [slots[each] for each in node.children]
        layers = in_layers(
            [each for each in children if each not in last],
            nets,
            first=[*inputs.values()],
            last=[*outputs.values(), *last],
            column=children if node.is_sequence else (),
            fixed=node in self.before,
        )
        every = [slot for row in layers.layers for slot in row]
        margin = _PADDING if node in self.parents else 0.0
        left = min(slot.x - slot.width / 2 for slot in every) - margin
        right = max(max(slot.x + slot.width / 2 for slot in every) + margin, left + node.width)
        top = 0.0 if inputs or not margin else -_HEADING
        bottom = layers.bottoms[-1] + (0.0 if outputs else margin)
        self.boxes[node] = _Box(slots, layers, inputs, outputs, left, right - left, top, bottom - top)
        self._spread(layers)
        self._learn(layers)

    def _nets(
        self, node: GraphNode, slots: dict[GraphNode, LayerSlot]
    ) -> tuple[dict[Net, LayerSlot], dict[Net, LayerSlot], list[tuple[Net, LayerSlot, list[LayerSlot]]]]:
        """The ports of a box, and the nets in it, between its children and ports."""
        inputs: dict[Net, LayerSlot] = {}
        outputs: dict[Net, LayerSlot] = {}
        nets: list[tuple[Net, LayerSlot, list[LayerSlot]]] = []
        order = self.before.get(node, _PortOrder())
        for net in self.nets.get(node, ()):
            inner = self._child(node, net.source)
            reached = [self._child(node, sink) for sink in net.sinks]
            sinks = [slots[each] for each in dict.fromkeys(reached) if each is not None and each is not inner]
            if inner is None:
                inputs[net] = LayerSlot(None, 0.0, 0.0, order.inputs.get(net, 0.0))
            elif None in reached:
                outputs[net] = LayerSlot(None, 0.0, 0.0, order.outputs.get(net, 0.0))
                sinks.append(outputs[net])
            if sinks:
                nets.append((net, inputs[net] if inner is None else slots[inner], sinks))
        return inputs, outputs, nets

    def _spread(self, layers: Layers) -> None:
        """Lets the lines of a leaf end side by side."""
        entering: dict[LayerSlot, list[tuple[float, Net]]] = {}
        leaving: dict[LayerSlot, dict[Net, float]] = {}
        for link in layers.links:
            if link.lower.node is not None and not link.lower.node.children:
                entering.setdefault(link.lower, []).append((link.starts, link.net))
            if link.upper.node is not None and not link.upper.node.children:
                leaving.setdefault(link.upper, {})[link.net] = link.ends
        for slot, found in entering.items():
            slot.above = _side_by_side(slot.width, [net for _, net in sorted(found, key=lambda pair: pair[0])])
        for slot, ends in leaving.items():
            slot.below = _side_by_side(slot.width, sorted(ends, key=lambda net: ends[net]))

    def _learn(self, layers: Layers) -> None:
        for link in layers.links:
            if link.lower.node is not None and link.lower.node.children:
                self.orders.setdefault(link.lower.node, _PortOrder()).inputs[link.net] = link.starts
            if link.upper.node is not None and link.upper.node.children:
                self.orders.setdefault(link.upper.node, _PortOrder()).outputs[link.net] = link.ends

    def _draw(self, node: GraphNode, x: float, y: float) -> None:
        """Gives the nodes and lines of a box their places. x, y: what is added to its coordinates."""
        box = self.boxes[node]
        tops, bottoms = box.layers.tops, box.layers.bottoms
        for child, slot in box.slots.items():
            place = Rectangle(x + slot.x - slot.width / 2, y + slot.y, slot.width, slot.height)
            self.places[child] = place
            if child.children:
                inner = self.boxes[child]
                self._draw(child, place.x - inner.left, place.y - inner.top)
        for link in box.layers.links:
            upper, lower = link.upper, link.lower
            start = tops[upper.layer] if upper.node is None else upper.y + upper.height
            tip = tops[lower.layer] if lower.node is None else lower.y
            at = lower.node if lower.node is not None and not lower.node.children else None
            bend, end = bottoms[upper.layer], tops[lower.layer]
            self.lines.append(
                GraphLine(link.net, x + link.starts, y + start, y + bend, x + link.ends, y + end, y + tip, at)
            )


def _boxes(node: GraphNode) -> list[GraphNode]:
    return [node, *(inner for child in node.children if child.children for inner in _boxes(child))]


def _ports(box: _Box) -> tuple[dict[Net, float], dict[Net, float]]:
    """Where the inputs and outputs of a box are on its edges, from its middle."""
    middle = box.left + box.width / 2
    inputs, outputs = ({net: slot.x - middle for net, slot in each.items()} for each in (box.inputs, box.outputs))
    return inputs, outputs


def _side_by_side(width: float, nets: Sequence[Net]) -> dict[Net, float]:
    gap = min(GAP_OF_LINES, width / (len(nets) + 1))
    return {net: gap * (place - (len(nets) - 1) / 2) for place, net in enumerate(nets)}
