"""Moves the clear of a slice from the end of a trip to the beginning of the next trip, before its additions.

Reads: nd, with slices, in `scf.for`. Writes: the same. Leaves: clears of slices that are not clear before the loop, and
clears that no addition follows.

The reverse sweep of a loop that overwrites an array clears the array's cotangent at the end of each trip, and adds to
it in the next. A clear directly before additions can be merged with their sum (`gather_slices.py`), and in the meantime
the array may still be read with its old contents. So clears within a trip, too, move down to their additions.

A clear at indices that a loop moves, as in `g = d[t + 1]; d[t + 1] = 0; d[t] += g * x`, waits for the writes to other
parts of the array: what was read before need not be copied.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import holds_one_number, is_number, known_number
from mlirad.analysis.loops import Carries
from mlirad.dialect.arrays.slices import Slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emitting, full
from mlirad.dialect.core.op import written_subset
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_linalg.slice_writes import SliceWrite, are_apart, places, write_of
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class DelayClears(ModulePass):
    """Clear a carried array at the beginning of each trip, and after the loop, instead of at the end of each trip.

    Before:

        func.func @f(%s: tensor<4xf64>, %n: i64) -> tensor<8xf64> {
          %zero = nd.constant {value = 0 : i64} : i64
          %one = nd.constant {value = 1 : i64} : i64
          %0 = nd.constant {value = 0.0 : f64} : f64
          %zeros = nd.full %0 : f64 to tensor<8xf64>
          %four = nd.full %0 : f64 to tensor<4xf64>
          %t = scf.for %i = %zero to %n step %one iter_args(%a = %zeros) -> (tensor<8xf64>) : i64 {
            %b = nd.add_slice %s, %a[%zero] {sizes = array<i64: 4>, strides = array<i64: 1>}
                : tensor<4xf64> into tensor<8xf64>
            %c = nd.insert_slice %four, %b[%one] {sizes = array<i64: 4>, strides = array<i64: 1>}
                : tensor<4xf64> into tensor<8xf64>
            scf.yield %c : tensor<8xf64>
          }
          func.return %t : tensor<8xf64>
        }

    After `mlirad-delay-clears`:

        func.func @f(%s: tensor<4xf64>, %n: i64) -> tensor<8xf64> {
          %zero = nd.constant {value = 0 : i64} : i64
          %one = nd.constant {value = 1 : i64} : i64
          %0 = nd.constant {value = 0.000000e+00 : f64} : f64
          %zeros = nd.full %0 : f64 to tensor<8xf64>
          %t = scf.for %i = %zero to %n step %one iter_args(%a = %zeros) -> (tensor<8xf64>) : i64 {
            %cst = nd.constant {value = 0.000000e+00 : f64} : f64
            %1 = nd.full %cst : f64 to tensor<4xf64>
            %c1 = nd.constant {value = 1 : i64} : i64
            %a_1 = nd.insert_slice %1, %a[%c1] {sizes = array<i64: 4>, strides = array<i64: 1>}
                : tensor<4xf64> into tensor<8xf64>
            %b = nd.add_slice %s, %a_1[%zero] {sizes = array<i64: 4>, strides = array<i64: 1>}
                : tensor<4xf64> into tensor<8xf64>
            scf.yield %b : tensor<8xf64>
          }
          %cst_1 = nd.constant {value = 0.000000e+00 : f64} : f64
          %2 = nd.full %cst_1 : f64 to tensor<4xf64>
          %c1_1 = nd.constant {value = 1 : i64} : i64
          %t_1 = nd.insert_slice %2, %t[%c1_1] {sizes = array<i64: 4>, strides = array<i64: 1>}
              : tensor<4xf64> into tensor<8xf64>
          func.return %t_1 : tensor<8xf64>
        }
    """

    name = "mlirad-delay-clears"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in ops_inside(op):
            if isinstance(loop, scf.ForOp):
                for number in range(len(loop.results)):
                    _delay(loop, number)
        for each in ops_inside(op):
            if (clear := write_of(each)) is not None and clear.clears:
                _sink(clear)
            elif isinstance(each.parent_op(), scf.ForOp):
                _let_pass(each)


def _delay(loop: scf.ForOp, number: int) -> None:
    """Delay the clear that is a trip's last write to an array, if the array's slice is clear before the loop."""
    carries = Carries(loop)
    carry, yielded = carries.region_args[0][number], carries.yielded[0][number]
    clear = write_of(yielded.owner) if isinstance(yielded.owner, Operation) else None
    if clear is None or not clear.clears or not yielded.has_one_use():
        return
    if not _is_added_to(carry) or not _is_cleared(carries.inits[number], clear):
        return
    carries.terminators[0].operands[number] = clear.array
    first, after, result = loop.body.block.first_op, loop.next_op, loop.results[number]
    assert first is not None and after is not None
    _clear_before(first, carry, clear)
    if result.first_use is not None:
        _clear_before(after, result, clear)
    erase(clear.op)
    if clear.part.first_use is None and isinstance(clear.part.owner, Operation):
        erase(clear.part.owner)


def _sink(clear: SliceWrite) -> None:
    """Move a clear to directly before the addition that follows it."""
    user = clear.op.results[0].get_user_of_unique_use()
    later = None if user is None else write_of(user)
    if later is not None and later.continues(clear) and clear.op.next_op is not later.op:
        _move_before(clear.op, later.op)


def _let_pass(op: Operation) -> None:
    """Move a clear, at indices that the loop moves, to behind the writes to other parts of the array, or to the end of
    the trip: what has been read of it before, with its old contents, need not be kept."""
    clear = written_subset(op)
    if clear is None or clear.change is not Change.REPLACED or not isinstance(clear, Slice):
        return
    if not holds_one_number(clear.part):
        return
    while (user := op.results[0].get_user_of_unique_use()) is not None and user.parent is op.parent:
        write = written_subset(user)
        if write is None or write.array is not op.results[0] or not are_apart(clear, write):
            break
        user.operands[write.number] = op.operands[clear.number]
        user.results[0].replace_all_uses_with(op.results[0])
        op.operands[clear.number] = user.results[0]
        _move_before(op, user.next_op)
    if user is not None and is_terminator(user.__class__):
        _move_before(op, user)


def _move_before(op: Operation, place: Operation | None) -> None:
    block = op.parent
    assert block is not None and place is not None
    if place is not op:
        op.detach()
        block.insert_op_before(op, place)


def _is_added_to(carry: SSAValue) -> bool:
    """Whether a trip begins by adding to slices of an array, and has no other use of the initial array."""
    user = carry.get_user_of_unique_use()
    write = None if user is None else write_of(user)
    if write is None or write.change is not Change.ADDED or write.array is not carry:
        return False
    return write.op.parent is carry.owner


def _is_cleared(array: SSAValue, clear: SliceWrite) -> bool:
    """Whether an array already holds the number that a clear sets, at all elements of its slice."""
    number = known_number(clear.part)
    if number is None:
        return False
    before = write_of(array.owner) if isinstance(array.owner, Operation) else None
    if before is not None and before.clears:
        return before.box.holds(clear.box) and is_number(before.part, number)
    return is_number(array, number)


def _clear_before(op: Operation, array: SSAValue, clear: SliceWrite) -> None:
    """Set the slice of an array, for all its readers, before an op."""
    with emitting(InsertPoint.before(op), clear.op.location):
        number = constant(known_number(clear.part), types.element_type(array.type))
        cleared = insert_slice(full(number, clear.box.sizes), Expr(array), places(clear.box.starts))
    array.replace_uses_with_if(cleared.value, lambda use: use.operation is not cleared.value.owner)
