"""Runs consecutive nests row by row, each some rows behind the nests whose neighbouring rows it reads.

Reads: stage `bufferized`, before the arena is planned: nests on memrefs of static size. Writes: one loop over rows,
which contains the nests on subviews of one row; temporaries that only these nests use keep as many rows as are in use
at one time. Leaves: nests that add up rows to an array, nests that need only the same row of one another
(`share_rows.py`), and nests that touch little memory. A sum of all elements is computed from the sums of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis import cost
from mlirad.dialect.core.expr import current_location, emitting, insert
from mlirad.dialect.core.scalars import compare, number
from mlirad.lowering.rewriting import erase, rebuilt
from mlirad.lowering.to_buffers.row_nests import blocks_of, erase_memory, move_behind, shape_of
from mlirad.lowering.to_buffers.share_rows import add_up, allocated, index
from mlirad.lowering.to_buffers.staggered_runs import ShiftedAccess, ShiftedNest, StaggeredRun
from mlirad.xdsl_support.traversal import ops_of


@dataclass(frozen=True)
class StaggerRows(ModulePass):
    """Process nests row by row.

    In the example the second nest reads two rows of `%e`, so it runs one row behind the first, and `%e` keeps two rows.

    least: the smallest size in bytes of all arrays together. step: the fewest bytes that each nest touches at a time.
    parallel: whether threads may share nests; nests with work for two threads then stay apart. work: the least work
    that a thread takes at a time.

    Before:

        func.func @f(%x: memref<8x4xf64>, %y: memref<7x4xf64>) {
          %e = memref.alloc() : memref<8x4xf64>
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]}
              ins(%x : memref<8x4xf64>) outs(%e : memref<8x4xf64>) {
          ^bb0(%a: f64, %old: f64):
            %b = arith.addf %a, %a : f64
            linalg.yield %b : f64
          }
          %v = memref.subview %e[0, 0] [7, 4] [1, 1] : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1]>>
          %w = memref.subview %e[1, 0] [7, 4] [1, 1]
              : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1], offset: 4>>
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                           affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]}
              ins(%v, %w : memref<7x4xf64, strided<[4, 1]>>, memref<7x4xf64, strided<[4, 1], offset: 4>>)
              outs(%y : memref<7x4xf64>) {
          ^bb0(%c: f64, %d: f64, %old_1: f64):
            %g = arith.mulf %c, %d : f64
            linalg.yield %g : f64
          }
          func.return
        }

    After `mlirad-stagger-rows{least=0 step=0 parallel=false work=1048576}`:

        func.func @f(%x: memref<8x4xf64>, %y: memref<7x4xf64>) {
          %e = memref.alloc() : memref<2x4xf64>
          %0 = arith.constant 0 : index
          %1 = arith.constant 8 : index
          %2 = arith.constant 1 : index
          scf.for %3 = %0 to %1 step %2 {
            %4 = memref.subview %x[%3, 0] [1, 4] [1, 1]
                : memref<8x4xf64> to memref<1x4xf64, strided<[4, 1], offset: ?>>
            %5 = arith.constant 2 : index
            %6 = arith.remui %3, %5 : index
            %7 = memref.subview %e[%6, 0] [1, 4] [1, 1]
                : memref<2x4xf64> to memref<1x4xf64, strided<[4, 1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                            iterator_types = ["parallel", "parallel"]}
                ins(%4 : memref<1x4xf64, strided<[4, 1], offset: ?>>)
                outs(%7 : memref<1x4xf64, strided<[4, 1], offset: ?>>) {
            ^bb0(%a: f64, %old: f64):
              %b = arith.addf %a, %a : f64
              linalg.yield %b : f64
            }
            %8 = arith.constant 1 : index
            %9 = arith.subi %3, %8 : index
            %10 = arith.constant 7 : index
            %11 = arith.cmpi ult, %9, %10 : index
            scf.if %11 {
              %12 = arith.constant 2 : index
              %13 = arith.remui %9, %12 : index
              %14 = memref.subview %e[%13, 0] [1, 4] [1, 1]
                  : memref<2x4xf64> to memref<1x4xf64, strided<[4, 1], offset: ?>>
              %15 = arith.constant 1 : index
              %16 = arith.addi %9, %15 : index
              %17 = arith.constant 2 : index
              %18 = arith.remui %16, %17 : index
              %19 = memref.subview %e[%18, 0] [1, 4] [1, 1]
                  : memref<2x4xf64> to memref<1x4xf64, strided<[4, 1], offset: ?>>
              %20 = memref.subview %y[%9, 0] [1, 4] [1, 1]
                  : memref<7x4xf64> to memref<1x4xf64, strided<[4, 1], offset: ?>>
              linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                                               affine_map<(d0, d1) -> (d0, d1)>],
                              iterator_types = ["parallel", "parallel"]}
                  ins(%14, %19 : memref<1x4xf64, strided<[4, 1], offset: ?>>,
                                 memref<1x4xf64, strided<[4, 1], offset: ?>>)
                  outs(%20 : memref<1x4xf64, strided<[4, 1], offset: ?>>) {
              ^bb0(%c: f64, %d: f64, %old_1: f64):
                %g = arith.mulf %c, %d : f64
                linalg.yield %g : f64
              }
            }
          }
          func.return
        }
    """

    name = "mlirad-stagger-rows"
    least: int = 1 << 18
    step: int = 128
    parallel: bool = False
    work: int = cost.SHARED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in blocks_of(function):
                    self._in_block(block)

    def _in_block(self, block: Block) -> None:
        run = StaggeredRun()
        for op in ops_of(block):
            if not run.takes(op):
                self._end(run)
                run = StaggeredRun()
                run.takes(op)

    def _end(self, run: StaggeredRun) -> None:
        if len(run.nests) < 2 or (self.parallel and run.work >= 2 * self.work):
            return
        lags = run.lags()
        if run.is_worthwhile(lags, self.least, self.step):
            _Loop(run, lags).emit()


@dataclass
class _Loop:
    """The loop over the rows of a run.

    rings: for memory that only the run uses, what replaces it: it keeps n rows, and row i is stored as row i modulo n.
    sums: for each sum of all elements, the sum of the current row, and an array of the sums of all rows.
    """

    run: StaggeredRun
    lags: Sequence[int]
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict)
    sums: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(default_factory=dict)

    def emit(self) -> None:
        nests = self.run.nests
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            self._make_memory()
            first = min(self.lags)
            end = max([lag + nest.rows for nest, lag in zip(nests, self.lags, strict=True)])
            body = Block(arg_types=[IndexType()])
            insert(scf.ForOp(index(first), index(end), index(1), [], Region(body)))
            with emitting(InsertPoint.at_end(body), current_location()):
                self._nests(body.args[0], first, end)
                insert(scf.YieldOp())
            for nest in nests:
                for whole, combiner in nest.sums.items():
                    add_up(self.sums[whole][1], whole, combiner)
        move_behind(self.run.later, last)
        for nest in nests:
            erase(nest.op)
        for base in self.rings:
            erase_memory(base)

    def _make_memory(self) -> None:
        for base, rows in self.run.rings(self.lags).items():
            assert isinstance(base.type, MemRefType)
            self.rings[base] = allocated(base.type.element_type, [rows, *shape_of(base)[1:]])
            self.rings[base].name_hint = base.name_hint
        for nest in self.run.nests:
            for whole, combiner in nest.sums.items():
                self.sums[whole] = allocated(combiner.element, []), allocated(combiner.element, [nest.rows])

    def _nests(self, time: SSAValue, first: int, end: int) -> None:
        """Emit the rows that run at one time. Consecutive nests that begin and end together share a test."""
        numbered = zip(self.run.nests, self.lags, strict=True)
        for (lag, rows), group in groupby(numbered, key=lambda each: (each[1], each[0].rows)):
            nests = [nest for nest, _ in group]
            if lag == first and lag + rows == end:
                self._rows(nests, _minus(time, lag))
                continue
            row = _minus(time, lag)
            body = Block()
            insert(scf.IfOp(compare("ult", row, index(rows)), [], Region(body)))
            with emitting(InsertPoint.at_end(body), current_location()):
                self._rows(nests, row)
                insert(scf.YieldOp())

    def _rows(self, nests: Sequence[ShiftedNest], row: SSAValue) -> None:
        for nest in nests:
            for whole, combiner in nest.sums.items():
                neutral = number(combiner.neutral_number, combiner.element)
                insert(memref.StoreOp.get(neutral, self.sums[whole][0], []))
            accesses = iter(nest.accesses)
            operands = [
                self._row(next(accesses), row) if isinstance(value.type, MemRefType) else value
                for value in nest.op.operands
            ]
            regions = [region.clone() for region in nest.op.regions]
            insert(rebuilt(nest.op, operands, [], regions)).location = nest.op.location
            for whole in nest.sums:
                cell, sums = self.sums[whole]
                insert(memref.StoreOp.get(insert(memref.LoadOp.get(cell, [])).res, sums, [row]))

    def _row(self, access: ShiftedAccess, row: SSAValue) -> SSAValue:
        """One row of an operand."""
        value, ring = access.value, self.rings.get(access.base)
        if not access.has_rows:
            return self.sums[value][0] if value in self.sums else value
        if ring is None or access.shift is None:
            return _part(value, [row, *[0] * len(shape_of(value)[1:])], shape_of(value), [1] * len(shape_of(value)))
        place = insert(arith.RemUIOp(_plus(row, access.shift), index(shape_of(ring)[0]))).result
        if value is access.base:
            return _part(ring, [place, *[0] * len(shape_of(value)[1:])], shape_of(value), [1] * len(shape_of(value)))
        view = value.owner
        assert isinstance(view, memref.SubviewOp)
        dynamic = iter(view.offsets)
        given = [next(dynamic) if each == DYNAMIC_INDEX else each for each in view.static_offsets.get_values()]
        return _part(ring, [place, *given[1:]], shape_of(value), view.static_strides.get_values())


def _part(
    memory: SSAValue, offsets: Sequence[SSAValue | int], shape: Sequence[int], strides: Sequence[int]
) -> SSAValue:
    """One row of a part of memory. shape: the shape of the part, with all its rows."""
    type, sizes = memory.type, [1, *shape[1:]]
    assert isinstance(type, MemRefType)
    result = memref.SubviewOp.infer_result_type(type, offsets, sizes, strides)
    return insert(memref.SubviewOp.get(memory, offsets, sizes, strides, result)).results[0]


def _minus(value: SSAValue, other: int) -> SSAValue:
    return insert(arith.SubiOp(value, index(other))).result if other else value


def _plus(value: SSAValue, other: int) -> SSAValue:
    return insert(arith.AddiOp(value, index(other))).result if other else value
