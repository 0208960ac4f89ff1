"""Divides the trips of loops among threads, if no trip needs what another one computes.

Reads: stage `bufferized`, before the arena is planned: loops on memrefs. Writes: scf.parallel over strips of trips,
around a loop over the trips of a strip. Leaves: loops with few or short trips, or whose nests threads share one by one;
loops with trips that may fail, or that need one another.

Sums of all trips become sums of the strips, which are combined in order. The strips depend on sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis import cost
from mlirad.analysis.loops import counts_from_zero, trip_count
from mlirad.dialect.core.expr import current_location, emitting, insert
from mlirad.dialect.core.scalars import number
from mlirad.lowering.loop_body import Combiner, body_of, combiner_of
from mlirad.lowering.strip_sums import add_up, allocated, cleared_part, parallel_body, strip_of
from mlirad.lowering.to_buffers.row_nests import bytes_of_memref, loop_sizes, shape_of, work_of
from mlirad.lowering.to_buffers.share_rows import MOST_STRIPS
from mlirad.lowering.trips.trip_memory import TripMemory
from mlirad.xdsl_support.traversal import ops_of

_MOST_BYTES = 1 << 20
"""The limit for the sums of all strips."""
_MOST_OWN = 1 << 24
"""The same for the memory that the trips of all strips allocate."""
_LARGE = 16
"""Threads share a nest by itself, if it has the work of so many threads."""


@dataclass(frozen=True)
class ShareTrips(ModulePass):
    """Let threads run strips of trips; here 4 trips are two strips.

    parallel: whether they do. work: the least that a thread takes at a time.

    Before:

        func.func @f(%x: memref<4x8xf64>, %y: memref<4x8xf64>) {
          %zero = arith.constant 0 : index
          %four = arith.constant 4 : index
          %one = arith.constant 1 : index
          scf.for %i = %zero to %four step %one {
            %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf64> to memref<8xf64, strided<[1], offset: ?>>
            %w = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf64> to memref<8xf64, strided<[1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                            iterator_types = ["parallel"]}
                ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%w : memref<8xf64, strided<[1], offset: ?>>) {
            ^bb0(%a: f64, %old: f64):
              %b = arith.addf %a, %a : f64
              linalg.yield %b : f64
            }
          }
          func.return
        }

    After `mlirad-share-trips{parallel=true work=140}`:

        func.func @f(%x: memref<4x8xf64>, %y: memref<4x8xf64>) {
          %zero = arith.constant 0 : index
          %four = arith.constant 4 : index
          %one = arith.constant 1 : index
          %0 = arith.constant 0 : index
          %1 = arith.constant 2 : index
          %2 = arith.constant 1 : index
          "scf.parallel"(%0, %1, %2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
          ^bb0(%3: index):
            %4 = arith.constant 2 : index
            %5 = arith.muli %3, %4 : index
            %6 = arith.constant 2 : index
            %7 = arith.addi %5, %6 : index
            %8 = arith.constant 4 : index
            %9 = arith.minsi %7, %8 : index
            scf.for %i = %5 to %9 step %one {
              %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf64> to memref<8xf64, strided<[1], offset: ?>>
              %w = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf64> to memref<8xf64, strided<[1], offset: ?>>
              linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                              iterator_types = ["parallel"]}
                  ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%w : memref<8xf64, strided<[1], offset: ?>>) {
              ^bb0(%a: f64, %old: f64):
                %b = arith.addf %a, %a : f64
                linalg.yield %b : f64
              }
            }
            scf.reduce
          }) : (index, index, index) -> ()
          func.return
        }
    """

    name = "mlirad-share-trips"
    parallel: bool = False
    work: int = cost.SHARED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops if self.parallel else ():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                self._in_block(function.body.block)

    def _in_block(self, block: Block) -> None:
        """Outer loops first: threads share no loop within another."""
        for op in ops_of(block):
            if isinstance(op, scf.ParallelOp | GenericOp | FillOp):
                continue
            if isinstance(op, scf.ForOp) and (strips := self._strips(op)) > 1:
                memory, carried = TripMemory(op), _carried(op)
                if carried is not None and memory.is_apart() and _has_room(op, memory, strips):
                    _share(op, memory, carried, strips)
                    continue
            for region in op.regions:
                for inner in region.blocks:
                    self._in_block(inner)

    def _strips(self, loop: scf.ForOp) -> int:
        trips = trip_count(loop)
        if trips is None or not counts_from_zero(loop):
            return 0
        nests = _nests(loop.body.block)
        if not nests or max(nests) >= _LARGE * self.work:
            return 0
        return min(MOST_STRIPS, trips, trips * sum(nests) // self.work)


def _nests(block: Block) -> list[int]:
    """The work of each nest of a block, in all trips of the loops around it."""
    found: list[int] = []
    for op in block.ops:
        if isinstance(op, GenericOp | FillOp | memref.CopyOp):
            found.append(_work(op))
            continue
        trips = trip_count(op) if isinstance(op, scf.ForOp) else 1
        for region in op.regions:
            for inner in region.blocks:
                found += [(trips or 1) * each for each in _nests(inner)]
    return found


def _work(op: Operation) -> int:
    """The cost of a nest. A multiplication of a product costs 1: its operands are in registers."""
    if isinstance(op, GenericOp) and body_of(op.body.block).is_multiply_add:
        return prod(loop_sizes(op).values())
    return work_of(op)


def _carried(loop: scf.ForOp) -> list[Combiner] | None:
    """How each carried number is combined with one of each trip; None if something else is carried."""
    last = loop.body.block.last_op
    assert last is not None
    found = [combiner_of(arg, value) for arg, value in zip(loop.body.block.args[1:], last.operands, strict=True)]
    known = [each for each in found if each is not None and not each.is_in_order]
    return known if len(known) == len(found) else None


def _has_room(loop: scf.ForOp, memory: TripMemory, strips: int) -> bool:
    sums = {each.array: each.array.type for each in memory.all_sums()}
    own = [each.memref.type for each in loop.walk() if isinstance(each, memref.AllocOp)]
    shared = [each for each in sums.values() if isinstance(each, MemRefType)]
    return (
        strips * sum(map(bytes_of_memref, shared)) <= _MOST_BYTES
        and strips * sum(map(bytes_of_memref, own)) <= _MOST_OWN
    )


def _share(loop: scf.ForOp, memory: TripMemory, carried: Sequence[Combiner], strips: int) -> None:
    """carried: the combiners of the numbers that the loop carries."""
    trips, after = trip_count(loop), loop.next_op
    assert trips is not None and after is not None, "a block has a terminator"
    length = -(-trips // strips)
    strips = -(-trips // length)
    combiners = {each.array: each.combiner for each in memory.all_sums()}
    uses = [list(result.uses) for result in loop.results]
    starts = list(loop.iter_args)
    with emitting(InsertPoint.before(after), loop.location):
        parts = {array: allocated(each.element, [strips, *shape_of(array)]) for array, each in combiners.items()}
        numbers = [allocated(each.element, [strips]) for each in carried]
        body = parallel_body(strips)
        (strip,) = body.args
        with emitting(InsertPoint.at_end(body), current_location()):
            first, end = (_like(each, loop.lb) for each in strip_of(strip, length, trips))
            own = {array: cleared_part(parts[array], strip, each) for array, each in combiners.items()}
            neutral = [number(each.neutral_number, each.element) for each in carried]
            loop.detach()
            insert(loop)
            loop.operands = [first, end, loop.step, *neutral]
            for result, array in zip(loop.results, numbers, strict=True):
                insert(memref.StoreOp.get(result, array, [strip]))
            insert(scf.ReduceOp())
        for each in memory.all_sums():
            for place, value in enumerate(each.nest.operands):
                if value is each.array:
                    each.nest.operands[place] = own[value]
        for array, combiner in combiners.items():
            add_up(parts[array], array, combiner)
        for start, array, combiner, users in zip(starts, numbers, carried, uses, strict=True):
            whole = allocated(combiner.element, [])
            insert(memref.StoreOp.get(start, whole, []))
            add_up(array, whole, combiner)
            total = insert(memref.LoadOp.get(whole, [])).res
            for use in users:
                use.operation.operands[use.index] = total


def _like(value: SSAValue, other: SSAValue) -> SSAValue:
    """An index as a number of another's type."""
    return value if value.type == other.type else insert(arith.IndexCastOp(value, other.type)).result
