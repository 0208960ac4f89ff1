"""Merges two references to arrays: they may be to different arrays, or to different views of one.

Reads: the references of two states. Writes: columns for the selectors, the params of views and the elements in use.
Leaves: a reference to any of the arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.frontend.join.disagreements import Disagreements
from mlirad.frontend.join.join_columns import Columns, Operand
from mlirad.frontend.join.merging.correspondence import Pairing
from mlirad.frontend.join.selectors import contents_of, renumbered
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.values import (
    Alternative,
    Ref,
    Snapshot,
)
from mlirad.frontend.values.views.view import View, safe_params
from mlirad.frontend.values.views.view_steps import is_same_start


@dataclass
class References:
    """The references of one merge, with its two sides, its columns, the pairs of its cells and its origins.

    loop: the loop, if this is the merge of its header. selectors: those created so far, by what they come from.
    """

    left: State | None
    right: State | None
    columns: Columns
    cells: Pairing
    origins: frozenset
    loop: Hashable | None
    why: Disagreements
    selectors: dict[Hashable, Expr] = field(default_factory=dict)

    def array(self, place: Place, a: Ref, b: Ref, store: Mapping[int, Expr]) -> Ref | Poison:
        """Merge two references: the union of their alternatives."""
        left = {(self.cells.left[x.cell], x.view.lens): x.view for x in a.alternatives}
        right = {(self.cells.right[x.cell], x.view.lens): x.view for x in b.alternatives}
        if len(left) < len(a.alternatives) or len(right) < len(b.alternatives):
            # Two arrays have been merged, and these are different views of the result: no selector distinguishes them.
            return self.why.poison(place, "may be either of two views of one array here", hint="give each a .copy()")
        keys = sorted({*left, *right}, key=_key_order)
        if set(left) != set(right) and not all(view.is_static for view in (*left.values(), *right.values())):
            # On the side that does not use it, a view must have the size of the one that is used.
            why = "may be either of two arrays here, whose sizes are known only at run time"
            return self.why.poison(place, why, hint="give each a .copy()")
        alternatives = tuple(
            Alternative(key[0], self.view((place, "view", key), left.get(key), right.get(key))) for key in keys
        )
        if len(keys) == 1:
            return Ref(alternatives)
        selector = self.selector(
            place,
            self.selector_of(a, [keys.index(key) for key in left], self.columns.left),
            self.selector_of(b, [keys.index(key) for key in right], self.columns.right),
        )
        return Ref(alternatives, selector, self.snapshot(place, a, b, alternatives, store))

    def snapshot(
        self, place: Place, a: Ref, b: Ref, alternatives: tuple[Alternative, ...], store: Mapping[int, Expr]
    ) -> Snapshot | None:
        """The elements of one of several arrays. A loop carries them, and so selects an array only where it writes
        one."""
        first = alternatives[0].view
        if any(not each.view.is_static or each.view.strides != first.strides for each in alternatives):
            return None
        if not first.ndim or 0 in first.pattern:
            return None
        assert self.left is not None and self.right is not None
        left, right = a.current(self.left.store), b.current(self.right.store)
        if self.loop is None and left is None and right is None:
            return None
        view = View.of(first.shape, first.dtype, first.strides)
        cells = tuple(store[each.cell] for each in alternatives)
        if left is not None and right is not None and left.contents.value is right.contents.value:
            if left.view.steps == right.view.steps and all(map(is_same_start, left.view.params, right.view.params)):
                return Snapshot(left.view, left.contents, cells)
        contents = [
            on_side(lambda ref=ref, store=state.store: contents_of(ref, store))
            for ref, state, on_side in ((a, self.left, self.columns.on_left), (b, self.right, self.columns.on_right))
        ]
        carried = self.columns.request((place, "contents"), contents[0].type, contents[0], contents[1])
        return Snapshot(view, carried, cells)

    def selector(self, place: Place, a: Operand, b: Operand) -> Expr:
        """Merge two selectors. References with the same selectors on both sides share the result, so later joins see
        that they choose alike."""
        key = tuple(operand.value if isinstance(operand, Expr) else operand for operand in (a, b))
        if key not in self.selectors:
            self.selectors[key] = self.columns.request((place, "selector"), types.I64, a, b)
        return self.selectors[key]

    def selector_of(self, ref: Ref, positions: list[int], block: Block) -> Operand:
        """A side's selector, renumbered for the merged alternatives."""
        if ref.selector is None:
            return positions[0]
        if positions == list(range(len(positions))):
            return ref.selector
        key = ref.selector.value, tuple(positions), block
        if key not in self.selectors:
            with building(block):
                self.selectors[key] = renumbered(ref.selector, positions)
        return self.selectors[key]

    def view(self, key: Hashable, a: View | None, b: View | None) -> View:
        """Merge two views with the same steps. On a side that does not use a view, its starts must still be in
        range."""
        present = a if a is not None else b
        assert present is not None
        params: list[int | Expr] = []
        for index, safe in enumerate(safe_params(present)):
            x, y = (None if view is None else view.params[index] for view in (a, b))
            if not isinstance(x, Expr) and not isinstance(y, Expr) and (x == y or x is None or y is None):
                static = y if x is None else x
                assert static is not None
                params.append(static)
            else:
                params.append(self.columns.request((key, index), types.I64, x, y, filler=safe, share=False))
        origins = present.origins | (b.origins if b is not None else frozenset())
        if not present.is_static and any(isinstance(x, Expr) and self.columns.is_column(x) for x in params):
            origins |= self.origins
        return dataclasses.replace(present, params=tuple(params), origins=origins)


def _key_order(key: tuple[int, Hashable]) -> tuple[int, str]:
    return key[0], repr(key[1])
