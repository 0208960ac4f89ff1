"""Runs consecutive nests block by block of rows, so that the data between them stays in the cache.

Reads: stage `bufferized`, before the arena is planned: nests on memrefs of static size. Writes: loops over blocks of
rows, which contain the nests on subviews; temporaries used only by these nests have the size of a block. Leaves: small
nests, matrix products, and nests that need all rows of an earlier nest's result.

Rows are the indices of the outermost loop. A nest may join a run if it writes rows or sums over all of them, and if it
reads, of the data written in the run, only its own row. Whole sums are computed from the sums of the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, MemRefType, ModuleOp, i64
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis import cost
from mlirad.dialect.core.expr import current_location, emitting, insert
from mlirad.dialect.core.scalars import number
from mlirad.lowering.loop_body import Combiner
from mlirad.lowering.rewriting import erase
from mlirad.lowering.strip_sums import (
    add_up,
    add_up_widened,
    allocated,
    cell_of,
    cleared,
    cleared_part,
    combine,
    index,
    parallel_body,
    strip_of,
)
from mlirad.lowering.to_buffers.row_nests import (
    RESHAPES,
    RowAccess,
    blocks_of,
    erase_memory,
    fills_before,
    move_behind,
    nest_of,
    shape_of,
)
from mlirad.lowering.to_buffers.row_runs import RowRun
from mlirad.xdsl_support.traversal import ops_of

MOST_STRIPS = 16
"""The strips of blocks: each has sums of its own and, if threads share the run, memory of its own."""
_MOST_BYTES = 1 << 20
"""The limit for the sums of all strips over their rows."""


@dataclass(frozen=True)
class ShareRows(ModulePass):
    """Process nests by blocks of rows; here blocks have 4 rows, so `%e` has 4 rows.

    block: the largest size of a block in bytes, all arrays together. least: the smallest size of these arrays in bytes.
    parallel: whether threads run the blocks. work: the least that a thread takes at a time.

    Before:

        func.func @f(%x: memref<8x4xf64>, %y: memref<8xf64>) {
          %e = memref.alloc() : memref<8x4xf64>
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]}
              ins(%x : memref<8x4xf64>) outs(%e : memref<8x4xf64>) {
          ^bb0(%a: f64, %old: f64):
            %b = math.exp %a : f64
            linalg.yield %b : f64
          }
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                          iterator_types = ["parallel", "reduction"]}
              ins(%e : memref<8x4xf64>) outs(%y : memref<8xf64>) {
          ^bb0(%c: f64, %max: f64):
            %d = arith.maximumf %max, %c : f64
            linalg.yield %d : f64
          }
          func.return
        }

    After `mlirad-share-rows{block=320 least=0 parallel=false work=1048576}`:

        func.func @f(%x: memref<8x4xf64>, %y: memref<8xf64>) {
          %e = memref.alloc() : memref<4x4xf64>
          %zero = arith.constant 0 : index
          %two = arith.constant 2 : index
          %one = arith.constant 1 : index
          scf.for %k = %zero to %two step %one {
            %four = arith.constant 4 : index
            %row = arith.muli %k, %four : index
            %v = memref.subview %x[%row, 0] [4, 4] [1, 1]
                : memref<8x4xf64> to memref<4x4xf64, strided<[4, 1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                            iterator_types = ["parallel", "parallel"]}
                ins(%v : memref<4x4xf64, strided<[4, 1], offset: ?>>) outs(%e : memref<4x4xf64>) {
            ^bb0(%a: f64, %old: f64):
              %b = math.exp %a : f64
              linalg.yield %b : f64
            }
            %w = memref.subview %y[%row] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                            iterator_types = ["parallel", "reduction"]}
                ins(%e : memref<4x4xf64>) outs(%w : memref<4xf64, strided<[1], offset: ?>>) {
            ^bb0(%c: f64, %max: f64):
              %d = arith.maximumf %max, %c : f64
              linalg.yield %d : f64
            }
          }
          func.return
        }
    """

    name = "mlirad-share-rows"
    block: int = 24 << 10
    least: int = 1 << 18
    parallel: bool = False
    work: int = cost.SHARED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in blocks_of(function):
                    _Runs(block, self).find()


@dataclass(frozen=True)
class _Runs:
    """The runs of one block."""

    block: Block
    options: ShareRows

    def find(self) -> None:
        run: RowRun | None = None
        for op in ops_of(self.block):
            if run is not None and run.takes(op):
                continue
            if run is not None:
                for each in run.apart():
                    self._end(each)
                run = None
            nest = nest_of(op)
            if nest is not None and isinstance(op, GenericOp):
                run = RowRun(nest.rows, fills=fills_before(op))
                if not run.takes(op):
                    run = None
        assert run is None, "a block has a terminator"

    def _end(self, run: RowRun) -> None:
        options = self.options
        if not run.is_worthwhile(options.least) or (size := run.block_of(options.block)) is None:
            return
        threads = min(MOST_STRIPS, run.work // options.work, run.rows // size) if options.parallel else 1
        if threads < 2:
            _Blocks(run, size, MOST_STRIPS, is_shared=False).emit()
        elif threads * run.bytes_of_column_sums <= _MOST_BYTES:
            _Blocks(run, size, threads, is_shared=True).emit()


@dataclass
class _Blocks:
    """The loop over the blocks of a run, or the parallel loop over its strips, if it is shared. own: the memory that
    only the run uses, and the block that replaces it."""

    run: RowRun
    size: int
    strips: int
    is_shared: bool
    own: dict[SSAValue, SSAValue] = field(default_factory=dict)
    parts: dict[SSAValue, tuple[SSAValue, SSAValue, Combiner]] = field(default_factory=dict)
    """For each number to which all rows are added: the sum of a block, and an array with the sums of the strips."""
    columns: dict[SSAValue, tuple[SSAValue, Combiner]] = field(default_factory=dict)
    """For each array to which all rows are added, if threads share the run: the sums of the strips."""

    def emit(self) -> None:
        nests = self.run.nests
        count, rest = divmod(self.run.rows, self.size)
        each = -(-count // self.strips)
        self.strips = -(-count // each)
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            self._make_memory()
            zero = index(0)
            if self.is_shared:
                self._in_strips(count, each)
            else:
                self._loop(zero, index(count), each, zero, {})
            if rest:
                strip = index(self.strips - 1) if self.parts else None
                self._nests(index(count * self.size), rest, strip, zero, {})
            for whole, (_, array, combiner) in self.parts.items():
                add_up_widened(array, whole, combiner)
            for whole, (array, combiner) in self.columns.items():
                add_up(array, whole, combiner)
        move_behind(self.run.later, last)
        for nest in nests:
            erase(nest.op)
        for old in self.own:
            erase_memory(old)

    def _in_strips(self, count: int, each: int) -> None:
        """The blocks in strips of `each`, which threads run in any order, each with memory of its own."""
        body = parallel_body(self.strips)
        (strip,) = body.args
        with emitting(InsertPoint.at_end(body), current_location()):
            first, end = strip_of(strip, each, count)
            sums = {whole: cleared_part(array, strip, combiner) for whole, (array, combiner) in self.columns.items()}
            self._loop(first, end, each, insert(arith.MuliOp(strip, index(self.size))).result, sums, strip)
            insert(scf.ReduceOp())

    def _loop(
        self,
        first: SSAValue,
        end: SSAValue,
        each: int,
        place: SSAValue,
        sums: dict[SSAValue, SSAValue],
        strip: SSAValue | None = None,
    ) -> None:
        """The blocks from one up to another. each: the blocks of a strip. place, sums: see `_nests`. strip: the one
        that has all these blocks, if they share a strip."""
        body = Block(arg_types=[IndexType()])
        insert(scf.ForOp(first, end, index(1), [], Region(body)))
        with emitting(InsertPoint.at_end(body), current_location()):
            start = insert(arith.MuliOp(body.args[0], index(self.size))).result
            if strip is None and self.parts:
                strip = insert(arith.DivUIOp(body.args[0], index(each))).result
            self._nests(start, self.size, strip, place, sums)
            insert(scf.YieldOp())

    def _make_memory(self) -> None:
        ops = {nest.op for nest in self.run.nests}
        for base, value in self.run.by_row.items():
            is_own = value is base and isinstance(base.owner, memref.AllocOp) and base not in self.run.whole
            if is_own and all(user in ops for user in _users(base)):
                type = base.type
                assert isinstance(type, MemRefType)
                self.own[base] = allocated(type.element_type, [self._own_rows, *type.get_shape()[1:]])
                self.own[base].name_hint = base.name_hint
        for nest in self.run.nests:
            for place, combiner in nest.combiners.items():
                out = nest.outputs[place].value
                element = combiner.element
                if not shape_of(out):
                    cell = allocated(element, [self.strips] if self.is_shared else [])
                    self.parts[out] = cell, cleared(combiner.widened, [self.strips]), combiner
                elif self.is_shared:
                    self.columns[out] = allocated(element, [self.strips, *shape_of(out)]), combiner

    @property
    def _own_rows(self) -> int:
        """Of the memory that only the run uses."""
        return self.strips * self.size if self.is_shared else self.size

    def _nests(
        self, start: SSAValue, rows: int, strip: SSAValue | None, place: SSAValue, sums: dict[SSAValue, SSAValue]
    ) -> None:
        """The nests on one block. start: its first row. strip: its strip, if that has sums of its own. place: the first
        row of the memory which only the run uses. sums: where to add up what all rows are added to, if elsewhere."""
        views: dict[tuple[SSAValue, int], SSAValue] = {}
        cells = {whole: self._cell(whole, strip) for whole in self.parts}
        for whole, cell in cells.items():
            combiner = self.parts[whole][2]
            insert(memref.StoreOp.get(number(combiner.neutral_number, combiner.element), cell, []))
        for nest in self.run.nests:
            accesses = iter((*nest.inputs, *nest.outputs))
            operands: list[SSAValue] = []
            for value in nest.op.operands:
                if isinstance(value.type, MemRefType):
                    access = next(accesses)
                    sum = cells.get(access.value) or sums.get(access.value)
                    value = sum or self._part(access, start, rows, place, views)
                operands.append(value)
            made = type(nest.op).create(
                operands=operands,
                properties=nest.op.properties,
                attributes=nest.op.attributes,
                regions=[region.clone() for region in nest.op.regions],
                location=nest.op.location,
            )
            insert(made).location = nest.op.location
        for whole, cell in cells.items():
            assert strip is not None
            _, array, combiner = self.parts[whole]
            combine(insert(memref.LoadOp.get(cell, [])).res, array, [strip], combiner.widened)

    def _cell(self, whole: SSAValue, strip: SSAValue | None) -> SSAValue:
        """Where a block adds up: one number for all blocks or, where threads run them, for the blocks of a strip."""
        cell, _, _ = self.parts[whole]
        return cell_of(cell, strip) if self.is_shared and strip is not None else cell

    def _part(
        self,
        access: RowAccess,
        start: SSAValue,
        rows: int,
        place: SSAValue,
        views: dict[tuple[SSAValue, int], SSAValue],
    ) -> SSAValue:
        """The part of an operand that belongs to a block."""
        value, axis = access.value, access.axis
        if axis is None:
            return value
        found = views.get((value, axis))
        own = self._of_own(value) if access.base in self.own else None
        if own is not None and rows == self._own_rows:
            found = own
        if found is None:
            source = value if own is None else own
            type = source.type
            assert isinstance(type, MemRefType)
            offsets: list[SSAValue | int] = [0] * len(type.get_shape())
            offsets[axis] = start if own is None else place if self.is_shared else 0
            sizes = [rows if place == axis else size for place, size in enumerate(type.get_shape())]
            ones = [1] * len(sizes)
            result = memref.SubviewOp.infer_result_type(type, offsets, sizes, ones)
            found = insert(memref.SubviewOp.get(source, offsets, sizes, ones, result)).results[0]
        views[value, axis] = found
        return found

    def _of_own(self, value: SSAValue) -> SSAValue:
        """A value in terms of the run's block-sized memory: that memory, or the same view of it."""
        found = self.own.get(value)
        if found is None:
            view = value.owner
            type = value.type
            assert isinstance(view, RESHAPES) and isinstance(type, MemRefType)
            source = self._of_own(view.operands[0])
            shape = [self._own_rows, *type.get_shape()[1:]]
            properties = dict(view.properties)
            if isinstance(view, memref.ExpandShapeOp):
                properties["static_output_shape"] = DenseArrayBase.from_list(i64, shape)
            result = MemRefType(type.element_type, shape)
            found = insert(view.create(operands=[source], result_types=[result], properties=properties)).results[0]
        return found


def _users(base: SSAValue) -> Iterator[Operation]:
    """The ops that use memory, or a view of it."""
    for use in base.uses:
        if isinstance(use.operation, RESHAPES):
            yield from _users(use.operation.results[0])
        else:
            yield use.operation
