"""How long a call may take. Reads: a function of stage `loops`. Writes: nothing. Leaves: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Block, Operation

from mlirad.analysis.loops import trip_count
from mlirad.lowering.to_loops.leaf_functions import WORK

SHORT = 20_000
"""The most operations of a short call: some ten microseconds. While it runs it keeps the interpreter's lock, whose
release and return would cost fifty nanoseconds."""

_DEEPEST = 64
"""Of blocks in blocks. What is nested deeper counts as long: Python's stack has an end."""
MOVES = (memref.CopyOp, FillOp)
"""What moves memory, a quarter of a cycle an element or so."""


def is_long(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> bool:
    """Whether a call may run more operations than SHORT, or more than are known."""
    return _Estimate(functions).of_block(function.body.block, frozenset([function])) > SHORT


class _Estimate:
    def __init__(self, functions: Mapping[str, func.FuncOp]):
        self._functions = functions
        self._depth = 0

    def of_block(self, block: Block, callers: frozenset[func.FuncOp]) -> float:
        if self._depth == _DEEPEST:
            return inf
        self._depth += 1
        total = 0.0
        for op in block.ops:
            total += self._of(op, callers)
            if total > SHORT:
                total = inf
                break
        self._depth -= 1
        return total

    def _of(self, op: Operation, callers: frozenset[func.FuncOp]) -> float:
        if isinstance(op, func.CallOp):
            return self._of_call(op, callers)
        if isinstance(op, MOVES):
            moved = elements_moved(op)
            return inf if moved is None else 1 + work_of_move(moved)
        inner = sum(self.of_block(block, callers) for region in op.regions for block in region.blocks)
        if isinstance(op, scf.WhileOp | scf.ParallelOp):
            return inf
        trips = trip_count(op) if isinstance(op, scf.ForOp) else 1
        return 1 + inner * (inf if trips is None else trips)

    def _of_call(self, op: func.CallOp, callers: frozenset[func.FuncOp]) -> float:
        name = op.callee.string_value()
        if (work := op.attributes.get(WORK)) is not None:
            assert isinstance(work, IntegerAttr)
            return work.value.data
        if name.startswith(("mlirad_check", "mlirad_grow")):
            return 4
        callee = self._functions.get(name)
        if callee is None or callee in callers:
            return inf
        return 8 + self.of_block(callee.body.block, callers | {callee})


def elements_moved(op: Operation) -> int | None:
    """How many elements a copy, or a fill, writes; None if only the run knows."""
    shapes = [value.type.get_shape() for value in op.operands if isinstance(value.type, MemRefType)]
    return next((prod(shape) for shape in shapes if DYNAMIC_INDEX not in shape), None)


def work_of_move(elements: int) -> int:
    """In operations."""
    return elements // 4
