"""Reads: a function of stage `bufferized`. Writes: nothing. Leaves: how many elements a call of it touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from compare_buffers import run_bufferized
from run_tensors import Machine
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Operation

from mlirad.testing.scalar_ops import is_scalar, scalar


class Counting(Machine):
    """A machine that counts the elements that are loaded, stored and copied, and the points of linalg ops."""

    work = 0

    def _op(self, op: Operation) -> Sequence[Any]:
        if is_scalar(op):
            return [scalar(op, self._all(op.operands))]
        if isinstance(op, LinalgStructuredOperation):
            self.work += max(np.size(value) for value in self._all(op.operands))
        elif isinstance(op, memref.LoadOp | memref.StoreOp):
            self.work += 1
        elif isinstance(op, memref.CopyOp):
            self.work += self._all(op.operands)[0].size
        return super()._op(op)


def work_of(module: ModuleOp, args: Sequence[Any]) -> int:
    _, machine = run_bufferized(module, args, kind=Counting)
    assert isinstance(machine, Counting)
    return machine.work
