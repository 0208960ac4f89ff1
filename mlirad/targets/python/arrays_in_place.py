"""Finds values that are the same array, changed in place.

Reads: a function, and its moves. Writes: nothing. Leaves: the moves that a printed function may make.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Block, OpResult, SSAValue

from mlirad.analysis.call_graph import written_by
from mlirad.analysis.loops import Loop
from mlirad.analysis.memory import is_nd, is_tensor, ties
from mlirad.analysis.moves import ArrayMoves


def moves_of(function: func.FuncOp, is_public: bool) -> ArrayMoves:
    """The moves of a function. For a public function, an argument that receives another array's contents at the end
    must not be reused for another value: it is not moved."""
    entry = function.body.block
    end = entry.last_op
    assert end is not None
    movable: dict[SSAValue, int] = {entry.args[index]: number for index, number in written_by(function).items()}
    while True:
        moves = ArrayMoves(function, movable)
        staying = {
            argument: number
            for argument, number in movable.items()
            if (end, number) not in moves.copied and stays(moves, end.operands[number], argument)
        }
        if not is_public or len(staying) == len(movable):
            return moves
        movable = staying


def stays(moves: ArrayMoves, value: SSAValue, start: SSAValue) -> bool:
    """Whether an array is `start` itself, changed in place."""
    while value is not start:
        op = value.owner
        if not isinstance(value, OpResult) or isinstance(op, Block):
            return False
        if isinstance(op, scf.IfOp):
            number, ends = value.index, [region.block.last_op for region in op.regions if region.blocks]
            return all(
                end is not None and (end, number) not in moves.copied and stays(moves, end.operands[number], start)
                for end in ends
            )
        if isinstance(op, scf.ForOp | scf.WhileOp):
            place = value.index + len(op.operands) - len(op.results)
            if not is_in_place(moves, op, value.index):
                return False
        else:
            tie = next((place for place, result in ties(op) if result is value), None) if is_nd(op) else None
            if tie is None:
                return False
            place = tie
        if (op, place) in moves.copied:
            return False
        value = op.operands[place]
    return True


def is_in_place(moves: ArrayMoves, op: scf.ForOp | scf.WhileOp, number: int) -> bool:
    """Whether a loop changes a carried array in place, from the first trip to the last."""
    loop = Loop(op)
    carry = loop.carry(number)
    if not is_tensor(carry.init):
        return False
    end = loop.terminators[0]
    if (end, number) in moves.copied or not stays(moves, carry.yielded, carry.arg):
        return False
    if isinstance(op, scf.WhileOp):
        before = op.before_region.block
        last = before.last_op
        assert last is not None
        return last.operands[number + 1] is before.args[number] and (last, number + 1) not in moves.copied
    return True
