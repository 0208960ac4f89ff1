"""Finds loops that LLVM need not or should not vectorise or unroll.

Reads: a function of stage `loops`. Writes: which loops already use vectors, and whether the module has other loops.
Leaves: its ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, MemRefType
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import trip_count
from mlirad.targets.cpu.emit.function import FunctionEmitter
from mlirad.xdsl_support.traversal import ops_of


def find_vectorized_loops(e: FunctionEmitter, function: func.FuncOp, ops: Sequence[Operation]) -> None:
    """Vector loops need not be unrolled either. A module without other loops is finished, except for its calls."""
    module = e.module
    called: set[str] = set()
    for op in ops:
        is_vector = op.name.startswith("vector.")
        if isinstance(op, func.CallOp):
            callee = op.callee.string_value()
            called.add(callee)
            is_vector = callee in module.leaves
        if is_vector:
            parent = op.parent_op()
            while parent is not None and parent is not function and parent not in e.vectorized:
                e.vectorized.add(parent)
                parent = parent.parent_op()
    loops = [op for op in ops if op.__class__ in (scf.ForOp, scf.WhileOp, scf.ParallelOp)]
    if any(op not in e.vectorized for op in loops) or not module.functions.keys().isdisjoint(called):
        module.is_finished = False


def goes_across_rows(op: scf.ForOp) -> bool:
    """Whether a loop of cheap arithmetic accesses an element of another row in each trip.

    LLVM would fill vectors number by number, and compute each address by a product, which takes longer than the
    arithmetic. A loop that carries floats is not counted: with vectors it adds up several sums at a time.
    """
    if any(isinstance(result.type, AnyFloat) for result in op.results):
        return False
    moving: set[SSAValue] = {op.body.block.args[0]}
    is_across = False
    for inner in ops_of(op.body.block):
        if inner.regions or isinstance(inner, arith.DivfOp | func.CallOp) or inner.name.startswith("math."):
            return False
        if isinstance(inner, memref.LoadOp | memref.StoreOp):
            is_across = is_across or not moving.isdisjoint(_subscripts_of_rows(inner))
        elif isinstance(inner, _SUBSCRIPTS) and not moving.isdisjoint(inner.operands):
            moving.add(inner.results[0])
    return is_across


def goes_around_rows(op: scf.ForOp) -> bool:
    """Whether the loops directly inside a loop go across rows, and both together make too many trips to be unrolled.

    LLVM would unroll the inner loop, and then the outer one, whose body is long by then.
    """
    inside = [inner for inner in ops_of(op.body.block) if isinstance(inner, scf.ForOp)]
    return any(goes_across_rows(inner) and not _is_small(op, inner) for inner in inside)


def _is_small(outer: scf.ForOp, inner: scf.ForOp) -> bool:
    trips = trip_count(outer), trip_count(inner)
    return trips[0] is not None and trips[1] is not None and trips[0] * trips[1] <= _UNROLLED


_UNROLLED = 64
"""The most trips that two loops make together if LLVM may unroll both. Small matrices then stay in registers."""

_SUBSCRIPTS = (arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""The ops that compute subscripts."""


def _subscripts_of_rows(op: memref.LoadOp | memref.StoreOp) -> list[SSAValue]:
    """The subscripts that step from one row to another: neighbouring indices are not neighbouring elements."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    return [index for index, stride in zip(op.indices, type.get_strides() or (), strict=False) if stride not in (1, -1)]
