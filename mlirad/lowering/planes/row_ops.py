"""Computes ops for one row of their arrays.

Reads: nd and scf.for, and the rows of their values. Writes: the same ops for one row. Leaves: the ops themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.constants import holds_one_number, known_number
from mlirad.analysis.loops import Loop, yields
from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, apply, constant, emit, emit_all, full, insert, located
from mlirad.dialect.core.op import NdOp, accessed_subset
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.planes.planar_trips import RowAxis
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_of


@dataclass
class RowOps:
    """Ops for row number `row` of `count`.

    rows: of the values that have rows. parts: the rows of slices of whole arrays. local: the rows of slices of arrays
    that exist only as this row. loops: the loop that was emitted for a loop.
    """

    rows: Mapping[SSAValue, RowAxis]
    parts: Mapping[Operation, RowAxis]
    count: int
    row: Expr
    local: Mapping[Operation, RowAxis] = field(default_factory=dict)
    loops: dict[Operation, scf.ForOp] = field(default_factory=dict)
    _values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    _blocks: dict[Operation, Expr] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many rows are computed at a time."""
        return 1

    def take(self, values: Sequence[SSAValue]) -> None:
        """Read the row of each of these arrays."""
        for value in values:
            self._values[value] = self.row_of(Expr(value), self.rows[value]).value

    def split(self, ops: Mapping[Operation, RowAxis]) -> None:
        """Read arrays that consist of blocks of all rows as such."""
        for op, rows in ops.items():
            subset = accessed_subset(op)
            if rows.blocks != 1 and subset is not None:
                self._blocks[op] = self._split(Expr(subset.array), rows)

    def ops(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if not is_terminator(op.__class__):
                with located(op.location):
                    self._op(op)

    def loop(self, op: scf.ForOp, inits: Sequence[Expr]) -> list[Expr]:
        """A loop. inits: what it carries, for the row."""
        found = for_loop(
            Expr(self.of(op.ub)), inits, lambda counter, *carried: self._trip(op.body.block, counter, *carried)
        )
        for carry, new in zip(Loop(op).carries, found, strict=True):
            new.value.name_hint = carry.arg.name_hint
        return list(found)

    def _trip(self, body: Block, *args: Expr) -> list[Expr]:
        for arg, new in zip(body.args, args, strict=True):
            new.value.name_hint = arg.name_hint
            self._values[arg] = new.value
        self.ops(ops_of(body))
        return [Expr(self.of(value, like=arg)) for value, arg in zip(yields(body), body.args[1:], strict=True)]

    def _op(self, op: Operation) -> None:
        subset = accessed_subset(op)
        if subset is not None and op in self.parts:
            results = [self._access(op, subset)]
        elif subset is not None and op in self.local:
            results = [self._access_local(op, subset)]
        elif isinstance(op, scf.ForOp):
            carries = Loop(op).carries
            results = self.loop(op, [Expr(self.of(carry.init, like=carry.result)) for carry in carries])
            (new,) = {each.value.owner for each in results}
            assert isinstance(new, scf.ForOp)
            self.loops[op] = new
        elif _is_filled(op.results[0]):
            return
        elif op.results[0] in self.rows:
            results = self._computed(op)
        else:
            values = dict(self._values)
            if subset is not None and subset.array in self.rows:
                values.pop(subset.array)  # single numbers are read from whole arrays
            results = [Expr(result) for result in insert(op.clone(values)).results]
        for old, new in zip(op.results, results, strict=True):
            new.value.name_hint = old.name_hint
            self._values[old] = new.value

    def _computed(self, op: Operation) -> Sequence[Expr]:
        """The results of an op that computes each number from the numbers at the same place, for the row."""
        assert isinstance(op, NdOp)
        if op.is_undefined():
            return [undefined(self._type(op.results[0]))]
        if op.is_reshape():
            return [reshape(Expr(self.of(op.operands[0])), self._type(op.results[0]))]
        operands = [self.of(operand, like=op.results[0]) for operand in op.operands]
        return emit_all(type(op), *operands, result_type=self._type(op.results[0]), **op.properties)

    def _access(self, op: Operation, subset: Subset) -> Expr:
        """A read or write of a whole array: of the row of a slice."""
        rows = self.parts[op]
        ranges = [each for each in subset.ranges if each is not None]
        starts = [self._start(each) for each in ranges]
        sizes, strides = list(types.shape(subset.part.type)), [each.stride for each in ranges]
        sizes[rows.axis] = self.size * rows.unit
        if op in self._blocks:
            block = apply(np.floor_divide, starts[rows.axis], self.count * rows.unit)
            starts[rows.axis : rows.axis + 1] = [block, self._first(rows)]
            sizes[rows.axis : rows.axis + 1] = [rows.blocks, rows.unit]
            return extract_slice(self._blocks[op], starts, sizes, [*strides, 1])
        first = self._first(rows)
        starts[rows.axis] = starts[rows.axis] + (first if strides[rows.axis] == 1 else first * strides[rows.axis])
        if subset.change is Change.NONE:
            array = subset.array if subset.array in self.rows else self.of(subset.array)
            return extract_slice(Expr(array), starts, sizes, strides)
        return self._update(subset, Expr(self.of(subset.array)), starts, sizes, strides)

    def _access_local(self, op: Operation, subset: Subset) -> Expr:
        """A read or write of an array that has only the row."""
        ranges = [each for each in subset.ranges if each is not None]
        starts, strides = [self._start(each) for each in ranges], [each.stride for each in ranges]
        sizes = self._sizes(types.shape(subset.part.type), self.local[op])
        more = len(sizes) - len(starts)
        starts, strides = starts + more * [constant(0, types.I64)], strides + more * [1]
        if subset.change is Change.NONE:
            return extract_slice(Expr(self.of(subset.array)), starts, sizes, strides)
        return self._update(subset, Expr(self.of(subset.array, like=op.results[0])), starts, sizes, strides)

    def _update(
        self, subset: Subset, array: Expr, starts: Sequence[Expr], sizes: Sequence[int], strides: Sequence[int]
    ) -> Expr:
        update = insert_slice if subset.change is Change.REPLACED else add_slice
        part = self._filled(subset.part, sizes) if _is_filled(subset.part) else Expr(self.of(subset.part))
        return update(part, array, starts, strides)

    def _start(self, place: Range) -> Expr:
        start = place.start
        return Expr(self.of(start)) if isinstance(start, SSAValue) else constant(start, types.I64)

    # --- values -------------------------------------------------------------------------------------------------

    def of(self, value: SSAValue, like: SSAValue | None = None) -> SSAValue:
        """A value for the row. like: a value of the same shape that has rows, if `value` may be filled."""
        if value not in self._values and _is_filled(value):
            like = value if value in self.rows else like
            if like is not None and like in self.rows:
                return self._filled(value, types.shape(self._type(like))).value
        return self._values.get(value, value)

    def _filled(self, value: SSAValue, shape: Sequence[int]) -> Expr:
        owner: Any = value.owner
        contents = owner.contents()
        if isinstance(contents, SSAValue):
            return full(Expr(self.of(contents)), shape)
        return full(constant(known_number(value), types.element_type(value.type)), shape)

    def row_of(self, whole: Expr, rows: RowAxis) -> Expr:
        sizes = list(whole.shape)
        sizes[rows.axis] = self.size * rows.unit
        return extract_slice(whole, self._starts(whole, rows), sizes)

    def result(self, value: SSAValue) -> Expr:
        """The row of a value, to be written to the whole array."""
        return Expr(self.of(value))

    def place(self, whole: Expr, rows: RowAxis, ranges: Sequence[Range | None] = ()) -> tuple[list[Expr], list[int]]:
        """The starts and strides of the row in an array, or in the part of an array at these ranges."""
        starts, strides = self._starts(whole, rows), [1] * len(whole.shape)
        for axis, each in enumerate(ranges):
            assert each is not None
            strides[axis] = each.stride
            start = starts[axis] if each.stride == 1 else starts[axis] * each.stride
            starts[axis] = self._start(each) + start if axis == rows.axis else self._start(each)
        return starts, strides

    def _starts(self, whole: Expr, rows: RowAxis) -> list[Expr]:
        zero = constant(0, types.I64)
        return [self._first(rows) if axis == rows.axis else zero for axis in range(len(whole.shape))]

    def _first(self, rows: RowAxis) -> Expr:
        """The first index of the row, from the first index of all rows."""
        return self.row if rows.unit == 1 else self.row * rows.unit

    def _type(self, value: SSAValue) -> Attribute:
        return types.tensor(self._sizes(types.shape(value.type), self.rows[value]), types.element_type(value.type))

    def _sizes(self, shape: Sequence[int], rows: RowAxis) -> list[int]:
        """The shape of the row of an array."""
        return [rows.unit if axis == rows.axis else size for axis, size in enumerate(shape)]

    def _split(self, array: Expr, rows: RowAxis) -> Expr:
        """The axis of an array that consists of blocks of all rows becomes two: the blocks, and the rows."""
        sizes, size = list(array.shape), self.count * rows.unit
        sizes[rows.axis : rows.axis + 1] = [array.shape[rows.axis] // size, size]
        return reshape(array, types.tensor(sizes, array.element))


def undefined(type: Attribute) -> Expr:
    """An array with undefined numbers."""
    flat = types.tensor([prod(types.shape(type))], types.element_type(type))
    return reshape(emit(TapeOp, result_type=flat), type)


def _is_filled(value: SSAValue) -> bool:
    return types.is_tensor(value.type) and holds_one_number(value)
