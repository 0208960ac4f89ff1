"""Kernels as vector instructions on tiles, in buffers without addresses.

Reads: kernels with one `linalg.generic` on memrefs in global memory. Writes: func, scf, arith, memref and hivm, for
which `bishengir-compile` plans memory and synchronisation. Leaves: functions of the host, except the number of blocks.

Buffers that will exist twice have a mark, `hivm.multi_buffer`. Instructions have no scratch here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    i1,
    i64,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emitting, insert, located
from mlirad.dialect.core.scalars import number
from mlirad.errors import CompileError
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.cube.matmul_kernel import is_on_cube, write_virtual_kernel
from mlirad.targets.ascend.hivm.rearranging_instructions import VBrcOp
from mlirad.targets.ascend.hivm.synchronisation import GetBlockIdxOp, MarkOp
from mlirad.targets.ascend.hivm.transfers import LoadOp, StoreOp
from mlirad.targets.ascend.soc import for_soc
from mlirad.targets.ascend.tiles.index_loops import INDEX, Size, add, length, loop, multiply, split, static, value
from mlirad.targets.ascend.tiles.nest import BufferKind, strides_of
from mlirad.targets.ascend.tiles.slots import Slot
from mlirad.targets.ascend.tiles.tile_plan import UB, TilePlan, plan_of
from mlirad.targets.ascend.tiles.tile_program import Scalar, TileValue
from mlirad.xdsl_support.traversal import find, ops_of

BLOCKS = "mlirad.block_dim"


@dataclass(frozen=True)
class HivmVirtual(ModulePass):
    """Write kernels as loops over tiles.

    soc: the chip. tile: the elements of a tile, or its rows and columns; empty: chosen by the solver.

    Before:

        func.func @exp(%x: memref<40xf32, #hivm.address_space<gm>>, %y: memref<40xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                          iterator_types = ["parallel"]}
              ins(%x : memref<40xf32, #hivm.address_space<gm>>) outs(%y : memref<40xf32, #hivm.address_space<gm>>) {
          ^bb0(%0: f32, %1: f32):
            %2 = math.exp %0 : f32
            linalg.yield %2 : f32
          }
          func.return
        }

    After `mlirad-hivm-virtual{soc=Ascend910B1 tile=64}`:

        func.func @exp(%x: memref<40xf32, #hivm.address_space<gm>>, %y: memref<40xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          %0 = memref.alloc() : memref<40xf32, #hivm.address_space<ub>>
          "annotation.mark"(%0) {hivm.multi_buffer = 2 : i32} : (memref<40xf32, #hivm.address_space<ub>>) -> ()
          %1 = memref.alloc() : memref<40xf32, #hivm.address_space<ub>>
          "annotation.mark"(%1) {hivm.multi_buffer = 2 : i32} : (memref<40xf32, #hivm.address_space<ub>>) -> ()
          %2 = "hivm.hir.get_block_idx"() : () -> i64
          %3 = arith.index_cast %2 : i64 to index
          %4 = arith.constant 1 : index
          %5 = arith.constant 1 : index
          scf.for %6 = %3 to %4 step %5 {
            %7 = arith.constant 0 : index
            %8 = memref.reinterpret_cast %x to offset: [%7], sizes: [40], strides: [1]
              : memref<40xf32, #hivm.address_space<gm>>
                to memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>
            "hivm.hir.load"(%8, %0) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
              : (memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>,
                 memref<40xf32, #hivm.address_space<ub>>) -> ()
            "hivm.hir.vexp"(%0, %1) <{transpose = array<i64>, broadcast = array<i64>,
                                      operandSegmentSizes = array<i32: 1, 1, 0>}>
              : (memref<40xf32, #hivm.address_space<ub>>, memref<40xf32, #hivm.address_space<ub>>) -> ()
            %9 = arith.constant 0 : index
            %10 = memref.reinterpret_cast %y to offset: [%9], sizes: [40], strides: [1]
              : memref<40xf32, #hivm.address_space<gm>>
                to memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>
            "hivm.hir.store"(%1, %10)
              : (memref<40xf32, #hivm.address_space<ub>>,
                 memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>) -> ()
          }
          func.return
        }
    """

    name = "mlirad-hivm-virtual"

    soc: str = "Ascend910B1"
    tile: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc = for_soc(self.soc)
        blocks: dict[str, int] = {}
        for function in [each for each in op.ops if isinstance(each, func.FuncOp) and not each.is_declaration]:
            found = next((each for each in ops_of(function.body.block) if isinstance(each, GenericOp)), None)
            if found is not None and is_on_cube(function):
                blocks[function.sym_name.data] = write_virtual_kernel(function, found, soc)
            elif found is not None:
                plan = plan_of(found, soc, self.tile)
                if (problem := plan.problem()) is not None:
                    raise CompileError(problem[0], types.from_location(found.location), problem[1])
                with located(function.location):
                    blocks[function.sym_name.data] = KernelWriter(function, plan).write()
        for call in find(op, func.CallOp):
            if call.callee.string_value() in blocks:
                call.attributes[BLOCKS] = IntegerAttr(blocks[call.callee.string_value()], i64)


@dataclass(frozen=True)
class _Place:
    """The beginning of a tile along each loop of the nest, and its numbers of rows and columns."""

    starts: dict[int, Size]
    rows: Size
    columns: Size
    views: dict[tuple[Slot, bool], SSAValue] = field(default_factory=dict)


class KernelWriter:
    """Writes one kernel."""

    def __init__(self, function: func.FuncOp, plan: TilePlan):
        self.plan, self.op, self.nest = plan, plan.op, plan.nest
        self.buffers: dict[Slot, SSAValue] = {}
        self.entry = function.body.block

    def write(self) -> int:
        """Replace the op by loops over tiles. Returns the number of blocks for the kernel's launch."""
        plan, extents, is_reduced = self.plan, self.nest.loops.extents, self.nest.loops.reduced
        trips = [-(-extent // self._step_of(dim)) for dim, extent in enumerate(extents)]
        parallel = [dim for dim in range(len(extents)) if not is_reduced[dim]]
        reduced = [dim for dim in range(len(extents)) if is_reduced[dim]]
        work = math.prod(trips[dim] for dim in parallel)
        blocks = min(plan.soc.vector_cores, work)
        with emitting(InsertPoint.before(self.op), self.op.location):
            self._allocate()
            first = insert(arith.IndexCastOp(insert(GetBlockIdxOp()).result, INDEX)).result
            with loop(first, work, blocks) as count:
                starts = self._starts(count, parallel, trips)
                if not plan.reduces:
                    place = self._tile(starts)
                    self._compute(place)
                    self._store(place)
                else:
                    zeros: dict[int, Size] = dict.fromkeys(reduced, 0)
                    self._start_accumulator(self._tile(starts | zeros))
                    with loop(0, math.prod(trips[dim] for dim in reduced), 1) as inner:
                        self._compute(self._tile(starts | self._starts(inner, reduced, trips)))
                    self._store(self._tile(starts | zeros))
        erase(self.op)
        if plan.fill is not None:
            erase(plan.fill)
        return blocks

    def _step_of(self, dim: int) -> int:
        """The extent of a tile along a loop."""
        if dim == self.plan.tiling.columns:
            return self.plan.sizes.columns
        return self.plan.sizes.rows if dim == self.plan.tiling.rows else 1

    def _starts(self, count: SSAValue, dims: Sequence[int], trips: Sequence[int]) -> dict[int, Size]:
        """The beginning of the tile with that number along each of these loops."""
        indices = split(count, [trips[dim] for dim in dims])
        return {dim: multiply(index, self._step_of(dim)) for dim, index in zip(dims, indices, strict=True)}

    def _tile(self, starts: dict[int, Size]) -> _Place:
        rows, columns = self.plan.tiling.rows, self.plan.tiling.columns
        return _Place(starts, 1 if rows is None else self._length(rows, starts), self._length(columns, starts))

    def _length(self, dim: int, starts: dict[int, Size]) -> Size:
        return length(self.nest.loops.extents[dim], self._step_of(dim), starts[dim])

    # Transfers and instructions

    def _compute(self, place: _Place) -> None:
        for index, tile in self.plan.program.loaded.items():
            insert(LoadOp(self._in_memory(index, tile, place), self._transferred(tile, place)))
        for step in self.plan.program.steps:
            with located(step.location):
                inputs = [self._operand(each, place) for each in step.inputs]
                insert(step.make(inputs, self._operand(step.output, place)))

    def _start_accumulator(self, place: _Place) -> None:
        accumulator = self.plan.accumulator
        assert accumulator is not None
        if self.plan.fill is None:
            source = self._in_memory(len(self.op.operands) - 1, accumulator, place)
            insert(LoadOp(source, self._transferred(accumulator, place)))
        else:
            insert(VBrcOp(self.plan.fill.operands[0], self._operand(accumulator, place)))

    def _store(self, place: _Place) -> None:
        result = self.plan.result
        target = self._in_memory(len(self.op.operands) - 1, result, place)
        insert(StoreOp(self._transferred(result, place), target))

    def _in_memory(self, index: int, tile: TileValue, place: _Place) -> SSAValue:
        """The part of a buffer in global memory that a tile covers."""
        buffer, strides = self.op.operands[index], self.nest.loops.strides[index]
        offset: Size = 0
        if isinstance(buffer.owner, memref.ReinterpretCastOp):
            offset, buffer = buffer.owner.offsets[0], buffer.owner.source
        for dim, start in place.starts.items():
            offset = add(offset, multiply(start, strides[dim]))
        rows, columns = self.plan.tiling.rows, self.plan.tiling.columns
        sizes = self._shape(tile, place)
        match tile.kind:
            case BufferKind.TILE if rows is not None:
                steps = [strides[rows], 1]
            case BufferKind.TURNED:
                steps = [strides[columns], 1]
            case BufferKind.ROW:
                steps = [self.nest.loops.extents[columns], 1]
            case _:
                steps = [1] * len(sizes)
        assert isinstance(buffer.type, MemRefType)
        layout = StridedLayoutAttr(steps, None)
        type = MemRefType(buffer.type.element_type, list(map(static, sizes)), layout, buffer.type.memory_space)
        return insert(memref.ReinterpretCastOp.from_dynamic(buffer, [value(offset)], sizes, steps, type)).result

    def _allocate(self) -> None:
        for slot, shape in self.plan.shapes(self.plan.sizes).items():
            type = MemRefType(slot.element, shape, memory_space=UB)
            self.buffers[slot] = made = insert(memref.AllocOp([], [], type)).memref
            if slot.copies == 2:
                insert(MarkOp.twice(made))

    def _operand(self, each: TileValue | Scalar, place: _Place) -> SSAValue:
        """The operand of an instruction: a number, or the part of a buffer that the tile fills."""
        if isinstance(each, Scalar):
            return self._number(each)
        shown = self._transferred(each, place)
        if each.kind is not BufferKind.PACKED:
            return shown
        known = self.plan.slots[each], True
        if known not in place.views:
            place.views[known] = self._as_column(shown, each, place)
        return place.views[known]

    def _as_column(self, shown: SSAValue, tile: TileValue, place: _Place) -> SSAValue:
        """A column with adjacent elements, as an array of one column."""
        type = MemRefType(tile.element, [static(place.rows), 1], memory_space=UB)
        rows = [place.rows] if isinstance(place.rows, SSAValue) else []
        sizes = DenseArrayBase.from_list(i64, [static(place.rows), 1])
        groups = ArrayAttr([ArrayAttr([IntegerAttr(0, i64), IntegerAttr(1, i64)])])
        return insert(
            memref.ExpandShapeOp.create(
                operands=[shown, *rows],
                result_types=[type],
                properties={"reassociation": groups, "static_output_shape": sizes},
            )
        ).results[0]

    def _transferred(self, tile: TileValue, place: _Place) -> SSAValue:
        """The part of a buffer that a tile fills."""
        known = self.plan.slots[tile], False
        if known not in place.views:
            place.views[known] = self._part(self.buffers[self.plan.slots[tile]], tile, place)
        return place.views[known]

    def _shape(self, tile: TileValue, place: _Place) -> list[Size]:
        """The shape of a tile in transfers."""
        shape: list[Size] = self.plan.extents_of(tile.kind, place.rows, place.columns)
        return shape[:1] if tile.kind is BufferKind.PACKED else shape

    def _part(self, buffer: SSAValue, tile: TileValue, place: _Place) -> SSAValue:
        sizes = self._shape(tile, place)
        shape = list(map(static, sizes))
        assert isinstance(buffer.type, MemRefType)
        if tuple(shape) == buffer.type.get_shape():
            return buffer
        type = MemRefType(tile.element, shape, StridedLayoutAttr(strides_of(buffer.type)), UB)
        zeros, ones = [0] * len(sizes), [1] * len(sizes)
        dynamic = [each for each in sizes if isinstance(each, SSAValue)]
        return insert(memref.SubviewOp(buffer, [], dynamic, [], zeros, shape, ones, type)).result

    def _number(self, scalar: Scalar) -> SSAValue:
        given = scalar.value
        if not isinstance(given, SSAValue):
            return number(given, scalar.element)
        if given.type == i1 and isinstance(scalar.element, AnyFloat):  # a boolean as a number
            return insert(arith.UIToFPOp(given, scalar.element)).result
        return given
