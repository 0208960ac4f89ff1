"""Moves checks, and reads at index arrays, before the arrays that are computed above them, so that nests meet.

Reads: func, scf and nd. Writes: the same ops, in another order. Leaves: checks among numbers, the order of effects, and
ops with regions: nothing moves past them. Functions that write to their caller's arrays stay as they are: after an
error, these arrays show what was written before it.

Nests that follow one another run row by row (`share_rows.py`), and a check of indices, or a loop that reads at some,
would end such a run. What a check finds does not depend on when it is made, as long as the checks keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.call_graph import written_by
from mlirad.dialect.arrays.gather import Places
from mlirad.dialect.core import types
from mlirad.dialect.core.op import read_subset
from mlirad.dialect.ops.check import EffectOp
from mlirad.xdsl_support.effects import has_no_effect
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True)
class AdvanceChecks(ModulePass):
    """Make each check, and read at indices, as soon as the operands are known.

    Before:

        func.func @f(%x: tensor<9x4xf64>, %i: tensor<9xi64>, %n: i64) -> (tensor<9x4xf64>, tensor<9xi64>) {
          %y = nd.exp %x : tensor<9x4xf64>
          %j = nd.check_indices %i, %n {axis = 1 : i64} : tensor<9xi64>
          func.return %y, %j : tensor<9x4xf64>, tensor<9xi64>
        }

    After `mlirad-advance-checks`:

        func.func @f(%x: tensor<9x4xf64>, %i: tensor<9xi64>, %n: i64) -> (tensor<9x4xf64>, tensor<9xi64>) {
          %j = nd.check_indices %i, %n {axis = 1 : i64} : tensor<9xi64>
          %y = nd.exp %x : tensor<9x4xf64>
          func.return %y, %j : tensor<9x4xf64>, tensor<9xi64>
        }
    """

    name = "mlirad-advance-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if not isinstance(function, func.FuncOp) or written_by(function):
                continue
            for block in dict.fromkeys(check.parent for check in ops_inside(function) if isinstance(check, EffectOp)):
                assert block is not None
                _advance(block)


def _advance(block: Block) -> None:
    passed: list[Operation] = []  # the ops that the next check may move past
    for op in ops_of(block):
        if isinstance(op, EffectOp):
            passed = _advance_op(op, passed)
        elif _reads_at_indices(op):
            passed = _advance_op(op, passed) or [*passed, op]
        elif op.regions or not has_no_effect(op):
            passed = []
        else:
            passed.append(op)


def _reads_at_indices(op: Operation) -> bool:
    """Whether an op reads a number for each index, which takes little memory."""
    subset = read_subset(op)
    return isinstance(subset, Places) and len(types.shape(subset.part.type)) == 1


def _advance_op(moved: Operation, passed: Sequence[Operation]) -> list[Operation]:
    """Move an op, and what else it needs, to directly behind the last array that it needs, if there are others between.

    An array that is computed from no other array moves with it. Returns the ops between the op and its old place.
    """
    needed, block = _needed(moved, passed), moved.parent
    assert block is not None
    kept = (
        place
        for place, op in enumerate(passed)
        if op in needed and _has_arrays(op.results) and _has_arrays(op.operands)
    )
    first = max(kept, default=-1) + 1
    behind = [op for op in passed[first:] if op not in needed]
    if not any(_has_arrays(op.results) for op in behind):
        return []
    for op in (*(each for each in passed[first:] if each in needed), moved):
        op.detach()
        block.insert_op_before(op, behind[0])
    return behind


def _needed(last: Operation, ops: Sequence[Operation]) -> set[Operation]:
    """The last op, and those of the ops before it, in their order, that compute what it needs."""
    found = {last}
    for op in reversed(ops):
        if any(use.operation in found for result in op.results for use in result.uses):
            found.add(op)
    return found


def _has_arrays(values: Iterable[SSAValue]) -> bool:
    return any(types.is_tensor(value.type) for value in values)
