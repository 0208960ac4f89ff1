"""Cuts a function at its `ad.turn`: the ops after it become the body of another function.

Reads: a function with one `ad.turn`, closed by the tape. Writes: the block of the second half; its arguments are the
values that cross the cut. Leaves: the ops before the turn, and the turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import block_of, terminator
from mlirad.analysis.repeated_integers import integer_ops, is_constant
from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.ad.sweep_markers import TurnOp


def halves_at_turn(entry: Block) -> tuple[TurnOp, list[Operation], list[SSAValue], list[Operation]]:
    """The turn, the ops after it, the earlier values that these use, and the ops that are copied instead: constants,
    and integers that follow from the other values."""
    turn = next(op for op in entry.ops if isinstance(op, TurnOp))
    after = [op for op in entry.ops if turn.is_before_in_block(op)]
    return turn, after, *_crossing(entry, turn, after)


def second_half(after: Sequence[Operation], copied: Sequence[Operation], given: Sequence[SSAValue]) -> Block:
    """A block of the ops after the turn, with the given values as arguments."""
    for op in after:
        op.detach()
    body = Block([op.clone() for op in copied], arg_types=[value.type for value in given])
    body.add_ops(after)
    for value, stands_for in zip(given, body.args, strict=True):
        stands_for.name_hint = value.name_hint
        replace_inside(value, stands_for, body)
    for original, copy in zip(copied, body.ops, strict=False):
        copy.location = original.location
        replace_inside(original.results[0], copy.results[0], body)
    return body


def _crossing(entry: Block, turn: TurnOp, after: Sequence[Operation]) -> tuple[list[SSAValue], list[Operation]]:
    """The values from before the turn that the ops after it use, and the ops that are copied."""
    own = {turn, *after}
    values: dict[SSAValue, None] = {}
    copied: set[Operation] = set()
    for op in after:
        for inner in op.walk():
            for operand in inner.operands:
                owner = operand.owner
                if block_of(operand) is not entry or owner in own:
                    continue
                if isinstance(owner, Operation) and is_constant(owner):
                    copied.add(owner)
                else:
                    values[operand] = None
    crossing = []
    for value in values:
        ops = integer_ops(value, values.keys() - {value})
        if ops is None:
            crossing.append(value)
        else:
            copied.update(ops)
    return crossing, [op for op in entry.ops if op in copied]


def replace_inside(value: SSAValue, by: SSAValue, block: Block) -> None:
    value.replace_uses_with_if(by, lambda use: block.find_ancestor_op_in_block(use.operation) is not None)


def private_function(module: ModuleOp, name: str, body: Block) -> func.FuncOp:
    """A private function of the module. Its type follows from its body's arguments and results."""
    end = terminator(body)
    return add_function(module, name, body, [value.type for value in end.operands], end.location)
