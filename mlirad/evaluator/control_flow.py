"""Runs loops and branches of scf for the interpreters.

Reads: an op of scf. Writes: nothing. Gives: the values of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block

RunBlock = Callable[[Block, Sequence[Any]], Sequence[Any]]
"""Runs a block with values for its arguments, and gives the operands of its terminator."""


def run_regions(op: scf.ForOp | scf.WhileOp | scf.IfOp, operands: Sequence[Any], run: RunBlock) -> Sequence[Any]:
    match op:
        case scf.ForOp():
            lower, upper, step, *carried = operands
            for index in range(int(lower), int(upper), int(step)):
                carried = run(op.body.block, (np.int64(index), *carried))
            return carried
        case scf.WhileOp():
            carried: Sequence[Any] = operands
            while True:
                condition, *carried = run(op.before_region.block, carried)
                if not condition:
                    return carried
                carried = run(op.after_region.block, carried)
        case scf.IfOp():
            region = op.true_region if operands[0] else op.false_region
            return run(region.block, ()) if region.blocks else ()
