"""What `x[mask]` is where the mask is known at run time only: an array whose length depends on data.

Reads: contents and masks. Writes: selects. Leaves: Selected values, which know their elements in place of their shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit, where
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.movement import TransposeOp, broadcast
from mlirad.dialect.ops.reduction import SumOp
from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.values import sizes
from mlirad.frontend.values.python_operators import Operators
from mlirad.frontend.values.traced import DATA, Traced, visible, visible_shape

HINT = "consume it at once (x[m] += 1, x[m].sum(), x[m] = y[m]), or keep the shape: np.where(m, x, 0.0)"


@dataclass(frozen=True, eq=False)
class Selected(Operators):
    """The elements of an array that a mask selects.

    values: an array with the mask's axes from number `axis` on, where the selection has one axis; what it holds where
    the mask is false is of no account. mask: bools.
    """

    values: Traced
    mask: Traced
    axis: int

    # Strong, and an array, for those who ask as they ask a Traced value.
    weak = False
    zero_d = False
    is_array = True

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return self.values.ndim - self.mask.ndim + 1

    @property
    def trailing(self) -> int:
        """How many axes stand after the one that the mask makes."""
        return self.ndim - self.axis - 1

    @property
    def mask_axes(self) -> tuple[int, ...]:
        return tuple(range(self.axis, self.axis + self.mask.ndim))

    @property
    def shape(self) -> tuple[int | Traced, ...]:
        """The shape, with the number of selected elements in it."""
        whole = visible_shape(self.values.shape)
        return (*whole[: self.axis], self.count, *whole[self.axis + self.mask.ndim :])

    @property
    def size(self) -> Traced | int:
        whole = self.values.shape
        others = visible(sizes.total((*whole[: self.axis], *whole[self.axis + self.mask.ndim :])))
        return self.count if isinstance(others, int) and others == 1 else self.count * others

    @property
    def count(self) -> Traced:
        """How often the mask holds, a Python int."""
        held = cast_expr(self.mask.expr, types.I64)
        return Traced(emit(SumOp, held, axes=range(self.mask.ndim)), weak=True, origins=frozenset({DATA}))

    @property
    def spread(self) -> Expr:
        """The mask in the shape of the values."""
        return _spread(self.mask, self.axis, self.values.shape)

    def filled(self, number: Any) -> Traced:
        """The values, with `number` where the mask is false."""
        return Traced(where(self.spread, self.values.expr, number), origins=frozenset({DATA}))

    @property
    def harmless(self) -> Traced:
        """The values, with 1 where the mask is false: there, no function is nan, nor its derivative times 0."""
        return self.filled(True if self.dtype == bool else 1)

    def as_operand(self) -> Any:
        raise refusal("an operand of this operation has to have one")

    def __repr__(self) -> str:
        return f"<masked selection of {self.dtype}{list(self.values.shape)}>"

    def __len__(self) -> int:
        raise refusal("its length is needed here")


def refusal(why: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(f"a masked selection has no shape that is known at compile time: {why}", hint=HINT)


def select(contents: Expr, mask: Traced, start: int, at: int) -> Selected:
    """The elements of an array that a mask of the axes from `start` on selects; their axis is number `at` of them."""
    order = _order(len(contents.shape), start, mask.ndim, at)
    return Selected(Traced(_transposed(contents, order), origins=frozenset({DATA})), mask, at)


def transposed(x: Selected) -> Selected:
    """`x.T`."""
    count = x.mask.ndim
    groups = [[axis] for axis in range(x.axis)] + [list(x.mask_axes)]
    groups += [[axis] for axis in range(x.axis + count, x.values.ndim)]
    order = [axis for group in reversed(groups) for axis in group]
    return Selected(Traced(_transposed(x.values.expr, order), origins=x.values.origins), x.mask, x.trailing)


def put(contents: Expr, new: Expr, mask: Traced, start: int, at: int) -> Expr:
    """The contents with those elements replaced by what `new` has there, whose axes are as `select` gives them."""
    order = _order(len(contents.shape), start, mask.ndim, at)
    back = _transposed(new, [order.index(axis) for axis in range(len(order))])
    return where(_spread(mask, start, sizes.shape_of(contents)), back, contents)


def _spread(mask: Traced, axis: int, shape: sizes.Shape) -> Expr:
    """A mask of the axes from `axis` on of an array of that shape, in the shape."""
    axes = range(axis, axis + mask.ndim)
    own = sizes.fitted(mask.expr, [shape[number] for number in axes])
    return broadcast(own, axes, sizes.pattern(shape), sizes.lengths(shape))


def _order(rank: int, start: int, count: int, at: int) -> list[int]:
    """The axes, with the mask's in front of number `at` of the others."""
    others = [axis for axis in range(rank) if not start <= axis < start + count]
    return [*others[:at], *range(start, start + count), *others[at:]]


def _transposed(x: Expr, order: list[int]) -> Expr:
    return x if order == sorted(order) else emit(TransposeOp, x, permutation=order)


def is_same_value(first: SSAValue, second: SSAValue) -> bool:
    """Whether two values are equal for certain: the same, or computed alike from the same."""
    pairs, seen = [(first, second)], set[tuple[SSAValue, SSAValue]]()
    while pairs:
        a, b = pairs.pop()
        if a is b or (a, b) in seen:
            continue
        seen.add((a, b))
        one, other = a.owner, b.owner
        if not isinstance(one, Operation) or not isinstance(other, Operation) or type(one) is not type(other):
            return False
        alike = (
            a.type == b.type
            and one.properties == other.properties
            and len(one.operands) == len(other.operands)
            and not one.regions
            and is_side_effect_free(one)
        )
        if not alike or list(one.results).index(a) != list(other.results).index(b):  # type: ignore[arg-type]
            return False
        pairs += zip(one.operands, other.operands, strict=True)
    return True
