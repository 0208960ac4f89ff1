"""Kernels as vector instructions on tiles, in buffers without addresses.

Reads: kernels with one `linalg.generic` on memrefs in global memory. Writes: func, scf, arith, memref and hivm: what
`bishengir-compile` plans memory and synchronisation for. Leaves: functions of the host, but for the number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    i1,
    i64,
)
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import building, emitting, insert, located
from mlirad.dialect.ops.elementwise import number
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.cube.matmul_kernel import is_on_cube, write_virtual_kernel
from mlirad.targets.ascend.hivm.rearranging_instructions import VBrcOp, VReduceOp, VTransposeOp
from mlirad.targets.ascend.hivm.synchronisation import GetBlockIdxOp
from mlirad.targets.ascend.hivm.transfers import CopyOp, LoadOp, StoreOp
from mlirad.targets.ascend.soc import Soc, for_soc
from mlirad.targets.ascend.tiles.body import REDUCTIONS, BodyWriter
from mlirad.targets.ascend.tiles.nest import BufferKind, Nest, nest_of, strides_of
from mlirad.targets.ascend.tiles.sizes import UB, TileSizes, buffer_type, sizes_of
from mlirad.targets.ascend.tiles.slots import Slot, slots_of
from mlirad.targets.ascend.tiles.tile_program import Scalar, TileProgram, TileValue, VectorStep
from mlirad.xdsl_support.traversal import find, ops_of

INDEX = IndexType()
BLOCKS = "mlirad.block_dim"


@dataclass(frozen=True)
class HivmVirtual(ModulePass):
    """Write kernels as loops over tiles.

    soc: the chip.

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

    After `mlirad-hivm-virtual{soc=Ascend910B1}`:

        func.func @exp(%x: memref<40xf32, #hivm.address_space<gm>>, %y: memref<40xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          %0 = memref.alloc() : memref<40xf32, #hivm.address_space<ub>>
          %1 = memref.alloc() : memref<40xf32, #hivm.address_space<ub>>
          %2 = "hivm.hir.get_block_idx"() : () -> i64
          %3 = arith.index_cast %2 : i64 to index
          %4 = arith.constant 1 : index
          %5 = arith.constant 1 : index
          scf.for %6 = %3 to %4 step %5 {
            %7 = arith.constant 40 : index
            %8 = arith.muli %6, %7 : index
            %9 = memref.reinterpret_cast %x to offset: [%8], sizes: [40], strides: [1]
              : memref<40xf32, #hivm.address_space<gm>>
                to memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>
            "hivm.hir.load"(%9, %0) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
              : (memref<40xf32, strided<[1], offset: ?>, #hivm.address_space<gm>>,
                 memref<40xf32, #hivm.address_space<ub>>) -> ()
            "hivm.hir.vexp"(%0, %1) <{transpose = array<i64>, broadcast = array<i64>,
                                      operandSegmentSizes = array<i32: 1, 1, 0>}>
              : (memref<40xf32, #hivm.address_space<ub>>, memref<40xf32, #hivm.address_space<ub>>) -> ()
            %10 = memref.reinterpret_cast %y to offset: [%8], sizes: [40], strides: [1]
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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc = for_soc(self.soc)
        blocks: dict[str, int] = {}
        for function in [each for each in op.ops if isinstance(each, func.FuncOp) and not each.is_declaration]:
            found = next((each for each in ops_of(function.body.block) if isinstance(each, GenericOp)), None)
            if found is not None and is_on_cube(function):
                blocks[function.sym_name.data] = write_virtual_kernel(function, found, soc)
            elif found is not None:
                with located(function.location):
                    blocks[function.sym_name.data] = KernelWriter(function, found, soc).write()
        for call in find(op, func.CallOp):
            if call.callee.string_value() in blocks:
                call.attributes[BLOCKS] = IntegerAttr(blocks[call.callee.string_value()], i64)


Starts = dict[int, SSAValue]
"""Where a tile begins along each loop of the nest."""


@dataclass(frozen=True)
class _Place:
    """Where a tile is, and how many rows and columns it has. Loops that are reduced are absent, or begin at 0."""

    starts: Starts
    rows: SSAValue | int
    columns: SSAValue | int
    views: dict[tuple[Slot, bool], SSAValue] = field(default_factory=dict)


class KernelWriter:
    """Writes one kernel. The nest has been simplified; the last buffer is the output."""

    def __init__(self, function: func.FuncOp, op: GenericOp, soc: Soc):
        self.function, self.op, self.soc = function, op, soc
        self.nest: Nest = nest_of(op)
        self.tiling = self.nest.tiling
        self.kinds = self.nest.kinds
        self.has_rows = self.tiling.rows is not None
        loops = self.nest.loops
        self.reduces = any(loops.reduced)
        self.fill = next((each for each in ops_of(function.body.block) if isinstance(each, FillOp)), None)
        self.program = TileProgram()
        self.body = BodyWriter(self.program, location=op.location)
        self.accumulator: TileValue | None = None
        self.part: TileValue | None = None
        self.result = self._plan()
        kept = [] if self.accumulator is None else [self.accumulator]
        stored = None if self.reduces else self.result
        self.slots = slots_of(self.program, stored, kept)
        self.sizes: TileSizes = sizes_of(self.nest, set(self.slots.values()), soc)
        self.buffers: dict[Slot, SSAValue] = {}
        self.entry = function.body.block

    # What is computed of a tile

    def _plan(self) -> TileValue:
        """Write the program; gives the tile that is stored."""
        block = self.op.body.block
        for index, argument in enumerate(block.args[:-1]):
            if argument.first_use is not None:
                self.body.values[argument] = self._loaded(index, argument.type)
        if not self.reduces:
            return self._plan_map(block)
        return self._plan_reduction(block)

    def _loaded(self, index: int, element: Attribute) -> TileValue:
        """A whole tile of a buffer."""
        kind = self.kinds[index]
        tile = self.program.loaded[index] = TileValue(element, kind)
        if kind is BufferKind.TILE:
            return tile
        if kind is BufferKind.TURNED:
            return self._step(lambda inputs, output: VTransposeOp(inputs[0], output, (1, 0)), tile, TileValue(element))
        axes = {BufferKind.ROW: (0,), BufferKind.COLUMN: (1,), BufferKind.ONE: (0, 1) if self.has_rows else (0,)}[kind]
        return self._step(lambda inputs, output: VBrcOp(inputs[0], output, axes), tile, TileValue(element))

    def _step(self, make, source: TileValue | Scalar, output: TileValue) -> TileValue:
        self.program.steps.append(VectorStep(make, (source,), output, self.op.location, in_place=False))
        return output

    def _plan_map(self, block: Block) -> TileValue:
        accumulated = block.args[-1]
        if self.fill is not None:  # a reduction over one element
            self.body.values[accumulated] = Scalar(self.fill.operands[0], accumulated.type)
        elif accumulated.first_use is not None:
            self.body.values[accumulated] = self._loaded(len(block.args) - 1, accumulated.type)
        self.body.write(block)
        end = block.last_op
        assert end is not None
        value = self.body.of(end.operands[0])
        kind = self.kinds[-1]
        is_fresh = isinstance(value, TileValue) and value not in self.program.loaded.values()
        if isinstance(value, Scalar):
            value = self.body.spread(value)
        elif not is_fresh and kind is BufferKind.TILE:
            value = self._step(lambda inputs, output: CopyOp(inputs[0], output), value, TileValue(value.element))
        if kind is BufferKind.TURNED:
            turned = TileValue(value.element, BufferKind.TURNED)
            return self._step(lambda inputs, output: VTransposeOp(inputs[0], output, (1, 0)), value, turned)
        return value

    def _plan_reduction(self, block: Block) -> TileValue:
        """Each tile is reduced to a part of the result, which the accumulator then takes up."""
        end = block.last_op
        assert end is not None
        combining = end.operands[0].owner
        assert isinstance(combining, Operation)
        accumulated = block.args[-1]
        (value,) = [each for each in combining.operands if each is not accumulated]
        kind, op_class = REDUCTIONS[type(combining)]
        self.body.values[combining.results[0]] = Scalar(0.0, accumulated.type)  # written below
        self.body.write(block)
        tile = self.body.spread(self.body.of(value))
        reduced = self.nest.loops.reduced
        places = [*([] if self.tiling.rows is None else [self.tiling.rows]), self.tiling.columns]
        axes = tuple(axis for axis, dim in enumerate(places) if reduced[dim])
        self.accumulator = TileValue(accumulated.type, self._reduced_kind(axes))
        part = tile
        if axes:
            part = TileValue(accumulated.type, self.accumulator.kind)
            self._step(lambda inputs, output: VReduceOp(inputs[0], output, kind, axes), tile, part)
        inputs = (self.accumulator, part)
        self.program.steps.append(
            VectorStep(lambda inputs, output: op_class(inputs, output), inputs, self.accumulator, combining.location)
        )
        return self.accumulator

    def _reduced_kind(self, axes: Sequence[int]) -> BufferKind:
        match tuple(axes), self.has_rows:
            case (), _:
                return BufferKind.TILE
            case (0,), True:
                return BufferKind.ROW
            case (1,), True:
                return BufferKind.COLUMN
            case _:
                return BufferKind.ONE

    # The loops

    def write(self) -> int:
        """Replace the op by loops over tiles; gives the number of blocks that the kernel is to be launched with."""
        loops, sizes = self.nest.loops, self.sizes
        steps = [self._step_of(dim) for dim in range(len(loops.extents))]
        trips = [-(-extent // step) for extent, step in zip(loops.extents, steps, strict=True)]
        parallel = [dim for dim, is_reduced in enumerate(loops.reduced) if not is_reduced]
        reduced = [dim for dim, is_reduced in enumerate(loops.reduced) if is_reduced]
        work = math.prod(trips[dim] for dim in parallel)
        blocks = min(self.soc.vector_cores, work)
        with emitting(InsertPoint.before(self.op), self.op.location):
            self._allocate(sizes)
            first = insert(arith.IndexCastOp(insert(GetBlockIdxOp()).result, INDEX)).result
            with _loop(first, work, blocks) as number:
                starts = self._starts(number, parallel, trips, steps)
                if not self.reduces:
                    place = self._tile(starts)
                    self._compute(place)
                    self._store(place)
                else:
                    zeros = {dim: _index(0) for dim in reduced}
                    self._start_accumulator(self._tile(starts | zeros))
                    total = math.prod(trips[dim] for dim in reduced)
                    with _loop(_index(0), total, 1) as inner:
                        self._compute(self._tile(starts | self._starts(inner, reduced, trips, steps)))
                    self._store(self._tile(starts | zeros))
        erase(self.op)
        if self.fill is not None:
            erase(self.fill)
        return blocks

    def _step_of(self, dim: int) -> int:
        """How far a tile reaches along a loop."""
        if dim == self.tiling.columns:
            return self.sizes.columns
        return self.sizes.rows if dim == self.tiling.rows else 1

    def _starts(self, number: SSAValue, dims: Sequence[int], trips: Sequence[int], steps: Sequence[int]) -> Starts:
        """Where tile `number` begins along each of these loops."""
        starts: Starts = {}
        for place, dim in reversed(list(enumerate(dims))):
            count = number
            if place > 0:
                trip = _index(trips[dim])
                count, number = insert(arith.RemUIOp(number, trip)).result, insert(arith.DivUIOp(number, trip)).result
            starts[dim] = count if steps[dim] == 1 else insert(arith.MuliOp(count, _index(steps[dim]))).result
        return starts

    def _tile(self, starts: Starts) -> _Place:
        rows = 1 if self.tiling.rows is None else self._size(self.tiling.rows, self.sizes.rows, starts)
        return _Place(starts, rows, self._size(self.tiling.columns, self.sizes.columns, starts))

    def _size(self, dim: int, step: int, starts: Starts) -> SSAValue | int:
        """The length of a tile along a loop: less than a step at its end."""
        extent = self.nest.loops.extents[dim]
        if extent % step == 0:
            return step
        left = insert(arith.SubiOp(_index(extent), starts[dim])).result
        return insert(arith.MinUIOp(left, _index(step))).result

    # Transfers and instructions

    def _compute(self, place: _Place) -> None:
        for index, tile in self.program.loaded.items():
            insert(LoadOp(self._in_memory(index, place), self._transferred(tile, place)))
        for step in self.program.steps:
            with located(step.location):
                inputs = [self._operand(each, place) for each in step.inputs]
                insert(step.make(inputs, self._operand(step.output, place)))

    def _start_accumulator(self, place: _Place) -> None:
        assert self.accumulator is not None
        if self.fill is None:
            buffer = len(self.op.operands) - 1
            insert(LoadOp(self._in_memory(buffer, place), self._transferred(self.accumulator, place)))
        else:
            insert(VBrcOp(self.fill.operands[0], self._operand(self.accumulator, place)))

    def _store(self, place: _Place) -> None:
        buffer = len(self.op.operands) - 1
        insert(StoreOp(self._transferred(self.result, place), self._in_memory(buffer, place)))

    def _in_memory(self, index: int, place: _Place) -> SSAValue:
        """The part of a buffer in global memory that a tile is."""
        buffer, strides = self.op.operands[index], self.nest.loops.strides[index]
        kind = self.kinds[index]
        offset: SSAValue | None = None
        if isinstance(buffer.owner, memref.ReinterpretCastOp):
            offset, buffer = buffer.owner.offsets[0], buffer.owner.source
        for dim, start in place.starts.items():
            if strides[dim] != 0:
                far = start if strides[dim] == 1 else insert(arith.MuliOp(start, _index(strides[dim]))).result
                offset = far if offset is None else insert(arith.AddiOp(offset, far)).result
        down = 0 if self.tiling.rows is None else strides[self.tiling.rows]
        along = strides[self.tiling.columns]
        match kind:
            case BufferKind.TILE if self.has_rows:
                sizes, steps = [place.rows, place.columns], [down, 1]
            case BufferKind.TURNED:
                sizes, steps = [place.columns, place.rows], [along, 1]
            case BufferKind.ROW:
                sizes, steps = [1, place.columns], [self.nest.loops.extents[self.tiling.columns], 1]
            case BufferKind.COLUMN:
                sizes, steps = [place.rows], [1]
            case BufferKind.ONE:
                sizes, steps = ([1, 1], [1, 1]) if self.has_rows else ([1], [1])
            case _:
                sizes, steps = [place.columns], [1]
        assert isinstance(buffer.type, MemRefType)
        layout = StridedLayoutAttr(steps, None)
        type = MemRefType(buffer.type.element_type, list(map(_static, sizes)), layout, buffer.type.memory_space)
        start = _index(0) if offset is None else offset
        return insert(memref.ReinterpretCastOp.from_dynamic(buffer, [start], sizes, steps, type)).result

    def _allocate(self, sizes: TileSizes) -> None:
        for slot in dict.fromkeys(self.slots.values()):
            type = buffer_type(sizes, slot, self.has_rows)
            self.buffers[slot] = insert(memref.AllocOp([], [], type)).memref

    def _operand(self, value: TileValue | Scalar, place: _Place) -> SSAValue:
        """What an instruction gets: a number, or the part of a buffer that the tile fills."""
        if isinstance(value, Scalar):
            return self._number(value)
        shown = self._transferred(value, place)
        if value.kind is not BufferKind.COLUMN:
            return shown
        known = self.slots[value], True
        if known not in place.views:
            place.views[known] = self._as_column(shown, value, place)
        return place.views[known]

    def _as_column(self, shown: SSAValue, value: TileValue, place: _Place) -> SSAValue:
        """A column as an array of one column."""
        type = MemRefType(value.element, [_static(place.rows), 1], memory_space=UB)
        rows = [place.rows] if isinstance(place.rows, SSAValue) else []
        sizes = DenseArrayBase.from_list(i64, [_static(place.rows), 1])
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
        known = self.slots[tile], False
        if known not in place.views:
            place.views[known] = self._part(self.buffers[self.slots[tile]], tile, place)
        return place.views[known]

    def _part(self, buffer: SSAValue, tile: TileValue, place: _Place) -> SSAValue:
        match tile.kind:
            case BufferKind.TILE if self.has_rows:
                sizes = [place.rows, place.columns]
            case BufferKind.TURNED:
                sizes = [place.columns, place.rows]
            case BufferKind.ROW:
                sizes = [1, place.columns]
            case BufferKind.COLUMN:
                sizes = [place.rows]
            case BufferKind.ONE:
                return buffer
            case _:
                sizes = [place.columns]
        shape = list(map(_static, sizes))
        assert isinstance(buffer.type, MemRefType)
        if tuple(shape) == buffer.type.get_shape():
            return buffer
        type = MemRefType(tile.element, shape, StridedLayoutAttr(strides_of(buffer.type)), UB)
        zeros, ones = [0] * len(sizes), [1] * len(sizes)
        dynamic = [each for each in sizes if isinstance(each, SSAValue)]
        return insert(memref.SubviewOp(buffer, [], dynamic, [], zeros, shape, ones, type)).result

    def _number(self, scalar: Scalar) -> SSAValue:
        value = scalar.value
        if not isinstance(value, SSAValue):
            return number(value, scalar.element)
        if value.type == i1 and isinstance(scalar.element, AnyFloat):  # a boolean as a number
            return insert(arith.UIToFPOp(value, scalar.element)).result
        return value


@contextmanager
def _loop(lower: SSAValue, upper: int, step: int) -> Iterator[SSAValue]:
    """Emit the body of a loop; gives its counter."""
    ends = _index(upper), _index(step)
    block = Block(arg_types=[INDEX])
    with building(block):
        yield block.args[0]
        insert(scf.YieldOp())
    insert(scf.ForOp(lower, *ends, [], block))


def _index(value: int) -> SSAValue:
    return number(value, INDEX)


def _static(size: SSAValue | int) -> int:
    return size if isinstance(size, int) else DYNAMIC_INDEX
