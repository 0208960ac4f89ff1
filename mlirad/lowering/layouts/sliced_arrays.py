"""Finds the arrays that ops read and write by slices, each with all of its values, and better orders of their axes.

Reads: nd and scf. Writes: nothing. Leaves: the decision for `lay_out_arrays.py`, which rewrites the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeGuard

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from mlirad.analysis.bounds import most_trips
from mlirad.analysis.call_graph import WRITTEN
from mlirad.analysis.groups import Groups
from mlirad.analysis.loops import Carries, LoopOp, block_of, loops_around, trip_count
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, full
from mlirad.dialect.core.op import NdOp, accessed_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_inside

_PAYS = 4
"""From so many uses of an element on, it pays to transpose the array."""
_MOST = 1 << 30
"""A bound for trips that is larger says nothing."""
_FEW = 8
"""Single elements may lie apart if they are used at most once for this many elements of slices."""

Use = tuple[Operation, int]
"""An operand."""


@dataclass
class SlicedArray:
    """The values that are one array at different times, and what uses them.

    filled: operands that are filled arrays, each of which may get memory of its own. joined: other operands of the
    array's own ops. made: values that other ops make; uses: operands of other ops.
    """

    values: list[SSAValue] = field(default_factory=list)
    accesses: list[Operation] = field(default_factory=list)
    filled: list[Use] = field(default_factory=list)
    joined: list[Use] = field(default_factory=list)
    made: list[SSAValue] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)

    def absorb(self, other: SlicedArray) -> None:
        self.values += other.values
        self.accesses += other.accesses
        self.filled += other.filled
        self.joined += other.joined
        self.made += other.made
        self.uses += other.uses

    def order(self) -> list[int] | None:
        """A better order of the axes: first those along which all slices have one index; None if there is none.

        Single elements have the order of the loops around them, which is left to the user and to exchanged loops.
        They are ignored if slices are used much more often.
        """
        lengths = {op: _lengths(op) for op in self.accesses}
        slices = [op for op, each in lengths.items() if any(length != 1 for length in each)]
        elements = sum(_elements_used(op) for op in lengths.keys() - set(slices))
        if not slices or _FEW * elements > sum(map(_elements_used, slices)):
            return None
        rank = len(lengths[slices[0]])
        single = [axis for axis in range(rank) if all(lengths[op][axis] == 1 for op in slices)]
        if rank - 1 not in single or not self._pays():
            return None
        return [*single, *(axis for axis in range(rank) if axis not in single)]

    @property
    def used(self) -> dict[SSAValue, list[Use]]:
        """The values that ops of the array make and other ops use, and these uses."""
        found: dict[SSAValue, list[Use]] = {}
        for op, index in self.uses:
            if op.operands[index] not in self.made:
                found.setdefault(op.operands[index], []).append((op, index))
        return found

    def _pays(self) -> bool:
        """Whether another order pays for a transpose of each value that others make or use. None is in a loop.

        An array of the caller that an error leaves half written has its order, as all writes would come at the end.
        """
        seen = [*self.made, *self.used]
        if any(loops_around(block_of(value)) or _shows_errors(value) for value in seen):
            return False
        elements = prod(types.shape(self.values[0].type))
        return not seen or sum(map(_elements_used, self.accesses)) >= _PAYS * len(seen) * elements


class SlicedArrays:
    """The arrays of a module, as groups of values."""

    def __init__(self, module: ModuleOp) -> None:
        self._groups = Groups(SlicedArray, SlicedArray.absorb)
        self._seen: dict[SSAValue, None] = {}
        for op in ops_inside(module):
            self._read(op)

    def found(self) -> Iterator[SlicedArray]:
        for value in self._seen:
            self._groups.of(value).values.append(value)
        yield from {id(found): found for found in map(self._groups.of, self._seen)}.values()

    def _read(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp | scf.IfOp):
            self._read_carries(Carries(op))
            return
        if is_terminator(op.__class__) and isinstance(op.parent_op(), scf.ForOp | scf.IfOp):
            return
        subset = _slice_of(op)
        for index, operand in enumerate(op.operands):
            if (subset is None or index != subset.number) and _is_array(operand):
                self._array(operand).uses.append((op, index))
        if subset is None:
            for value in (
                *op.results,
                *(arg for region in op.regions for block in region.blocks for arg in block.args),
            ):
                self._make(value)
            return
        is_write = subset.change is not Change.NONE
        member = op.results[0] if is_write else subset.array
        if not is_write:
            self._make(op.results[0])
            if is_filled(subset.array):
                return
            self._array(member).joined.append((op, subset.number))
        self._array(member).accesses.append(op)
        if is_write:
            self._join(member, op, subset.number)

    def _read_carries(self, carries: Carries) -> None:
        """A carry is one array in all regions. Its yields are operands of terminators, which the loop answers for."""
        first = len(carries.op.operands) - carries.count
        for number, result in enumerate(carries.op.results):
            if not _has_axes(result):
                continue
            self._array(result)
            for args in carries.region_args:
                self._groups.join(result, self._see(args[number]))
            if isinstance(carries.op, scf.ForOp):
                self._join(result, carries.op, first + number)
            for end in carries.terminators:
                self._join(result, end, number)

    def _join(self, value: SSAValue, op: Operation, index: int) -> None:
        """An operand is the same array as a value."""
        if is_filled(op.operands[index]):
            self._array(value).filled.append((op, index))
        else:
            self._groups.join(value, self._see(op.operands[index]))
            self._array(value).joined.append((op, index))

    def _array(self, value: SSAValue) -> SlicedArray:
        return self._groups.of(self._see(value))

    def _see(self, value: SSAValue) -> SSAValue:
        self._seen[value] = None
        self._groups.of(value)
        return value

    def _make(self, value: SSAValue) -> None:
        if _is_array(value):
            self._array(value).made.append(value)


def _has_axes(value: SSAValue) -> bool:
    return types.is_tensor(value.type) and len(types.shape(value.type)) > 1


def _is_array(value: SSAValue) -> bool:
    return _has_axes(value) and not is_filled(value)


def _lengths(access: Operation) -> list[int]:
    """The length of the access along each axis; a length known only at run time counts as half of the axis."""
    subset = slice_at(access)
    ranges = zip(subset.ranges, types.shape(subset.array.type), strict=True)
    return [
        place.length if isinstance(place.length, int) else max(2, size // 2)
        for place, size in ranges
        if place is not None
    ]


def _elements_used(access: Operation) -> int:
    """About how many elements a read or write uses in all trips."""
    return prod(_lengths(access)) * prod(_trips(loop.op) for loop in loops_around(access.parent))


def _shows_errors(value: SSAValue) -> bool:
    """Whether a value is an array that a function writes for its caller, and an op of the function may fail."""
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    assert isinstance(value, BlockArgument)
    if WRITTEN not in function.arg_attrs.data[value.index].data:
        return False
    ops = (op for op in ops_inside(function) if not op.regions and not is_terminator(op.__class__))
    return not all(map(has_no_effect, ops))


def _trips(loop: LoopOp) -> int:
    """About how many trips there are; 1 if this is unknown. A loop that runs to an outer counter has half the most."""
    if not isinstance(loop, scf.ForOp):
        return 1
    known = trip_count(loop)
    if known is not None:
        return known
    most = most_trips(loop)
    return 1 if most is None or most > _MOST else (most + 1) // 2


def is_filled(value: SSAValue) -> bool:
    """Whether a value is an array of known shape, filled with a scalar."""
    owner = value.owner
    is_known = isinstance(owner, NdOp) and isinstance(owner.contents(), SSAValue)
    return is_known and types.is_tensor(value.type) and types.is_static(value.type)


def filled_as(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """An array of another shape, filled with the same scalar."""
    owner = value.owner
    assert isinstance(owner, NdOp)
    contents = owner.contents()
    assert isinstance(contents, SSAValue)
    made = full(Expr(contents), shape).value
    made.name_hint = value.name_hint
    return made


def slice_at(op: Operation) -> Subset:
    subset = accessed_subset(op)
    assert subset is not None
    return subset


def _slice_of(op: Operation) -> Subset | None:
    """The slice or element of an array with several axes that an op reads, replaces or adds to."""
    subset = accessed_subset(op)
    if subset is None or subset.change is Change.OTHER or not _has_axes(subset.array) or None in subset.ranges:
        return None
    is_slice = subset.axes == tuple(range(len(types.shape(subset.array.type))))
    return subset if (is_slice or is_element(subset)) and types.is_static(subset.array.type) else None


def is_element(subset: Subset) -> bool:
    """Whether a part of an array is a single number."""
    return not types.is_tensor(subset.part.type)


def is_reshape(op: Operation | Block) -> TypeGuard[NdOp]:
    return isinstance(op, NdOp) and op.is_reshape()
