"""Divides reductions over rows, such as the sum of all numbers of an array that is computed row by row.

Reads: a `PlanarSequence`. Writes: for each reduction over rows and over other axes, one over the other axes, and one
over the rows. Leaves: the sequence with the first of them; the second comes after it.

Otherwise the array would be stored for its sum:

    x = nd.sum y {axes = 0, 1}    ->    rows = nd.sum y {axes = 1}
                                        x = nd.sum rows {axes = 0}
"""

from __future__ import annotations

from dataclasses import replace as changed

from xdsl.ir import Operation

from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, emit
from mlirad.lowering.planes.planar_sequences import PlanarSequence
from mlirad.lowering.planes.planar_trips import RowAxis
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_of


def reduce_within_rows(sequence: PlanarSequence) -> PlanarSequence:
    """The same sequence with reductions within rows."""
    rows = dict(sequence.rows)
    within: dict[Operation, Operation] = {}
    later = set(sequence.later)
    for op in sequence.reduced:
        of_x = rows[op.x]
        others = [axis for axis in ints(op.axes) if axis != of_x.axis]
        place = of_x.axis - sum(axis < of_x.axis for axis in others)
        with in_place_of(op):
            part = emit(type(op), Expr(op.x), axes=others).value
            whole = emit(type(op), Expr(part), axes=[place]).value
        assert isinstance(part.owner, Operation) and isinstance(whole.owner, Operation)
        rows[part], within[op] = RowAxis(place, of_x.unit), part.owner
        later.add(whole.owner)
        replace(op, [whole])
    ops = tuple(within.get(op, op) for op in sequence.ops)
    ordered = tuple(op for op in ops_of(sequence.block) if op in later)
    return changed(sequence, ops=ops, later=ordered, rows=rows, reduced=())
