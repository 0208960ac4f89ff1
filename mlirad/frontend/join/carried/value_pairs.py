"""The pairs of values that the merge of two states merges.

Reads: the correspondence of the two sides. Writes: nothing. Leaves: pairs of values and their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlirad.frontend.join.merging.correspondence import Correspondence
from mlirad.frontend.values.state import Place
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Static, Tuple, Value, bare

_MOVED = Static | Traced | Ref


@dataclass(frozen=True, eq=False)
class ValuePair:
    """The two values of a place of a merged state: before a loop and after an iteration, or in two branches.

    walked: the place, reached from a name. own: the place in the second state.
    """

    place: Place
    walked: Place
    own: Place
    before: Value
    after: Value


def value_pairs(paired: Correspondence) -> Iterator[ValuePair]:
    """The places where both of two merged states have a value, down to the values that contain no others."""
    for place, a, b in paired.places():
        yield from _pairs_in(place, place, place, a, b)
    for number, (left, right) in paired.objects.sides.items():
        walked = paired.walked.get((left, right))
        if left is None or right is None or walked is None or paired.left is None or paired.right is None:
            continue
        old, new = paired.left.heap[left], paired.right.heap[right]
        if (old.kind, old.keys, old.growth) == (new.kind, new.keys, None):
            for index, (a, b) in enumerate(zip(old.items, new.items, strict=True)):
                own = ("item", right, index)
                yield from _pairs_in(("item", number, index), (*walked, "item", index), own, a, b)


def _pairs_in(place: Place, walked: Place, own: Place, a: Value | None, b: Value | None) -> Iterator[ValuePair]:
    a, b = (side if side is None else bare(side) for side in (a, b))
    if isinstance(a, _MOVED) and isinstance(b, _MOVED):
        yield ValuePair(place, walked, own, a, b)
    elif isinstance(a, Tuple) and isinstance(b, Tuple) and (a.kind, len(a.items)) == (b.kind, len(b.items)):
        for index, (x, y) in enumerate(zip(a.items, b.items, strict=True)):
            yield from _pairs_in((*place, index), (*walked, index), (*own, index), x, y)
