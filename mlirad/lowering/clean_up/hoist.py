"""Moves loop-invariant code out of loops.

Reads and writes: tensor, autodiff and optimized stages, in place. Leaves: in a loop's own block, no scalar computation
on values from outside. The same holds for arrays if the loop certainly makes a trip, and for their views.

Moved ops are pure and cannot trap. The read of an element moves only if its index is in range without a condition or
check inside the loop. An array that the loop overwrites stays in the loop: a copy in each trip would cost as much as
computing it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.bounds import interval_of
from mlirad.analysis.loops import trip_count
from mlirad.analysis.memory import is_taken
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Verb, may
from mlirad.dialect.core.intervals import Interval
from mlirad.dialect.core.op import NdOp, read_subset
from mlirad.dialect.core.subset import Range, Subset
from mlirad.xdsl_support.traversal import defining_block, ops_of


@dataclass(frozen=True)
class Hoist(ModulePass):
    """Move each op out of all loops on which its operands do not depend, in one walk in program order.

    only_views: move only ops that show the elements of an array in another shape or order. Before differentiation, this
    gives the array one cotangent in that shape for all trips.

    Before:

        func.func @f(%x: f64, %n: i64, %zero: i64, %one: i64) -> f64 {
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
            %e = nd.exp %x : f64
            %v = nd.add %s, %e : f64
            scf.yield %v : f64
          }
          func.return %y : f64
        }

    After `mlirad-hoist{only_views=false}`:

        func.func @f(%x: f64, %n: i64, %zero: i64, %one: i64) -> f64 {
          %e = nd.exp %x : f64
          %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
            %v = nd.add %s, %e : f64
            scf.yield %v : f64
          }
          func.return %y : f64
        }
    """

    name = "mlirad-hoist"

    only_views: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Levels(self.only_views).visit_regions(op, 0)


@dataclass
class _Levels:
    """The nesting depth of each block seen so far."""

    only_views: bool
    of_block: dict[Block, int] = field(default_factory=dict)

    def visit_regions(self, op: Operation, level: int) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.of_block[block] = level
                is_in_loop = isinstance(block.parent_op(), scf.ForOp | scf.WhileOp)
                for inner in ops_of(block):
                    if inner.regions:
                        self.visit_regions(inner, level + 1)
                    elif is_in_loop and self._is_asked(inner) and may(inner, Verb.HOIST):
                        self._move_out(inner)

    def _is_asked(self, op: Operation) -> bool:
        return _is_view(op) if self.only_views else isinstance(op, NdOp | arith.ConstantOp)

    def _move_out(self, op: Operation) -> None:
        """Move an op out of the loop that it is directly in."""
        lowest = max((self._level(operand) for operand in op.operands), default=0)
        destination: Operation | None = None
        block = op.parent
        while block is not None and self.of_block[block] > lowest:
            loop = block.parent_op()
            if not isinstance(loop, scf.ForOp | scf.WhileOp) or not may_leave(op, loop):
                break
            destination, block = loop, loop.parent
        if destination is not None and destination.parent is not None:
            op.detach()
            destination.parent.insert_op_before(op, destination)

    def _level(self, value: SSAValue) -> int:
        block = defining_block(value)
        assert block is not None
        return self.of_block[block]


def may_leave(op: Operation, loop: scf.ForOp | scf.WhileOp) -> bool:
    """Whether op, which is in the loop's own block and uses no value of the loop, may be computed before the loop."""
    if any(types.is_tensor(result.type) and is_taken(result) for result in op.results):
        return False
    if (read := read_subset(op)) is not None and not _is_in_range(read):
        return False
    if _is_view(op) or (isinstance(loop, scf.ForOp) and (trip_count(loop) or 0) > 0):
        return True
    return not any(types.is_tensor(value.type) for value in (*op.operands, *op.results))


def _is_view(op: Operation) -> bool:
    """Whether an op only shows all elements of an array in another shape or order."""
    return isinstance(op, NdOp) and op.memory.views is not None and read_subset(op) is None


def _is_in_range(read: Subset) -> bool:
    """Whether the read is known to be in range wherever its indices are defined."""
    sizes = types.shape(read.array.type)
    return all(along is None or _is_within(along, size) for along, size in zip(read.ranges, sizes, strict=True))


def _is_within(along: Range, size: int) -> bool:
    if not isinstance(along.length, int):
        return False
    first = Interval(along.start, along.start) if isinstance(along.start, int) else interval_of(along.start)
    reach = (along.length - 1) * along.stride
    return min(first.low, first.low + reach) >= 0 and max(first.high, first.high + reach) < size
