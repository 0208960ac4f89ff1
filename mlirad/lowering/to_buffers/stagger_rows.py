"""Runs consecutive nests row by row, each some rows behind the nests whose neighbouring rows it reads.

Reads: stage `bufferized`, before the arena is planned: nests on memrefs of static size. Writes: one loop over rows,
which contains the nests on subviews of one row; temporaries that only these nests use keep as many rows as are in use
at one time. On request the loop is in strips, which threads run, and a second loop runs rows that wait for all strips.
Nests on arrays with one axis run by blocks of elements.
Leaves: nests that add up rows to an array, nests that need only the same row of one another (`share_rows.py`), and
nests that touch little memory. A sum of all elements is computed from the sums of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from mlirad.analysis import cost
from mlirad.lowering.to_buffers.row_nests import blocks_of
from mlirad.lowering.to_buffers.staggered_blocks import StaggeredBlocks
from mlirad.lowering.to_buffers.staggered_loop import StaggeredLoop
from mlirad.lowering.to_buffers.staggered_runs import StaggeredRun
from mlirad.lowering.to_buffers.staggered_strips import strips_of, strips_with_seams
from mlirad.xdsl_support.traversal import ops_of

_LEAST_SHARED_IN_BLOCKS = 24
"""Of the work of a thread, what a run on arrays with one axis has at least if threads share it: blocks that stay in a
first-level cache take a fraction of the time that their work says. With less, two threads were slower than one."""
_LEAST_IN_BLOCKS = 1 << 16
"""Bytes: less fits a first-level cache; blocks of elements gain in the second one, too."""


@dataclass(frozen=True)
class StaggerRows(ModulePass):
    """Process nests row by row.

    In the example the second nest reads two rows of `%e`, so it runs one row behind the first, and `%e` keeps two rows.

    least: the smallest size in bytes of all arrays together. step: the fewest bytes that each nest touches at a time.
    parallel: whether threads share runs with work for two threads, in strips of rows; the nests of a run that has no
    strips stay apart, and threads share them one by one. work: the least work that a thread takes at a time.

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
        if len(run.nests) < 2:
            return
        lags = run.lags()
        least = min(self.least, _LEAST_IN_BLOCKS) if run.has_elements else self.least
        if not run.is_worthwhile(lags, least, self.step):
            return
        is_alone = not self.parallel or run.work < (_LEAST_SHARED_IN_BLOCKS if run.has_elements else 2) * self.work
        if run.has_elements:
            strips = None if is_alone else strips_with_seams(run, lags, self.work)
            if is_alone or (strips is not None and run.is_worthwhile(lags, least, self.step, has_rings=False)):
                StaggeredBlocks(run, lags, strips).emit()
        elif is_alone:
            StaggeredLoop(run, lags).emit()
        elif (strips := strips_of(run, lags, self.work)) is not None:
            StaggeredLoop(run, lags, strips).emit()
        elif run.is_worthwhile(lags, self.least, self.step, has_rings=False):
            if (strips := strips_with_seams(run, lags, self.work)) is not None:
                StaggeredLoop(run, lags, strips).emit()
