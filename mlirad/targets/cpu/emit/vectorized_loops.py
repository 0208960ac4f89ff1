"""Finds loops that LLVM need not vectorise. Reads: a function of stage `loops`. Writes: which loops already use
vectors, and whether the module has other loops. Leaves: its ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from mlirad.targets.cpu.emit.function import FunctionEmitter


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
