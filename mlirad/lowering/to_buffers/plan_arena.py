"""Places temporaries with a static or bounded size in the arena, by liveness.

Reads: stage `bufferized`. Writes: `mlirad.offset` on each memref.alloc of such a size, in bytes and a multiple of 64,
and `mlirad.arena_size` on the function. Leaves: no offset on a buffer that may still be used when the same op allocates
again (it is created in a loop and carried by it), or when the function has returned. Such buffers come from the call's
growable segments.

Buffers that may become one another (carried by a loop, from either branch of an `if`, views) have one common lifetime.
A buffer used in a loop in which it was not created lives through the whole loop. Buffers with disjoint lifetimes may
share memory. If it takes less memory, the smallest buffers lie behind all others: a single number between two large
arrays would keep a larger one out of the place of both.

A buffer that is allocated in an scf.parallel has a place in each of its blocks, `mlirad.block_bytes` apart.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.bounds import noted_bound
from mlirad.analysis.constants import constant_int
from mlirad.analysis.groups import Groups
from mlirad.analysis.loops import Carries, block_of, terminator
from mlirad.analysis.memory import is_linalg
from mlirad.dialect.core.attributes import attribute_of
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.tensor_memory import is_memref
from mlirad.xdsl_support.traversal import ops_of

OFFSET = "mlirad.offset"
SIZE = "mlirad.arena_size"
BLOCK = "mlirad.block_bytes"
ALIGNMENT = 64
_SMALL = 256
"""A buffer is small if the largest one has so many times its bytes."""
_MUCH = 64
"""The small ones lie behind all others if this spares one of so many bytes."""


@dataclass(frozen=True)
class PlanArena(ModulePass):
    """Give temporaries offsets in the arena. Buffers that are not live at the same time may share memory.

    Before:

        func.func @f(%x: f64) -> f64 {
          %i = arith.constant 0 : index
          %a = memref.alloc() : memref<4xf64>
          memref.store %x, %a[%i] : memref<4xf64>
          %v = memref.load %a[%i] : memref<4xf64>
          %b = memref.alloc() : memref<8xf64>
          memref.store %v, %b[%i] : memref<8xf64>
          %y = memref.load %b[%i] : memref<8xf64>
          func.return %y : f64
        }

    After `mlirad-plan-arena`:

        func.func @f(%x: f64) -> f64 attributes {mlirad.arena_size = 64 : i64} {
          %i = arith.constant 0 : index
          %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<4xf64>
          memref.store %x, %a[%i] : memref<4xf64>
          %v = memref.load %a[%i] : memref<4xf64>
          %b = memref.alloc() {mlirad.offset = 0 : i64} : memref<8xf64>
          memref.store %v, %b[%i] : memref<8xf64>
          %y = memref.load %b[%i] : memref<8xf64>
          func.return %y : f64
        }
    """

    name = "mlirad-plan-arena"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                plan(function)


def plan(function: func.FuncOp) -> None:
    lives = Lives(function.body.block)
    found = list(lives.placeable())
    together = _Places.of(found, small=0)
    largest = max([needed_bytes(alloc) for alloc, _, _ in found], default=0)
    apart = _Places.of(found, small=largest // _SMALL)
    places = apart if _MUCH * (together.size - apart.size) > together.size else together
    places.note()
    function.attributes[SIZE] = attribute_of(places.size)


def parallel_around(op: Operation) -> scf.ParallelOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ParallelOp):
        parent = parent.parent_op()
    return parent


@dataclass
class _Places:
    """The places of buffers. size: of all. offsets: of each. behind: of the small ones, which lie behind all others.
    apart: for a buffer that each block of a parallel loop has, how far its places are apart."""

    size: int = 0
    offsets: dict[memref.AllocOp, int] = field(default_factory=dict)
    behind: dict[memref.AllocOp, int] = field(default_factory=dict)
    apart: dict[memref.AllocOp, int] = field(default_factory=dict)

    @staticmethod
    def of(found: Sequence[tuple[memref.AllocOp, int, int]], small: int) -> _Places:
        """The places of these buffers with their first and last times. small: those with fewer bytes lie behind."""
        made, arena, behind = _Places(), Arena(), Arena()
        for parallel, group in groupby(found, key=lambda each: parallel_around(each[0])):
            if parallel is not None:
                made._plan_blocks(parallel, list(group), arena)
                continue
            for alloc, begin, end in group:
                size = needed_bytes(alloc)
                if size < small:
                    made.behind[alloc] = behind.place(size, begin, end)
                else:
                    made.offsets[alloc] = arena.place(size, begin, end)
        made.offsets |= {alloc: arena.size + offset for alloc, offset in made.behind.items()}
        made.size = arena.size + behind.size
        return made

    def _plan_blocks(
        self, parallel: scf.ParallelOp, allocs: list[tuple[memref.AllocOp, int, int]], arena: Arena
    ) -> None:
        """Place the buffers of all blocks, which threads run at the same time, next to one another."""
        inside = Arena()
        offsets = [inside.place(needed_bytes(alloc), begin, end) for alloc, begin, end in allocs]
        count = block_count(parallel)
        assert count is not None, "blocks with memory of their own are numbered"
        start = arena.place(count * inside.size, allocs[0][1], max([end for _, _, end in allocs]))
        for (alloc, _, _), offset in zip(allocs, offsets, strict=True):
            self.offsets[alloc] = start + offset
            self.apart[alloc] = inside.size

    def note(self) -> None:
        """Write the places on the allocs."""
        for alloc, offset in self.offsets.items():
            alloc.attributes[OFFSET] = attribute_of(offset)
        for alloc, bytes in self.apart.items():
            alloc.attributes[BLOCK] = attribute_of(bytes)


def block_count(parallel: scf.ParallelOp) -> int | None:
    """The number of blocks, if they are numbered from 0."""
    first, last, step = (constant_int(each[0]) for each in (parallel.lowerBound, parallel.upperBound, parallel.step))
    return last if first == 0 and step == 1 else None


def block_bytes_of(alloc: Operation) -> tuple[int, scf.ParallelOp] | None:
    """For a buffer that each block of a parallel loop has: how far their places are apart, and the loop."""
    apart, parallel = alloc.attributes.get(BLOCK), parallel_around(alloc)
    return (apart.value.data, parallel) if isinstance(apart, IntegerAttr) and parallel is not None else None


def needed_bytes(alloc: memref.AllocOp) -> int:
    """An upper bound for the bytes of an alloc."""
    type = alloc.memref.type
    element = 8 if isinstance(type.element_type, IndexType) else itemsize(type.element_type)
    bound = noted_bound(alloc)
    return (prod(type.get_shape()) if bound is None else bound) * element


def _is_bounded(alloc: memref.AllocOp) -> bool:
    return noted_bound(alloc) is not None or DYNAMIC_INDEX not in alloc.memref.type.get_shape()


@dataclass
class Life:
    """The lifetime of memrefs that may be one buffer. end: the last time one is used. carried_by: the loops that carry
    one."""

    end: int = 0
    carried_by: set[Operation] = field(default_factory=set)
    is_returned: bool = False

    def absorb(self, other: Life) -> None:
        self.end = max(self.end, other.end)
        self.carried_by |= other.carried_by
        self.is_returned |= other.is_returned


class Lives:
    """The lifetimes of a function's buffers. Times are positions in program order."""

    def __init__(self, entry: Block) -> None:
        self._now = 0
        self._allocs: list[tuple[memref.AllocOp, int, tuple[Operation, ...]]] = []
        self._lives = Groups(Life, Life.absorb)
        # The nesting depth of the block in which a memref is defined.
        self._depth: dict[Block, int] = {}
        # Uses in an open loop of memrefs from outside it: they last until that loop's end.
        self._until_end: list[list[SSAValue]] = []
        self._walk(entry, ())

    def placeable(self) -> Iterator[tuple[memref.AllocOp, int, int]]:
        """Each alloc that can have a place, with the first and last time that it needs it."""
        for alloc, begin, loops in self._allocs:
            life = self._of(alloc.memref)
            if _is_bounded(alloc) and not life.is_returned and not any(loop in life.carried_by for loop in loops):
                yield alloc, begin, life.end

    def are_one(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two memrefs may be one buffer."""
        return self._lives.are_one(value, other)

    def is_returned(self, value: SSAValue) -> bool:
        return self._of(value).is_returned

    def _walk(self, block: Block, loops: tuple[Operation, ...]) -> None:
        self._depth[block] = len(loops)
        for op in ops_of(block):
            self._now += 1
            for operand in op.operands:
                if is_memref(operand) and not isinstance(op, memref.DimOp):
                    self._use(operand, len(loops))
            kind = type(op)
            if kind is memref.AllocOp:
                assert isinstance(op, memref.AllocOp)
                self._allocs.append((op, self._now, loops))
            elif kind is func.ReturnOp:
                for operand in op.operands:
                    self._of(operand).is_returned = True
            elif op.regions:
                self._regions(op, loops)
            elif any(map(is_memref, op.results)):
                # A view, or a call that may return its operand's memory.
                self._join((*op.operands, *op.results))

    def _use(self, value: SSAValue, depth: int) -> None:
        defined = self._depth[block_of(value)]
        if defined < depth:
            self._until_end[defined].append(value)
        else:
            self._of(value).end = self._now

    def _regions(self, op: Operation, loops: tuple[Operation, ...]) -> None:
        if is_linalg(op) or isinstance(op, scf.IfOp):
            # Each op of a branch, or of the body of a linalg op, ends before the next op outside begins.
            for region in op.regions:
                if region.blocks:
                    self._walk(region.block, loops)
            if isinstance(op, scf.IfOp):
                self._join_carries(op)
            return
        self._until_end.append([])
        for region in op.regions:
            for block in region.blocks:
                self._walk(block, (*loops, op))
        self._now += 1
        for value in self._until_end.pop():
            self._of(value).end = self._now
        if isinstance(op, scf.ForOp | scf.WhileOp):
            self._join_carries(op)
        else:
            args = [arg for region in op.regions for block in region.blocks for arg in block.args]
            self._carry(op, (*op.operands, *op.results, *args))

    def _join_carries(self, op: scf.ForOp | scf.WhileOp | scf.IfOp) -> None:
        carries = Carries(op)
        passed = terminator(op.before_region.block).operands[1:] if isinstance(op, scf.WhileOp) else ()
        for number in range(carries.count):
            values = (*carries.values(number), *passed[number : number + 1])
            if isinstance(op, scf.IfOp):
                self._join(values)
            else:
                self._carry(op, values)

    def _carry(self, loop: Operation, values: Iterable[SSAValue]) -> None:
        memrefs = [value for value in values if is_memref(value)]
        self._join(memrefs)
        if memrefs:
            life = self._of(memrefs[0])
            life.carried_by.add(loop)
            life.end = self._now

    def _of(self, value: SSAValue) -> Life:
        return self._lives.of(value)

    def _join(self, values: Iterable[SSAValue]) -> None:
        memrefs = [value for value in values if is_memref(value)]
        for other in memrefs[1:]:
            self._lives.join(memrefs[0], other)


class Arena:
    """Places for buffers in the order of their first times; best fit among the freed places."""

    def __init__(self) -> None:
        self.size = 0
        self._holes: list[tuple[int, int]] = []
        self._ending: list[tuple[int, int, int]] = []

    def place(self, size: int, begin: int, end: int) -> int:
        """The offset of `size` bytes from time `begin` to time `end`."""
        size = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        while self._ending and self._ending[0][0] < begin:
            _, offset, length = heappop(self._ending)
            self._free(offset, length)
        fitting = [(length, offset) for offset, length in self._holes if length >= size]
        if fitting:
            length, offset = min(fitting)
            self._holes.remove((offset, length))
            if length > size:
                insort(self._holes, (offset + size, length - size))
        else:
            offset = self.size
            if self._holes and sum(self._holes[-1]) == self.size:
                offset = self._holes.pop()[0]
            self.size = offset + size
        heappush(self._ending, (max(begin, end), offset, size))
        return offset

    def _free(self, offset: int, length: int) -> None:
        index = bisect_left(self._holes, (offset, length))
        if index < len(self._holes) and self._holes[index][0] == offset + length:
            length += self._holes.pop(index)[1]
        if index and sum(self._holes[index - 1]) == offset:
            start, before = self._holes.pop(index - 1)
            offset, length = start, before + length
        insort(self._holes, (offset, length))
