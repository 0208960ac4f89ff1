"""Removes writes to a part of an array of which only other parts are read.

Reads: nd, with elements and slices at constant indices, or at those of a loop's trip. Writes: the reads, now of the
array before the write. Leaves: writes whose part may be read, and all that are needed as whole arrays.

The reverse sweep of `d[0] = ...; d[1:-1] = ...` reads the cotangent of each part and clears it. After the last read the
clears are of no use, but each keeps the part that was read before it in memory of its own. The reverse sweep of a loop
that writes `d[i]` does so in each trip: then the array is a copy of the one before the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Use
from xdsl.passes import ModulePass

from mlirad.analysis.loops import Loop
from mlirad.analysis.trip_forms import Trip, linear
from mlirad.dialect.core.op import read_subset, written_subset
from mlirad.dialect.core.subset import Range, Subset
from mlirad.lowering.clean_up.hoist_checks import LONGEST_STEP, stays
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_linalg.slice_writes import Box, touched
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class DropUnreadWrites(ModulePass):
    """Read the array before a write, if all reads after it are of other elements.

    Before:

        func.func @f(%g: tensor<4xf64>) -> (f64, f64) {
          %first = nd.constant {value = 0 : i64} : i64
          %last = nd.constant {value = 3 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %a = nd.extract %g[%last] : tensor<4xf64> -> f64
          %cleared = nd.insert %zero, %g[%last] : f64 into tensor<4xf64>
          %b = nd.extract %cleared[%first] : tensor<4xf64> -> f64
          func.return %a, %b : f64, f64
        }

    After `mlirad-drop-unread-writes`:

        func.func @f(%g: tensor<4xf64>) -> (f64, f64) {
          %first = nd.constant {value = 0 : i64} : i64
          %last = nd.constant {value = 3 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %a = nd.extract %g[%last] : tensor<4xf64> -> f64
          %b = nd.extract %g[%first] : tensor<4xf64> -> f64
          func.return %a, %b : f64, f64
        }
    """

    name = "mlirad-drop-unread-writes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for write in reversed(ops_inside(op)):
            found = written_subset(write)
            box = None if found is None else touched(found)
            if found is None or box is None or write.results[0].first_use is None:
                continue
            if all(_reads_elsewhere(use, box) for use in write.results[0].uses):
                write.results[0].replace_all_uses_with(found.array)
                erase(write)
        for loop in ops_inside(op):
            if isinstance(loop, scf.ForOp):
                unread = [n for n in range(len(loop.results)) if _is_unread_by_trips(Loop(loop), n)]
                for number in unread:
                    _read_before_loop(Loop(loop), number)
                Loop(loop).keep(lambda number, unread=unread: number not in unread)


def _reads_elsewhere(use: Use, written: Box) -> bool:
    """Whether a use reads no element of the box."""
    read = read_subset(use.operation)
    box = None if read is None or read.number != use.index else touched(read)
    return box is not None and box.shared_with(written).count == 0


def _is_unread_by_trips(loop: Loop, number: int) -> bool:
    """Whether each trip reads a part of a carried array and then writes only this part, which no other trip touches."""
    carry = loop.carry(number)
    write = carry.yielded.owner
    found = written_subset(write) if isinstance(write, Operation) else None
    if found is None or found.array is not carry.arg or write.parent is not loop.body:
        return False
    if carry.result.first_use is not None or not carry.yielded.has_one_use():
        return False
    reads = [read_subset(use.operation) for use in carry.arg.uses if use.operation is not write]
    if not all(read is not None and read.array is carry.arg and read.is_same(found) for read in reads):
        return False
    return isinstance(loop.op, scf.ForOp) and _moves(found, loop.op)


def _moves(found: Subset, loop: scf.ForOp) -> bool:
    """Whether a part has no element in common with the same part in another trip."""
    return any(range is not None and _range_moves(range, loop) for range in found.ranges)


def _range_moves(range: Range, loop: scf.ForOp) -> bool:
    if isinstance(range.start, int) or not isinstance(range.length, int):
        return False
    own, form = Trip(loop), linear(range.start)
    step = abs(form.terms.get(own, 0))
    if not all(term == own or stays(term, loop) for term in form.terms):
        return False
    return (range.length - 1) * abs(range.stride) < step < LONGEST_STEP


def _read_before_loop(loop: Loop, number: int) -> None:
    """Let the trips read the array as it was before the loop."""
    carry = loop.carry(number)
    write = carry.yielded.owner
    carry.yielded.replace_all_uses_with(carry.arg)
    assert isinstance(write, Operation)
    erase(write)
    carry.arg.replace_uses_with_if(carry.init, lambda use: use.operation is not loop.terminators[0])
