"""Moves checks before the arrays that are computed above them, so that the nests of these arrays and later ones meet.

Reads: func, scf and nd. Writes: the same ops, in another order. Leaves: checks among numbers, the order of effects, and
ops with regions: nothing moves past them.

Nests that follow one another run row by row (`share_rows.py`), and a check between them would end such a run. What a
check finds does not depend on when it is made, as long as the checks keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from mlirad.dialect.core import types
from mlirad.dialect.ops.check import EffectOp
from mlirad.xdsl_support.effects import has_no_effect
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True)
class AdvanceChecks(ModulePass):
    """Make each check as soon as its operands are known.

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
        for block in dict.fromkeys(check.parent for check in ops_inside(op) if isinstance(check, EffectOp)):
            assert block is not None
            _advance(block)


def _advance(block: Block) -> None:
    passed: list[Operation] = []  # the ops that the next check may move past
    for op in ops_of(block):
        if isinstance(op, EffectOp):
            passed = _advance_check(op, passed)
        elif op.regions or not has_no_effect(op):
            passed = []
        else:
            passed.append(op)


def _advance_check(check: EffectOp, passed: Sequence[Operation]) -> list[Operation]:
    """Move a check, and the numbers that it needs, to directly behind the last array that it needs, if there are other
    arrays in between. Returns the ops that are between the check and its old place."""
    needed, block = _needed(check, passed), check.parent
    assert block is not None
    first = max((place + 1 for place, op in enumerate(passed) if op in needed and _is_array(op)), default=0)
    behind = [op for op in passed[first:] if op not in needed]
    if not any(map(_is_array, behind)):
        return []
    for op in (*(each for each in passed[first:] if each in needed), check):
        op.detach()
        block.insert_op_before(op, behind[0])
    return behind


def _needed(check: EffectOp, ops: Sequence[Operation]) -> set[Operation]:
    """The check, and those of the ops, in their order, that compute what it needs."""
    found: set[Operation] = {check}
    for op in reversed(ops):
        if any(use.operation in found for result in op.results for use in result.uses):
            found.add(op)
    return found


def _is_array(op: Operation) -> bool:
    return any(types.is_tensor(result.type) for result in op.results)
