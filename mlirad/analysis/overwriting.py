"""How much of an array is overwritten: a lower bound for what undoing the writes stores.

Reads: nd ops and scf. Writes: nothing. Leaves: a number of elements.
"""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects import scf
from xdsl.ir import OpResult, SSAValue

from mlirad.analysis.loops import Loop, branches, trip_count, yields
from mlirad.dialect.core import types
from mlirad.dialect.core.op import written_subset
from mlirad.dialect.ops.elementwise import ElementwiseOp


def elements_written(value: SSAValue, start: SSAValue) -> float:
    """A lower bound for the elements written between the array `start` and its later version `value`.

    An element that is written twice counts twice. Infinity if every element is computed again; 0 if nothing is known.
    """
    count = 0.0
    while value is not start:
        op = value.owner
        if (subset := written_subset(op)) is not None:
            size = prod(types.shape(subset.part.type)) if types.is_tensor(subset.part.type) else 1
            count += max(0, size)
            value = subset.array
        elif isinstance(op, scf.ForOp) and isinstance(value, OpResult):
            loop = Loop(op)
            trips = trip_count(op)
            each = elements_written(loop.yielded[0][value.index], loop.region_args[0][value.index]) if trips else 0.0
            count += each * (trips or 0)
            value = loop.inits[value.index]
        elif isinstance(op, scf.IfOp) and isinstance(value, OpResult):
            return count + min(elements_written(yields(branch)[value.index], start) for branch in branches(op))
        else:
            return inf if isinstance(op, ElementwiseOp) else count
    return count
