"""How long a call may take. Reads: a function of stage `loops`. Writes: nothing. Leaves: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation

from mlirad.analysis import cost
from mlirad.analysis.loops import trip_count

SHORT = 20_000
"""The most that a short call costs: some ten microseconds. While it runs it keeps the interpreter's lock, whose
release and return would cost fifty nanoseconds."""

_DEEPEST = 64
"""Of blocks in blocks. What is nested deeper counts as long: Python's stack has an end."""


def is_long(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> bool:
    """Whether a call may cost more than SHORT, or more than is known."""
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
            return cost.of_call(op) + self._of_callee(op, callers)
        if isinstance(op, cost.MOVES):
            return cost.of_move(op)
        inner = sum(self.of_block(block, callers) for region in op.regions for block in region.blocks)
        if isinstance(op, scf.WhileOp | scf.ParallelOp):
            return inf
        trips = trip_count(op) if isinstance(op, scf.ForOp) else 1
        return cost.of_op(op) + inner * (inf if trips is None else trips)

    def _of_callee(self, op: func.CallOp, callers: frozenset[func.FuncOp]) -> float:
        if cost.is_bounded(op):
            return 0
        callee = self._functions.get(op.callee.string_value())
        return inf if callee is None or callee in callers else self.of_block(callee.body.block, callers | {callee})
