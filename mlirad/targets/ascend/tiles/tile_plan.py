"""The computation of a kernel on one tile, the buffers for it, and the tile's size.

Reads: a `linalg.generic` on memrefs in global memory, the numbers of a chip, the option `tile`. Writes: a `TilePlan`.
Leaves: the op unchanged. Instructions are not emitted here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, AddressSpaceAttr
from mlirad.targets.ascend.hivm.instruction import Instruction, element_bits
from mlirad.targets.ascend.hivm.rearranging_instructions import VBrcOp, VReduceOp, VTransposeOp
from mlirad.targets.ascend.hivm.transfers import CopyOp
from mlirad.targets.ascend.soc import LINE, Soc
from mlirad.targets.ascend.tiles.body import REDUCTIONS, BodyWriter
from mlirad.targets.ascend.tiles.index_loops import SizeT
from mlirad.targets.ascend.tiles.nest import BufferKind, nest_of
from mlirad.targets.ascend.tiles.sizes import TileSizes, asked_sizes, largest, sizes_of, up
from mlirad.targets.ascend.tiles.slots import Slot, slots_of
from mlirad.targets.ascend.tiles.tile_program import Scalar, TileProgram, TileValue, VectorStep
from mlirad.xdsl_support.traversal import ops_of

UB = AddressSpaceAttr(AddressSpace.UB)


class TilePlan:
    """The plan of one kernel; its last buffer is its output. tile: the option; empty if the solver decides."""

    def __init__(self, op: GenericOp, fill: FillOp | None, soc: Soc, tile: Sequence[int] = ()):
        self.op, self.fill, self.soc, self.tile = op, fill, soc, tile
        self.nest = nest_of(op)
        self.tiling = self.nest.tiling
        self.kinds = self.nest.kinds
        self.has_rows = self.tiling.rows is not None
        self.reduces = any(self.nest.loops.reduced)
        self.program = TileProgram()
        self.body = BodyWriter(self.program, location=op.location)
        self.accumulator: TileValue | None = None
        self.result = self._plan()
        kept = [] if self.accumulator is None else [self.accumulator]
        self.slots = slots_of(self.program, None if self.reduces else self.result, kept)
        self._stand_ins = {step: self._stand_in(step) for step in self.program.steps}
        self.sizes = asked_sizes(self.nest, tile, soc) if tile else self._solved()

    # The computation on a tile

    def _plan(self) -> TileValue:
        """Write the program. Returns the tile to be stored."""
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
        if kind is BufferKind.ONE and self.has_rows:
            tile, kind = self._repeated(tile, 1, BufferKind.ROW), BufferKind.ROW
        return self._repeated(tile, 1 if kind is BufferKind.COLUMN else 0, BufferKind.TILE)

    def _repeated(self, tile: TileValue, axis: int, kind: BufferKind) -> TileValue:
        made = TileValue(tile.element, kind)
        return self._step(lambda inputs, output: VBrcOp(inputs[0], output, (axis,)), tile, made)

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
        """Each tile is reduced to a part of the result, which is then added to the accumulator."""
        end = block.last_op
        assert end is not None
        combining = end.operands[0].owner
        assert isinstance(combining, Operation)
        accumulated = block.args[-1]
        (value,) = [each for each in combining.operands if each is not accumulated]
        kind, op_class = REDUCTIONS[type(combining)]
        self.body.values[combining.results[0]] = Scalar(0.0, accumulated.type)  # written below
        self.body.write(block)
        part = self.body.spread(self.body.of(value))
        reduced = self.nest.loops.reduced
        places = [*([] if self.tiling.rows is None else [self.tiling.rows]), self.tiling.columns]
        axes = [axis for axis, dim in enumerate(places) if reduced[dim]]
        for number, axis in enumerate(axes):
            made = TileValue(accumulated.type, self._reduced_kind(axes[: number + 1]))

            def make(inputs: Sequence[SSAValue], output: SSAValue, axis: int = axis) -> Operation:
                return VReduceOp(inputs[0], output, kind, (axis,))

            part = self._step(make, part, made)
        self.accumulator = TileValue(accumulated.type, self._reduced_kind(axes))
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
                return BufferKind.PACKED
            case _:
                return BufferKind.ONE

    # The buffers

    def shapes(self, sizes: TileSizes) -> dict[Slot, tuple[int, ...]]:
        """The buffers to allocate."""
        slots = dict.fromkeys(self.slots.values())
        return {slot: sizes.shape(slot.kind, self.has_rows, slot.element) for slot in slots}

    def scratch_bytes(self, sizes: TileSizes, assume_tails: bool = False) -> int:
        """The bytes of the scratch buffer, which all instructions that need one share.

        assume_tails: as if no tile had a known length, which needs the most.
        """
        return max((self._scratch_bytes(step, sizes, assume_tails) for step in self.program.steps), default=0)

    def _scratch_bytes(self, step: VectorStep, sizes: TileSizes, assume_tails: bool) -> int:
        op, tiles = self._stand_ins[step]
        loops = self.nest.loops

        def known(dim: int | None, size: int) -> int:
            """The length of a tile along a loop, if all of them have it."""
            if dim is None or size == loops.extents[dim]:
                return size
            return DYNAMIC_INDEX if assume_tails or loops.extents[dim] % size else size

        rows, columns = known(self.tiling.rows, sizes.rows), known(self.tiling.columns, sizes.columns)
        elements = op.scratch_elements(
            lambda value: tuple(self.extents_of(tiles[value].kind, rows, columns)),
            lambda value: math.prod(sizes.shape(tiles[value].kind, self.has_rows, tiles[value].element)),
        )
        return up(elements * element_bits(step.output.element), 8 * self.soc.ub_alignment) // 8

    def _stand_in(self, step: VectorStep) -> tuple[Instruction, dict[SSAValue, TileValue]]:
        """A step as an instruction on buffers of unknown sizes, and the tile of each buffer."""

        def type_of(value: TileValue | Scalar) -> Attribute:
            if isinstance(value, Scalar):
                return value.element
            return _of_unknown_size(value.element, len(self.extents_of(value.kind, 0, 0)))

        values = (*step.inputs, step.output)
        *inputs, output = arguments = Block(arg_types=[type_of(each) for each in values]).args
        op = step.make(inputs, output)
        assert isinstance(op, Instruction)
        return op, {arg: each for arg, each in zip(arguments, values, strict=True) if isinstance(each, TileValue)}

    def extents_of(self, kind: BufferKind, rows: SizeT, columns: SizeT) -> list[SizeT | int]:
        """The shape of a tile in instructions."""
        match kind:
            case BufferKind.TILE if self.has_rows:
                return [rows, columns]
            case BufferKind.TILE:
                return [columns]
            case BufferKind.TURNED:
                return [columns, rows]
            case BufferKind.ROW:
                return [1, columns]
            case BufferKind.COLUMN | BufferKind.PACKED:
                return [rows, 1]
            case _:
                return [1, 1] if self.has_rows else [1]

    # The memory limits

    def _solved(self) -> TileSizes:
        smallest = min((max(8, element_bits(slot.element)) for slot in self.slots.values()), default=32) // 8
        return sizes_of(self.nest, smallest, self.soc, lambda sizes: self.fits(sizes, assume_tails=True))

    def fits(self, sizes: TileSizes, assume_tails: bool = False) -> bool:
        return self.bytes_needed(sizes, assume_tails) <= self.soc.ub_bytes

    def bytes_needed(self, sizes: TileSizes, assume_tails: bool = False) -> int:
        """The bytes of the unified buffer that are needed, with each buffer at an aligned address."""
        buffers = sum(slot.copies * self._bytes(slot, shape) for slot, shape in self.shapes(sizes).items())
        return buffers + self.scratch_bytes(sizes, assume_tails)

    def _bytes(self, slot: Slot, shape: Sequence[int]) -> int:
        return up(math.prod(shape) * element_bits(slot.element), 8 * self.soc.ub_alignment) // 8

    def problem(self) -> tuple[str, str] | None:
        """Why the tile does not fit the unified buffer, with the arithmetic, and what does fit."""
        if self.fits(self.sizes):
            return None
        total = f"{self._arithmetic()} = {self.bytes_needed(self.sizes):,} B > {self.soc.ub_bytes:,} B"
        if not self.tile:
            return (
                f"what is computed here needs too many arrays at once: even the smallest tile of each does not fit the "
                f"unified buffer: {total}",
                "compute it in two compiled functions, or compile with target='cpu'",
            )
        return (
            f"tile={_written(self.tile)} does not fit the unified buffer: {total}",
            f"the largest that fits this kernel is tile={_written(self._largest())}",
        )

    def _arithmetic(self) -> str:
        """`5 buffers x 2 (double) x 64 x 128 x 4 B + 1 buffer x 64 B`, of equal ones together."""
        counts = Counter[tuple[int, str]]()
        for slot, shape in self.shapes(self.sizes).items():
            bytes, item = self._bytes(slot, shape), element_bits(slot.element) // 8
            is_exact = math.prod(shape) * item == bytes
            product = " x ".join([*map(str, shape), f"{item} B"]) if is_exact else f"{bytes:,} B"
            counts[slot.copies, product] += 1
        terms = [
            f"{count} buffer{'s' * (count > 1)} x {'2 (double) x ' * (copies == 2)}{product}"
            for (copies, product), count in counts.items()
        ]
        scratch = self.scratch_bytes(self.sizes)
        return " + ".join([*terms, *([f"{scratch:,} B of scratch"] if scratch else [])])

    def _largest(self) -> tuple[int, ...]:
        """The option for the largest tile that fits: with fewer elements, or with fewer rows of the same columns."""

        def fits(*tile: int) -> bool:
            return self.fits(asked_sizes(self.nest, tile, self.soc), assume_tails=True)

        if len(self.tile) == 2 and self.has_rows and fits(1, self.tile[1]):
            return largest(lambda rows: fits(rows, self.tile[1]), self.tile[0], 1), self.tile[1]
        lines = self.tile[:-1] and (1,)
        return *lines, largest(lambda columns: fits(*lines, columns), self.tile[-1], LINE)


@cache
def _of_unknown_size(element: Attribute, rank: int) -> MemRefType:
    return MemRefType(element, [DYNAMIC_INDEX] * rank, memory_space=UB)


def _written(tile: Sequence[int]) -> str:
    return str(tile[0]) if len(tile) == 1 else f"({', '.join(map(str, tile))})"


def plan_of(op: GenericOp, soc: Soc, tile: Sequence[int]) -> TilePlan:
    """The plan of the kernel that an op is in."""
    block = op.parent_block()
    assert block is not None
    fill = next((each for each in ops_of(block) if isinstance(each, FillOp)), None)
    return TilePlan(op, fill, soc, tile)
