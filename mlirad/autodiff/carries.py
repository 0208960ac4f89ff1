"""What a loop carries and what a branch yields, behind one small interface for scf.for, scf.while and scf.if.

Ops gain loop-carried values in place, so a value that was looked up earlier stays valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, SSAValues
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, located
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.elementwise import AddOp
from mlirad.errors import DifferentiationError

LoopOp = scf.ForOp | scf.WhileOp
RegionOp = scf.ForOp | scf.WhileOp | scf.IfOp


def block_of(value: SSAValue) -> Block:
    """The block that a value is defined in."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block


def terminator(block: Block) -> Operation:
    """The yield, condition or return that ends a block."""
    last = block.last_op
    assert last is not None
    return last


def yields(block: Block) -> tuple[SSAValue, ...]:
    """The operands of a block's terminator."""
    return tuple(terminator(block).operands)


def add_yields(block: Block, values: Sequence[SSAValue]) -> None:
    end = terminator(block)
    end.operands = [*end.operands, *values]


def add_results(op: Operation, values: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    """Add a result to op for each of the values, of the value's type."""
    count = len(op.results)
    added = tuple(OpResult(value.type, op, count + index) for index, value in enumerate(values))
    op.results = SSAValues((*op.results, *added))
    return added


def branches(op: scf.IfOp) -> tuple[Block, Block]:
    """The two branches; an absent else becomes an empty one."""
    if not op.false_region.blocks:
        op.false_region.add_block(Block([scf.YieldOp()]))
    return op.true_region.block, op.false_region.block


@dataclass(frozen=True)
class Carry:
    """One carried value: before the loop, in the body, at the body's end, and after the loop."""

    init: SSAValue
    arg: BlockArgument
    yielded: SSAValue
    result: SSAValue


@dataclass(frozen=True)
class Loop:
    """A loop seen through its carries. The carries are read from the op each time they are asked for."""

    op: LoopOp

    @property
    def body(self) -> Block:
        return self.op.body.block if isinstance(self.op, scf.ForOp) else self.op.after_region.block

    @property
    def inits(self) -> tuple[SSAValue, ...]:
        return tuple(self.op.iter_args if isinstance(self.op, scf.ForOp) else self.op.arguments)

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        return self.body.args[1:] if isinstance(self.op, scf.ForOp) else self.body.args

    @property
    def carries(self) -> list[Carry]:
        """The carries that are complete: one that was added just now is not, until the body yields for it."""
        parts = zip(self.inits, self.args, yields(self.body), self.op.results, strict=False)
        return [Carry(*part) for part in parts]

    def add(self, inits: Sequence[SSAValue]) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
        """Add carries; gives their arguments in the body and their results. The body must `add_yields` for them."""
        op = self.op
        op.operands = [*op.operands, *inits]
        if isinstance(op, scf.WhileOp):
            before = op.before_region.block
            add_yields(before, [before.insert_arg(init.type, len(before.args)) for init in inits])
        args = tuple(self.body.insert_arg(init.type, len(self.body.args)) for init in inits)
        return args, add_results(op, inits)


def constant_value(value: SSAValue) -> int | None:
    """The integer that a scalar is known to be, or None."""
    op = value.owner
    if isinstance(op, ConstantOp | arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def require_canonical(op: LoopOp) -> None:
    """Raises DifferentiationError unless a for counts 0, 1, ..., and a while's condition forwards its arguments."""
    if isinstance(op, scf.ForOp):
        is_canonical = constant_value(op.lb) == 0 and constant_value(op.step) == 1
        reason = "a loop is differentiated when it counts from 0 by 1"
    else:
        before = op.before_region.block
        is_canonical = yields(before)[1:] == before.args
        reason = "a while is differentiated when its condition region forwards its arguments unchanged"
    if not is_canonical:
        raise DifferentiationError(f"{op.name}: {reason}", types.from_location(op.location))


def trip_counter(loop: Loop) -> Carry | None:
    """The carry that counts the trips of a while: 0 before it, one more at each end of its body."""
    for carry in loop.carries:
        step = carry.yielded.owner
        if isinstance(step, AddOp) and constant_value(carry.init) == 0 and carry.arg in step.operands:
            other = step.y if step.x is carry.arg else step.x
            if constant_value(other) == 1:
                return carry
    return None


def counter_of(loop: Loop) -> Carry:
    """The trip counter of a while that is differentiated."""
    counter = trip_counter(loop)
    assert counter is not None, "every while that is differentiated counts its trips"
    return counter


def count_trips(op: scf.WhileOp) -> None:
    """Give a while a trip counter unless it has one."""
    loop = Loop(op)
    if trip_counter(loop) is not None:
        return
    with located(op.location):
        with building(InsertPoint.before(op)):
            zero = constant(0, types.I64)
        (count,), _ = loop.add([zero.value])
        with building(InsertPoint.before(terminator(loop.body))):
            add_yields(loop.body, [(Expr(count) + 1).value])
