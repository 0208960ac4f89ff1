"""Finds loops that LLVM need not or should not vectorise or unroll.

Reads: a function of stage `loops`. Writes: which loops already use vectors, and what the module's other loops gain from
LLVM. Leaves: its ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import trip_count
from mlirad.targets.cpu.emit.function import FunctionEmitter, ops_in
from mlirad.xdsl_support.traversal import ops_of


def find_vectorized_loops(e: FunctionEmitter, function: func.FuncOp, ops: Sequence[Operation]) -> None:
    """Find the loops around ops on vectors."""
    for op in ops:
        is_vector = op.name.startswith("vector.")
        if isinstance(op, func.CallOp):
            is_vector = op.callee.string_value() in e.module.leaves
        if is_vector:
            parent = op.parent_op()
            while parent is not None and parent is not function and parent not in e.vectorized:
                e.vectorized.add(parent)
                parent = parent.parent_op()


def note_what_is_left(e: FunctionEmitter, ops: Sequence[Operation]) -> None:
    """Vector loops need not be unrolled either. A module without other loops is finished, except for its calls. If its
    other loops go across rows, they are only unrolled."""
    module = e.module
    separate = {inner for op in e.separate for inner in (op, *ops_in(op))}
    others = [op for op in ops if op.__class__ in _LOOPS and op not in e.vectorized and op not in separate]
    if others:
        module.is_finished = False
    if not separate and not all(isinstance(op, scf.ForOp) and goes_across_rows(op) for op in others):
        module.is_vectorized = False
    called = {op.callee.string_value() for op in ops if isinstance(op, func.CallOp)}
    if not module.functions.keys().isdisjoint(called):
        module.is_finished = module.is_vectorized = False


def goes_across_rows(op: scf.ForOp) -> bool:
    """Whether a loop of cheap arithmetic accesses an element of another row in each trip.

    LLVM would fill vectors number by number, and compute each address by a product, which takes longer than the
    arithmetic. A loop that carries floats counts only if LLVM may not reorder its sums: otherwise, vectors add up
    several at a time.
    """
    block = op.body.block
    if not all(map(_is_rounded_in_order, _carried_floats(block))):
        return False
    moving: set[SSAValue] = {block.args[0]}
    is_across, accesses, divisions = False, 0, 0
    for inner in ops_of(block):
        if inner.regions or isinstance(inner, func.CallOp) or inner.name.startswith("math."):
            return False
        if isinstance(inner, memref.LoadOp | memref.StoreOp):
            accesses += 1
            is_across = is_across or not moving.isdisjoint(_subscripts_of_rows(inner))
        elif isinstance(inner, arith.DivfOp):
            divisions += 1
        elif isinstance(inner, _SUBSCRIPTS) and not moving.isdisjoint(inner.operands):
            moving.add(inner.results[0])
    return is_across and divisions * _DIVISION <= accesses


def goes_around_rows(op: scf.ForOp) -> bool:
    """Whether the loops directly inside a loop go across rows, and both together make too many trips to be unrolled.

    LLVM would unroll the inner loop, and then the outer one, whose body is long by then.
    """
    inside = [inner for inner in ops_of(op.body.block) if isinstance(inner, scf.ForOp)]
    return any(goes_across_rows(inner) and not _is_small(op, inner) for inner in inside)


def _is_small(outer: scf.ForOp, inner: scf.ForOp) -> bool:
    trips = trip_count(outer), trip_count(inner)
    return trips[0] is not None and trips[1] is not None and trips[0] * trips[1] <= _UNROLLED


def _carried_floats(block: Block) -> list[SSAValue]:
    assert block.last_op is not None
    return [value for value in block.last_op.operands if isinstance(value.type, AnyFloat)]


def _is_rounded_in_order(value: SSAValue) -> bool:
    """Whether it is a sum or product whose terms LLVM may not reorder."""
    op = value.owner
    return isinstance(op, _SUMS) and (op.fastmath is None or not op.fastmath.data)


_LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)

_UNROLLED = 64
"""The most trips that two loops make together if LLVM may unroll both. Small matrices then stay in registers."""

_DIVISION = 3
"""Vectors divide faster, which pays if there are fewer accesses than this for each division."""

_SUMS = (arith.AddfOp, arith.SubfOp, arith.MulfOp)
"""The ops that LLVM would vectorise over trips if it could reorder them."""

_SUBSCRIPTS = (arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""The ops that compute subscripts."""


def _subscripts_of_rows(op: memref.LoadOp | memref.StoreOp) -> list[SSAValue]:
    """The subscripts that step from one row to another: neighbouring indices are not neighbouring elements."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    return [index for index, stride in zip(op.indices, type.get_strides() or (), strict=False) if stride not in (1, -1)]
