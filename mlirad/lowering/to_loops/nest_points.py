"""Builds the body of a nest at one point, or at a vector of neighbouring points: what it reads, computes and writes.

Reads: nests, schedules and bodies. Writes: memref, vector and the body's ops. Leaves: the loops, which `vectorize.py`
builds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from mlirad.lowering.loop_body import Body, evaluate, index_lanes
from mlirad.lowering.loop_builder import Index, LoopBuilder, integers, vector_of
from mlirad.lowering.memory_views import view_from
from mlirad.lowering.to_loops.loop_nest import Nest, Operand
from mlirad.lowering.to_loops.loop_schedule import Schedule

Values = Sequence[SSAValue]


class PointEmitter:
    """Builds points of one nest. `subscripts` holds the dimensions whose loops are open, `hoisted` the inputs that were
    read before."""

    def __init__(self, nest: Nest, schedule: Schedule, body: Body, builder: LoopBuilder):
        self.nest = nest
        self.schedule = schedule
        self.body = body
        self.builder = builder
        self.subscripts: dict[int, Index] = {d: 0 for d in range(len(nest.sizes)) if d not in nest.live}
        self.hoisted: dict[int, SSAValue] = {}

    def _point(self, accumulators: Values, mask: SSAValue | None) -> Values:
        """The body at one point, or at a vector of them. Stores what is not accumulated; returns the accumulators."""
        schedule, nest, builder = self.schedule, self.nest, self.builder
        lanes = None if schedule.vector is None else schedule.lanes
        held = dict(zip(schedule.accumulated, accumulators, strict=True))
        arguments = [self._input(i, mask) for i in range(len(nest.inputs))]
        for i, out in enumerate(nest.outputs):
            argument = self.body.block.args[len(nest.inputs) + i]
            if i in held:
                arguments.append(held[i])
            elif argument.uses.get_length():
                arguments.append(self._read(out, mask))
            else:
                arguments.append(argument)
        if schedule.is_fused and lanes is not None:
            wide = [a if a.type == arguments[2].type else builder.splat(a, lanes) for a in arguments[:2]]
            return [builder.op(vector.FMAOp, [*wide, arguments[2]], arguments[2].type)]
        results = evaluate(builder, self.body.block, arguments, self._index, lanes)
        for i, out in enumerate(nest.outputs):
            if i not in held:
                self._write(results[i], out, mask)
        return [self._like(results[i], held[i]) for i in schedule.accumulated]

    def _like(self, value: SSAValue, accumulator: SSAValue) -> SSAValue:
        """The value in the width of the accumulator that it replaces."""
        return value if value.type == accumulator.type else self.builder.splat(value, self.schedule.lanes)

    def _index(self, d: int) -> SSAValue:
        """linalg.index: a vector along the vector dimension."""
        place = self.builder.add(self.subscripts[d], self.nest.starts.get(d, 0))
        subscript = self.builder.value(place)
        return index_lanes(self.builder, subscript, self.schedule.lanes) if d == self.schedule.vector else subscript

    def _place(self, operand: Operand) -> list[Index]:
        return operand.place(self.builder, self.subscripts)

    def _hoist(self) -> None:
        """Read the inputs at indices that are known: an op never changes the inputs that it reads."""
        v = self.schedule.vector
        for i, operand in enumerate(self.nest.inputs):
            is_read = operand.is_memref and self.body.block.args[i].uses.get_length() > 0 and i not in self.hoisted
            if is_read and v not in operand.dimensions and operand.dimensions <= self.subscripts.keys():
                self.hoisted[i] = self.builder.load(operand.value, self._place(operand))

    def _input(self, i: int, mask: SSAValue | None) -> SSAValue:
        operand = self.nest.inputs[i]
        if i in self.hoisted:
            return self.hoisted[i]
        if not operand.is_memref:
            return operand.value
        if not self.body.block.args[i].uses.get_length():
            return self.body.block.args[i]
        return self._read(operand, mask)

    def _read(self, operand: Operand, mask: SSAValue | None) -> SSAValue:
        """An element, a vector of neighbours, or a vector gathered element by element."""
        v = self.schedule.vector
        if v is None or v not in operand.dimensions:
            return self.builder.load(operand.value, self._place(operand))
        if operand.is_unit(v):
            return self.builder.load(operand.value, self._place(operand), self.schedule.lanes, mask)
        if operand.is_spaced(v) and self.schedule.lanes > 1:
            return self._shuffled(operand, v, is_masked=mask is not None)
        return self._gather(operand, v, is_masked=mask is not None)

    def _shuffled(self, operand: Operand, v: int, *, is_masked: bool) -> SSAValue:
        """Read every second element from two vectors of neighbours, or neighbours backwards, and nothing beyond them:
        that may be no memory of the array."""
        builder, lanes = self.builder, self.schedule.lanes
        read = [
            builder.load(*self._neighbours(operand, v, place), lanes, mask)
            for place, mask in self._vectors_of(operand, v, is_masked=is_masked)
        ]
        order = range(0, 2 * lanes, 2) if len(read) == 2 else range(lanes - 1, -1, -1)
        return builder.op(vector.ShuffleOp, [read[0], read[-1]], read[0].type, mask=integers(*order))

    def _spread(self, value: SSAValue, operand: Operand, v: int, *, is_masked: bool) -> None:
        """Write every second element into two vectors of neighbours, without those between, or neighbours backwards."""
        builder, lanes = self.builder, self.schedule.lanes
        vectors = self._vectors_of(operand, v, is_masked=is_masked)
        for number, (place, mask) in enumerate(vectors):
            order: Sequence[int] = range(lanes - 1, -1, -1)
            if len(vectors) == 2:
                order = [(number * lanes + lane) // 2 for lane in range(lanes)]
                written = builder.lanes_constant([int(lane % 2 == 0) for lane in range(lanes)], i1)
                mask = written if mask is None else builder.op(arith.AndIOp, [written, mask], written.type)
            moved = builder.op(vector.ShuffleOp, [value, value], value.type, mask=integers(*order))
            builder.store(moved, *self._neighbours(operand, v, place), mask)

    def _vectors_of(self, operand: Operand, v: int, *, is_masked: bool) -> list[tuple[Index, SSAValue | None]]:
        """The vectors of neighbours in which the lanes are: where each begins along v, and the mask of those between
        the first lane and the last."""
        builder, first, lanes = self.builder, self.subscripts[v], self.schedule.lanes
        count = builder.minimum(builder.subtract(self.nest.sizes[v], first), lanes) if is_masked else lanes
        if operand.step(v) == 2:
            length = builder.subtract(builder.multiply(count, 2), 1)
            middle, rest = builder.add(first, lanes // 2), builder.subtract(length, lanes)
            return [(first, builder.mask(length, lanes)), (middle, builder.mask(rest, lanes))]
        mask = None
        if is_masked:
            ones, missing = builder.number(1, vector_of(i1, lanes)), builder.subtract(lanes, count)
            mask = builder.op(arith.XOrIOp, [ones, builder.mask(missing, lanes) or ones], ones.type)
        return [(builder.add(first, lanes - 1), mask)]

    def _neighbours(self, operand: Operand, v: int, place: Index) -> tuple[SSAValue, Sequence[Index]]:
        """Where elements beside one another in memory are, from the one at a place along a dimension on."""
        first, self.subscripts[v] = self.subscripts[v], place
        found = self._place(operand)
        self.subscripts[v] = first
        if operand.strides[-1] == 1:
            return operand.value, found
        return view_from(self.builder, operand.value, found, (self.schedule.lanes,), (1,)), [0]

    def _gather(self, operand: Operand, v: int, *, is_masked: bool) -> SSAValue:
        """Read lanes one by one; those past the end read the last element again."""
        builder, first = self.builder, self.subscripts[v]
        last = builder.subtract(self.nest.sizes[v], 1)
        value = builder.number(0, vector_of(operand.element, self.schedule.lanes))
        for lane in range(self.schedule.lanes):
            place = builder.add(first, lane)
            self.subscripts[v] = builder.minimum(place, last) if is_masked and lane else place
            value = builder.put(builder.load(operand.value, self._place(operand)), value, lane)
        self.subscripts[v] = first
        return value

    def _write(self, value: SSAValue, operand: Operand, mask: SSAValue | None) -> None:
        v = self.schedule.vector
        if v is not None and v in operand.dimensions and value.type != vector_of(operand.element, self.schedule.lanes):
            value = self.builder.splat(value, self.schedule.lanes)
        if v is None or v not in operand.dimensions:
            self.builder.store(value, operand.value, self._place(operand))
        elif operand.is_unit(v):
            self.builder.store(value, operand.value, self._place(operand), mask)
        elif operand.is_spaced(v) and self.schedule.lanes > 1:
            self._spread(value, operand, v, is_masked=mask is not None)
        else:
            self._scatter(value, operand, v, is_masked=mask is not None)

    def _scatter(self, value: SSAValue, operand: Operand, v: int, *, is_masked: bool) -> None:
        """Write lanes one by one, up to the end; a whole vector without a loop."""
        builder, first = self.builder, self.subscripts[v]

        def one(lane: Index, _: Values = ()) -> Values:
            self.subscripts[v] = builder.add(first, lane)
            builder.store(builder.extract(value, lane, operand.element), operand.value, self._place(operand))
            return ()

        def up_to(end: Index) -> Values:
            return builder.loop(0, end, 1, (), one)

        def whole() -> Values:
            with builder.unrolled():
                return up_to(self.schedule.lanes)

        if is_masked:
            rest = builder.minimum(builder.subtract(self.nest.sizes[v], first), self.schedule.lanes)
            missing = builder.subtract(self.schedule.lanes, rest)
            builder.either(builder.is_zero(builder.value(missing)), [], whole, lambda: up_to(rest))
        else:
            whole()
        self.subscripts[v] = first
