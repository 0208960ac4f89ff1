"""Partial results of a reduction that is cut into blocks, one for each block.

Reads: nests that reduce along a dimension that is cut into blocks. Writes: memory for the blocks' results, loops that
fill it with the neutral element, and loops that combine the results in block order. Leaves: the blocks' nests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_body import Body, Combiner, body_of
from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.loop_nest import Nest, Operand, Subscript
from mlirad.lowering.to_loops.scratch import scratch

MOST_BLOCKS = 64
_MOST_BYTES = 1 << 20
"""The limit for the memory of all results of all blocks."""

Emit = Callable[[Nest, Body], None]


@dataclass(frozen=True)
class PartialResult:
    """Output number `output` of a nest, which lacks the cut dimension. axes: its dimensions."""

    output: int
    combiner: Combiner
    axes: tuple[int, ...]
    memory: MemRefType


def partial_results_of(nest: Nest, body: Body, d: int) -> list[PartialResult] | None:
    """The outputs that lack d; None if the blocks of one cannot be combined, or need too much memory."""
    found: list[PartialResult] = []
    for number, out in enumerate(nest.outputs):
        if d in out.dimensions:
            continue
        combiner = body.combiner(number, len(nest.inputs) + number)
        axes = tuple(sorted(out.dimensions))
        sizes = [size for axis in axes if isinstance(size := nest.sizes[axis], int)]
        if combiner is None or combiner.is_in_order:
            return None
        if len(sizes) < len(axes) or not isinstance(out.element, AnyFloat | IntegerType):
            return None
        found.append(PartialResult(number, combiner, axes, MemRefType(out.element, [MOST_BLOCKS, *sizes])))
    total = sum(prod(each.memory.get_shape()) * itemsize(each.memory.element_type) for each in found)
    return found if total <= _MOST_BYTES else None


@dataclass(frozen=True)
class PartialResults:
    """The memory for the results of the blocks, of `step` points along d."""

    nest: Nest
    d: int
    step: Index
    listed: list[PartialResult]
    memory: list[SSAValue]
    builder: LoopBuilder
    emit: Emit

    def begin(self, start: Index, outputs: list[Operand]) -> None:
        """Give the block that begins at `start` its own outputs, and fill them."""
        number = self.builder.divide(start, self.step)
        for partial, whole in zip(self.listed, self.memory, strict=True):
            shape = [1, *partial.memory.get_shape()[1:]]
            offsets, ones = [number, *[0] * len(partial.axes)], [1] * len(shape)
            type = memref.SubviewOp.infer_result_type(partial.memory, offsets, shape, ones)
            view = self.builder.insert(memref.SubviewOp.get(whole, offsets, shape, ones, type)).results[0]
            made = Operand(view, (Subscript(), *_plain(partial.axes)), tuple(shape), _strides(partial))
            outputs[partial.output] = made
            neutral = Operand(partial.combiner.start(self.builder))
            block = Block(arg_types=[made.element, made.element])
            block.add_op(YieldOp(block.args[0]))
            self.emit(self._along(partial.axes, {}, neutral, made, block), body_of(block))

    def end(self) -> None:
        """Combine the results of the blocks, in order."""
        size = self.nest.sizes[self.d]
        last = self.builder.add(size, self.builder.subtract(self.step, 1))
        count = self.builder.divide(last, self.step)
        for partial, whole in zip(self.listed, self.memory, strict=True):
            axes = (self.d, *partial.axes)
            made = Operand(whole, _plain(axes), partial.memory.get_shape(), _strides(partial))
            block = partial.combiner.block
            out = self.nest.outputs[partial.output]
            self.emit(self._along(axes, {self.d: count}, made, out, block), body_of(block))

    def _along(
        self, axes: tuple[int, ...], sizes: dict[int, Index], read: Operand, written: Operand, body: Block
    ) -> Nest:
        """A nest over only some of the dimensions."""
        kept = [sizes.get(d, size) if d in axes else 1 for d, size in enumerate(self.nest.sizes)]
        return replace(self.nest, sizes=tuple(kept), inputs=(read,), outputs=(written,), body=body, starts={})


def make_partials(nest: Nest, body: Body, d: int, step: Index, builder: LoopBuilder, emit: Emit) -> PartialResults:
    """Allocate memory for the blocks' results, before they run."""
    listed = partial_results_of(nest, body, d)
    assert listed is not None
    memory = scratch(builder, *[each.memory for each in listed])
    return PartialResults(nest, d, step, listed, memory, builder, emit)


def _plain(axes: tuple[int, ...]) -> tuple[Subscript, ...]:
    return tuple(Subscript.of(axis) for axis in axes)


def _strides(partial: PartialResult) -> tuple[int, ...]:
    sizes = partial.memory.get_shape()
    return tuple(prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
