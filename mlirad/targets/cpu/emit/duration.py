"""How long a call may take. Reads: a function of stage `loops`. Writes: nothing. Leaves: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation

from mlirad.analysis import cost
from mlirad.analysis.loops import trip_count

SHORT = 20_000
"""The highest cost of a short call: some ten microseconds. A short call keeps the interpreter's lock; releasing it and
taking it again would cost fifty nanoseconds."""

_DEEPEST = 64
"""The limit for nested blocks. Deeper nests count as long, because Python's stack is limited."""


def is_long(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> bool:
    """Whether a call may cost more than SHORT, or its cost is unknown."""
    return _Estimate(functions).of_function(function.sym_name.data) > SHORT


class _Estimate:
    def __init__(self, functions: Mapping[str, func.FuncOp]):
        self._functions = functions
        self._costs: dict[str, float] = {}
        self._depth = 0

    def of_function(self, name: str) -> float:
        if name not in self._costs:
            self._costs[name] = inf  # while it is being estimated, for recursive functions
            if name in self._functions:
                self._costs[name] = self.of_block(self._functions[name].body.block)
        return self._costs[name]

    def of_block(self, block: Block) -> float:
        if self._depth == _DEEPEST:
            return inf
        self._depth += 1
        total = 0.0
        for op in block.ops:
            total += self._of(op)
            if total > SHORT:
                total = inf
                break
        self._depth -= 1
        return total

    def _of(self, op: Operation) -> float:
        if isinstance(op, func.CallOp):
            cost_of_callee = 0 if cost.is_bounded(op) else self.of_function(op.callee.string_value())
            return cost.of_call(op) + cost_of_callee
        if isinstance(op, cost.MOVES):
            return cost.of_move(op)
        inner = sum(self.of_block(block) for region in op.regions for block in region.blocks)
        if isinstance(op, scf.WhileOp | scf.ParallelOp):
            return inf
        trips = trip_count(op) if isinstance(op, scf.ForOp) else 1
        return cost.of_op(op) + inner * (inf if trips is None else trips)
