"""The memory that the trips of a loop access: whether the trips may run in any order, except for sums.

Reads: loops on memrefs, before the arena is planned. Writes: nothing. Leaves: nothing.

Memory that a trip allocates is its own. Of other memory that the loop writes, each trip may access only its own slice,
or all trips only add to it. A slice is given by one axis: its start moves with the loop's counter, by at least its
length in each trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import is_outside
from mlirad.analysis.trip_forms import Form, Opaque, Term, Trip, linear
from mlirad.dialect.core.effect_table import is_removable
from mlirad.lowering.loop_body import Combiner, body_of
from mlirad.lowering.to_buffers.row_nests import MEMREF_VIEWS, RESHAPES, base_of, shape_of
from mlirad.xdsl_support.effects import is_terminator


@dataclass(frozen=True)
class TripSlice:
    """The part of memory that a trip accesses: `length` places along an axis of `source`, from `start` on."""

    source: SSAValue
    axis: int
    start: Form
    length: int


@dataclass(frozen=True)
class TripSum:
    """A nest of a trip that adds to an array, which all trips share."""

    nest: GenericOp
    array: SSAValue
    combiner: Combiner


@dataclass
class TripMemory:
    """Memory from before the loop, by its base: the slices that trips access (None: any part), and what they add.

    written: the memory that is written otherwise than by adding to it.
    """

    loop: scf.ForOp
    slices: dict[SSAValue, list[TripSlice | None]] = field(default_factory=dict)
    written: set[SSAValue] = field(default_factory=set)
    sums: dict[SSAValue, list[TripSum]] = field(default_factory=dict)

    def is_apart(self) -> bool:
        """Whether the trips may run in any order, except for the sums."""
        if not self._takes(self.loop.body.block):
            return False
        if any(base in self.slices for base in self.sums):
            return False
        if any(len({each.array for each in found}) > 1 for found in self.sums.values()):
            return False
        return all(self._are_apart(self.slices[base]) for base in self.written)

    def all_sums(self) -> list[TripSum]:
        return [each for found in self.sums.values() for each in found]

    def _takes(self, block: Block) -> bool:
        """Record the accesses of a block; False if an op in it may do anything else."""
        return all(map(self._takes_op, block.ops))

    def _takes_op(self, op: Operation) -> bool:
        if isinstance(op, memref.AllocOp):
            return not op.dynamic_sizes
        if isinstance(op, (*MEMREF_VIEWS, memref.GetGlobalOp)):
            return True
        if isinstance(op, memref.LoadOp):
            return self._access(op.memref, self._element(op.memref, op.indices), is_written=False)
        if isinstance(op, memref.StoreOp):
            return self._access(op.memref, self._element(op.memref, op.indices), is_written=True)
        if isinstance(op, memref.CopyOp):
            source, target = op.operands
            return self._takes_operand(source, is_written=False) and self._takes_operand(target, is_written=True)
        if isinstance(op, GenericOp | FillOp):
            return self._takes_nest(op)
        if any(isinstance(value.type, MemRefType) for value in (*op.operands, *op.results)):
            return False
        if isinstance(op, scf.ForOp | scf.IfOp):
            blocks = [block for region in op.regions for block in region.blocks]
            has_memory = any(isinstance(arg.type, MemRefType) for block in blocks for arg in block.args)
            return not has_memory and all(map(self._takes, blocks))
        return is_terminator(op.__class__) or (not op.regions and is_removable(op))

    def _takes_nest(self, op: GenericOp | FillOp) -> bool:
        body = op.body.block.ops if isinstance(op, GenericOp) else ()
        if not all(
            self._access(each.memref, None, is_written=False) for each in body if isinstance(each, memref.LoadOp)
        ):
            return False
        summed: set[SSAValue] = set()
        for place, out in enumerate(op.outputs):
            base = base_of(out)
            found = self._sum_of(op, place) if isinstance(op, GenericOp) and base is not None else None
            if found is not None and self._slice(out) is None and self._is_outer(base):
                assert base is not None
                self.sums.setdefault(base, []).append(found)
                summed.add(out)
        return all(
            self._takes_operand(value, is_written=number >= len(op.inputs))
            for number, value in enumerate(op.operands)
            if isinstance(value.type, MemRefType) and value not in summed
        )

    def _sum_of(self, op: GenericOp, place: int) -> TripSum | None:
        """The output as a sum to which the nest only adds; it may also be read as an input, to add to it."""
        out, first, args = op.outputs[place], len(op.inputs), op.body.block.args
        base, maps = base_of(out), op.indexing_maps.data
        same = [each for each, value in enumerate(op.operands) if base_of(value) is base]
        if any(op.operands[each] is not out or maps[each] != maps[first + place] for each in same):
            return None
        read = [each for each in same if args[each].uses.get_length()]
        if len(read) != 1 or self._is_inside(out):
            return None
        combiner = body_of(op.body.block).combiner(place, read[0])
        return None if combiner is None or combiner.is_in_order else TripSum(op, out, combiner)

    def _takes_operand(self, value: SSAValue, *, is_written: bool) -> bool:
        return self._access(value, self._slice(value), is_written=is_written)

    def _access(self, value: SSAValue, slice: TripSlice | None, *, is_written: bool) -> bool:
        base = base_of(value)
        if base is None or (is_written and isinstance(base.owner, memref.GetGlobalOp)):
            return False
        if self._is_outer(base):
            self.slices.setdefault(base, []).append(slice)
            if is_written:
                self.written.add(base)
        return True

    def _is_outer(self, base: SSAValue | None) -> bool:
        return base is not None and not self._is_inside(base)

    def _is_inside(self, value: SSAValue) -> bool:
        return not is_outside(value, self.loop)

    def _slice(self, value: SSAValue) -> TripSlice | None:
        """The slice that a view belongs to: the outermost view whose start moves with the loop's counter."""
        found: TripSlice | None = None
        while isinstance(view := value.owner, MEMREF_VIEWS) and self._is_inside(value):
            if isinstance(view, memref.SubviewOp):
                dynamic = iter(view.offsets)
                starts = [next(dynamic) if each == DYNAMIC_INDEX else None for each in view.static_offsets.get_values()]
                sizes, strides = view.static_sizes.get_values(), view.static_strides.get_values()
                for axis, (start, size, stride) in enumerate(zip(starts, sizes, strides, strict=True)):
                    form = None if start is None or DYNAMIC_INDEX in (size, stride) else self._moving(start)
                    if form is not None and not self._is_inside(view.source):
                        found = TripSlice(*_before_reshapes(view.source, axis), form, (size - 1) * stride + 1)
            value = view.operands[0]
        return found

    def _element(self, memory: SSAValue, indices: Sequence[SSAValue]) -> TripSlice | None:
        if self._is_inside(memory):
            return self._slice(memory)
        for axis, index in enumerate(indices):
            if (form := self._moving(index)) is not None:
                return TripSlice(*_before_reshapes(memory, axis), form, 1)
        return None

    def _moving(self, index: SSAValue) -> Form | None:
        """The form of an index that moves with the loop's counter, and needs nothing else that changes in the loop."""
        form = linear(index)
        if Trip(self.loop) not in form.terms or not all(map(self._is_known, form.terms)):
            return None
        return form

    def _is_known(self, term: Term) -> bool:
        if isinstance(term, Opaque):
            return term.axis is None and not self._is_inside(term.value)
        return term.loop is self.loop or term.loop.is_ancestor(self.loop)

    def _are_apart(self, slices: list[TripSlice | None]) -> bool:
        """Whether the slices of two trips have no place in common."""
        first = slices[0]
        if first is None:
            return False
        step = first.start.terms[Trip(self.loop)]
        lowest, highest = 0, first.length
        for each in slices[1:]:
            if each is None or each.source is not first.source or each.axis != first.axis:
                return False
            ahead = (each.start - first.start).value
            if ahead is None:
                return False
            lowest, highest = min(lowest, ahead), max(highest, ahead + each.length)
        return highest - lowest <= abs(step)


def _before_reshapes(value: SSAValue, axis: int) -> tuple[SSAValue, int]:
    """The memory that a value views with the same first axis."""
    while axis == 0 and isinstance(value.owner, RESHAPES):
        source = value.owner.operands[0]
        if shape_of(source)[:1] != shape_of(value)[:1]:
            break
        value = source
    return value, axis
