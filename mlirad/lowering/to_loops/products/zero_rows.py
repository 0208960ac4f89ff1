"""Skips rows of a product that only add zeros, because a tangent is zero there.

Reads: the rows of a product's first factor that a row of tiles reads. Writes: a test of them, around the loops over
columns. Leaves: products that store their sums, and factors that are not tangents: 0 times inf is nan.

    before                                            after
    for i: for j:                                     for i:
        c[i, j] += sum(a[i, :] * b[:, j]) * w[j]          if not all(a[i, :] == 0):
                                                              for j: c[i, j] += sum(a[i, :] * b[:, j]) * w[j]

Most directions of a Jacobian leave most parts of a program as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import SSAValue

from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.products.matched_product import Contraction

_Range = tuple[Index, Index]

_EQUAL = IntegerAttr(1, i64)  # ordered: nan is not zero
_EXACT = arith.FastMathFlagsAttr("none")
_FEW = 64
"""So many elements are tested without a loop."""


def unless_zero(
    builder: LoopBuilder,
    product: Contraction,
    here: Mapping[int, Index],
    rows: Sequence[Index],
    steps: _Range,
    block: Callable[[], None],
) -> None:
    """`block()`, if these rows of the first factor have an element that is not 0 at these steps of k."""
    type = product.a.element

    def tested(step: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_zero = values[0]
        for row in rows:
            place = product.a.place(builder, {**here, product.i: row, product.k: step})
            element = builder.load(product.a.value, place)
            equal = builder.op(arith.CmpfOp, [element, builder.number(0, type)], i1, predicate=_EQUAL, fastmath=_EXACT)
            is_zero = builder.op(arith.AndIOp, [is_zero, equal], i1)
        return [is_zero]

    def compute() -> Sequence[SSAValue]:
        block()
        return ()

    first, last = steps
    start = [builder.constant(IntegerAttr(1, i1), i1)]
    is_short = isinstance(first, int) and isinstance(last, int) and (last - first) * len(rows) <= _FEW
    if is_short:
        with builder.unrolled():
            (is_zero,) = builder.loop(first, last, 1, start, tested)
    else:
        (is_zero,) = builder.loop(first, last, 1, start, tested)
    builder.either(is_zero, [], lambda: (), compute)
