"""Finds the reductions along rows that take one element of each row, whose place is an index array.

Reads: bodies of nests. Writes: a body for the one element. Leaves: the nest.

`mask_rows.py` writes such reductions: all elements but those in a certain column are replaced by the combiner's neutral
element. Nests that compute them element by element can be fused with the elements' formula, run row by row, and be
shared by threads, but need not go along the rows (`to_loops/picked_elements.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i1
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Block, BlockArgument, SSAValue

from mlirad.lowering.loop_body import Body, Combiner

_EQUAL = 0


@dataclass(frozen=True)
class Pick:
    """A sum, largest element or the like, to which a row adds the element in one column, if it has that column.

    column: the loop along the rows. index: the argument of the body with the number of the chosen column. counted: the
    argument with the numbers of the columns; None if the body counts them itself.
    """

    column: int
    index: BlockArgument
    counted: BlockArgument | None
    chosen: arith.SelectOp

    def body(self, inputs: int) -> Block:
        """The body with one more argument behind those of the inputs: whether the row has the chosen column. It does
        not read the columns' numbers."""
        block = self.index.block
        types = list(block.arg_types)
        made = Block(arg_types=[*types[:inputs], i1, *types[inputs:]])
        has_column = made.args[inputs]
        old_arguments = (argument for argument in made.args if argument is not has_column)
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, old_arguments, strict=True))
        values[self.chosen.cond] = has_column
        made.add_ops([op.clone(values) for op in block.ops if op is not self.chosen.cond.owner])
        return made


def pick_of(
    body: Body, loops: Sequence[int], inputs: Sequence[frozenset[int]], outputs: Sequence[frozenset[int]]
) -> Pick | None:
    """What a nest picks, if it does. inputs, outputs: the loops along which each operand varies.

    Whether an argument `counted` really counts is left to the caller.
    """
    if len(outputs) != 1 or not body.is_vectorizable:
        return None
    reduced = frozenset(loops) - outputs[0]
    combiner, accumulator = body.combiner(0, len(inputs)), body.block.args[len(inputs)]
    if len(reduced) != 1 or combiner is None:
        return None
    (column,) = reduced
    (term,) = [each for each in body.results[0].owner.operands if each is not accumulator]  # pyright: ignore[reportAttributeAccessIssue]  # a combiner's result is an op's
    chosen = term.owner
    if not isinstance(chosen, arith.SelectOp) or not _is_neutral(chosen.rhs, combiner):
        return None
    compared = chosen.cond.owner
    if not isinstance(compared, arith.CmpiOp) or compared.predicate.value.data != _EQUAL:
        return None
    if not all(op.name.startswith(("arith.", "linalg.")) for op in body.block.ops):
        return None  # functions of single numbers differ from those of vectors
    for counted, index in (compared.operands, reversed(compared.operands)):
        if not isinstance(index, BlockArgument) or column in (_varies(index, inputs) or {column}):
            continue
        if isinstance(counted, BlockArgument) and _varies(counted, inputs) == {column}:
            return Pick(column, index, counted, chosen)
        if _is_counter(counted, column):
            return Pick(column, index, None, chosen)
    return None


def _is_counter(value: SSAValue, loop: int) -> bool:
    """Whether a body computes the number of a loop's trip."""
    cast = value.owner
    if not isinstance(cast, arith.IndexCastOp) or not isinstance(index := cast.input.owner, IndexOp):
        return False
    return index.dim.value.data == loop


def _varies(argument: BlockArgument, inputs: Sequence[frozenset[int]]) -> frozenset[int] | None:
    """The loops along which an argument varies; None if it belongs to an output."""
    return inputs[argument.index] if argument.index < len(inputs) else None


def _is_neutral(value: SSAValue, combiner: Combiner) -> bool:
    """Whether a constant is the combiner's neutral element, bit for bit."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr | IntegerAttr):
        return False
    number, neutral = owner.value.value.data, combiner.neutral_number
    return number == neutral and copysign(1.0, number) == copysign(1.0, neutral)
