"""Finds loops over planes, and the ops between them, that together compute each row of their arrays apart.

Reads: scf and nd. Writes: nothing. Gives: the ops of a block that can run for one row after the other, and the axis of
each value along which its rows lie.

Example: a sweep up, a few planes, and a sweep down. Row i of `d` is used for row i of `x` only:

    for k in range(1, levels):
        d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a[:, :, k]) * b
    x = d[:, :, levels - 1] * 2
    for k in range(levels - 2, -1, -1):
        x = d[:, :, k] - c[:, :, k] * x

Ops that need several rows of what these compute come after all of them. A reduction over rows and over other axes is
computed for a row; `reduced_rows.py` combines what it gives for the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from mlirad.analysis.constants import holds_one_number
from mlirad.analysis.loops import Loop, counts_from_zero
from mlirad.analysis.trip_forms import linear
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.op import NdOp, accessed_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.reduction import ReductionOp
from mlirad.lowering.layouts.sliced_arrays import is_reshape
from mlirad.lowering.planes.planar_trips import (
    Mixed,
    RowAxis,
    is_function,
    is_plain,
    is_pointwise,
    is_slice,
    planar_trips,
    reshaped,
)
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True)
class PlanarSequence:
    """Ops of a block, with several loops over planes, that compute `count` rows apart from one another.

    ops: in program order. later: ops between them that come after them. following: the op before which all of them can
    be computed. rows: of all values that have rows. taken: arrays from before whose rows the ops use or
    change. parts: the rows of slices that are read from arrays from before. local: the rows of all other slices.
    reduced: reductions over rows and over other axes.
    """

    block: Block
    ops: tuple[Operation, ...]
    later: tuple[Operation, ...]
    following: Operation
    count: int
    rows: dict[SSAValue, RowAxis]
    taken: tuple[SSAValue, ...]
    parts: dict[Operation, RowAxis]
    local: dict[Operation, RowAxis]
    reduced: tuple[ReductionOp, ...]

    @property
    def results(self) -> list[OpResult]:
        """The results that other ops use."""
        return [result for op in self.ops for result in op.results if self.users(result)]

    def users(self, result: SSAValue) -> set[Operation]:
        """The other ops of the block that use a result."""
        return users_in(self.block, result) - set(self.ops)


def planar_sequence(block: Block, loops: Sequence[scf.ForOp]) -> PlanarSequence | None:
    """Ops of a block with one of these loops and at least one other; None if there are none."""
    known = _Known()
    for loop in loops:
        trips = planar_trips(loop)
        if trips is not None and not trips.shared:
            value, rows = next(iter(trips.rows.items()))
            found = _Search(block, loop, trips.count, known).sequence(value, rows)
            if found is not None and sum(isinstance(op, scf.ForOp) for op in found.ops) > 1:
                return found
    return None


def users_in(block: Block, value: SSAValue) -> set[Operation]:
    """The ops of a block that use a value, themselves or in their regions."""
    found = {block.find_ancestor_op_in_block(use.operation) for use in value.uses}
    return {op for op in found if op is not None}


class _Known:
    """What is asked of ops again and again, by the searches from several loops. No op changes in this time."""

    def __init__(self) -> None:
        self.inside, self.makers = cache(_inside), cache(_makers)
        self.subset, self.alike = cache(accessed_subset), cache(_alike)
        self.is_repeatable, self.has_effect = cache(_is_repeatable), cache(_has_effect)


@dataclass
class _Search:
    block: Block
    seed: scf.ForOp
    count: int
    known: _Known
    rows: dict[SSAValue, RowAxis] = field(default_factory=dict)
    members: dict[Operation, None] = field(default_factory=dict)

    def sequence(self, value: SSAValue, rows: RowAxis) -> PlanarSequence | None:
        """The ops that compute rows together with the loop `seed`, in which a value has these rows."""
        try:
            self._set(value, rows)
        except Mixed:
            return None
        if not self._add(self.seed):
            return None
        ops = ops_of(self.block)
        self._later(ops, is_growing=True)
        self._add_needed(ops)
        self._drop_last(ops)
        members = [op for op in ops if op in self.members]
        try:
            for op in members:
                self._fit(op)
        except Mixed:
            return None
        return self._described(ops, members)

    def _described(self, ops: Sequence[Operation], members: Sequence[Operation]) -> PlanarSequence:
        place, later = ops.index(members[-1]), self._later(ops)
        following = next(op for op in ops[place + 1 :] if op in later or is_terminator(op.__class__))
        parts: dict[Operation, RowAxis] = {}
        local: dict[Operation, RowAxis] = {}
        taken: dict[SSAValue, None] = {}
        for op in (each for member in members for each in self.known.inside(member)):
            subset = self.known.subset(op)
            operands = set(op.operands)
            if subset is not None and self._is_whole(subset):
                if types.is_tensor(subset.part.type):
                    parts[op] = self.rows[subset.part]
                operands.discard(subset.array)
            elif subset is not None:
                local[op] = self.rows[subset.array if subset.change is Change.NONE else op.results[0]]
            taken |= {each: None for each in op.operands if each in operands and self._is_taken(each)}
        between = tuple(op for op in ops[:place] if op in later)
        reduced = tuple(op for op in members if isinstance(op, ReductionOp) and op.result not in self.rows)
        return PlanarSequence(
            self.block, tuple(members), between, following, self.count, self.rows, tuple(taken), parts, local, reduced
        )

    def _is_taken(self, value: SSAValue) -> bool:
        return value in self.rows and not holds_one_number(value) and not self._is_made(value)

    # --- which ops ----------------------------------------------------------------------------------------------

    def _later(self, ops: Sequence[Operation], is_growing: bool = False) -> dict[Operation, None]:
        """The ops that come after all members: those that need results, and those with effects behind the seed.

        is_growing: first, each op that needs results becomes a member if it can be computed for a row.
        """
        later: dict[Operation, None] = {}
        is_behind = False
        for op in ops:
            is_behind = is_behind or op is self.seed
            if op not in self.members and is_behind and not is_terminator(op.__class__):
                makers = self.known.makers(op)
                is_later = bool(makers & later.keys()) or self.known.has_effect(op)
                if is_later or (makers & self.members.keys() and not (is_growing and self._add(op))):
                    later[op] = None
        return later

    def _add_needed(self, ops: Sequence[Operation]) -> None:
        """Add the ops whose results only members need, back to the last op with an effect before the seed."""
        is_before = False
        for op in reversed(ops):
            if is_before and self.known.has_effect(op):
                return
            is_before = is_before or op is self.seed
            if op not in self.members and any(result in self.rows for result in op.results):
                users = {user for result in op.results for user in users_in(self.block, result)}
                if users and users <= self.members.keys():
                    self._add(op)

    def _drop_last(self, ops: Sequence[Operation]) -> None:
        """Drop ops that make more results for other ops than they spare, and writes to arrays from before."""
        for op in reversed(ops):
            if op in self.members and not op.regions and not self._is_used(op):
                needed = {each for each in _operands(op) if each.owner in self.members}
                is_spared = any(not users_in(self.block, each) - self.members.keys() for each in needed)
                subset = written_subset(op)
                is_copy = subset is not None and subset.change is Change.REPLACED and not self._is_made(subset.array)
                if is_copy or not is_spared:
                    del self.members[op]

    def _is_used(self, op: Operation) -> bool:
        return any(users_in(self.block, result) & self.members.keys() for result in op.results)

    def _is_made(self, value: SSAValue) -> bool:
        """Whether members make a value."""
        owner = value.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
        return op is not None and self.block.find_ancestor_op_in_block(op) in self.members

    # --- their rows ---------------------------------------------------------------------------------------------

    def _add(self, op: Operation) -> bool:
        """Make an op a member, if it can be computed for a row."""
        before = dict(self.rows)
        self.members[op] = None
        try:
            self._fit(op)
        except Mixed:
            self.rows = before
            del self.members[op]
            return False
        return True

    def _fit(self, op: Operation) -> None:
        """Find the rows of all values that an op computes with."""
        inside = self.known.inside(op)
        if not op.results or not all(map(self.known.is_repeatable, inside)):
            raise Mixed
        count = -1
        while count != len(self.rows):
            count = len(self.rows)
            for each in inside:
                self._spread(each)
        for each in inside:
            self._require(each)
        if not self._is_reduced(op) and not all(result in self.rows for result in op.results):
            raise Mixed

    def _is_reduced(self, op: Operation) -> bool:
        """Whether an op of the block is a reduction over rows and over other axes."""
        if not isinstance(op, ReductionOp) or op.parent is not self.block:
            return False
        rows = self.rows.get(op.x)
        return rows is not None and rows.axis in ints(op.axes) and len(ints(op.axes)) > 1

    def _set(self, value: SSAValue, rows: RowAxis | None) -> None:
        if rows is not None and self.rows.get(value) == rows:
            return
        if rows is None or rows.blocks != 1 or self.rows.get(value, rows) != rows or not types.is_static(value.type):
            raise Mixed
        shape = types.shape(value.type)
        if len(shape) <= rows.axis or shape[rows.axis] != self.count * rows.unit:
            raise Mixed
        self.rows[value] = rows

    def _set_alike(self, arrays: Sequence[SSAValue]) -> None:
        """Arrays have the rows of the first that has rows."""
        known = next((self.rows[each] for each in arrays if each in self.rows), None)
        if known is not None:
            for each in arrays:
                self._set(each, known)

    def _spread(self, op: Operation) -> None:
        subset = self.known.subset(op)
        if subset is None and is_reshape(op):
            x, result = op.operands[0], op.results[0]
            for one, other in ((x, result), (result, x)):
                if one in self.rows and not holds_one_number(other):
                    shapes = types.shape(one.type), types.shape(other.type)
                    self._set(other, reshaped(self.rows[one], self.count, *shapes))
        elif isinstance(op, ReductionOp):
            rows = self.rows.get(op.x)
            if rows is not None and rows.axis in op.kept:
                self._set(op.result, RowAxis(op.kept.index(rows.axis), rows.unit))
        elif subset is None or not self._is_whole(subset):
            for arrays in self.known.alike(op):
                self._set_alike(arrays)

    def _require(self, op: Operation) -> None:
        """All arrays that an op computes with have rows, and it can be computed for one of them."""
        if isinstance(op, scf.ForOp):
            if not counts_from_zero(op) or op.ub.type != types.I64:
                raise Mixed
            if not all(carry.arg in self.rows for carry in Loop(op).carries):
                raise Mixed
            return
        if is_terminator(op.__class__) or self._is_reduced(op):
            return
        needed = [*op.operands, *op.results]
        subset = self.known.subset(op)
        if subset is not None:
            is_whole, is_read = self._is_whole(subset), subset.change is Change.NONE
            if is_whole and not types.is_tensor(subset.part.type):
                return
            if not is_slice(subset) or subset.change is Change.OTHER:
                raise Mixed
            if is_whole:
                needed.remove(subset.array)
            elif not self._is_all_rows(subset, self.rows.get(subset.array if is_read else op.results[0])):
                raise Mixed
        arrays = [each for each in needed if types.is_tensor(each.type) and not holds_one_number(each)]
        is_within_rows = isinstance(op, ReductionOp) and op.parent is self.block
        is_for_rows = subset is not None or is_pointwise(op) or is_reshape(op) or _is_undefined(op) or is_within_rows
        if arrays and not (is_for_rows and all(each in self.rows for each in arrays)):
            raise Mixed

    def _is_whole(self, subset: Subset) -> bool:
        """Whether an op reads a part of an array from before."""
        return subset.change is Change.NONE and not self._is_made(subset.array)

    def _is_all_rows(self, subset: Subset, rows: RowAxis | None) -> bool:
        """Whether a part has all rows of the array."""
        place = None if rows is None else subset.ranges[rows.axis]
        if rows is None or place is None or place.stride != 1 or place.length != self.count * rows.unit:
            return False
        return place.start == 0 or (isinstance(place.start, SSAValue) and linear(place.start).value == 0)


def _inside(op: Operation) -> list[Operation]:
    """An op and the ops inside."""
    return [op, *ops_inside(op)]


def _makers(op: Operation) -> set[Operation | Block]:
    """The owners of the values that an op and the ops inside use."""
    return {each.owner for each in _operands(op)}


def _alike(op: Operation) -> list[list[SSAValue]]:
    """Groups of arrays whose rows lie along the same axis, if an op computes rows apart. Filled arrays may have any."""
    subset = accessed_subset(op)
    groups: Iterable[tuple[SSAValue, ...]] = ()
    if subset is not None:
        groups = [(subset.array, subset.part, *op.results)]
    elif isinstance(op, scf.ForOp):
        groups = [(carry.init, carry.arg, carry.yielded, carry.result) for carry in Loop(op).carries]
    elif not is_terminator(op.__class__):
        groups = [(*op.operands, *op.results)]
    return [[each for each in group if types.is_tensor(each.type) and not holds_one_number(each)] for group in groups]


def _is_repeatable(op: Operation) -> bool:
    """Whether an op may be repeated for each row."""
    return (isinstance(op, scf.ForOp) or _is_undefined(op) or is_plain(op)) and not is_function(op)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """The values that an op and the ops inside use."""
    for each in (op, *ops_inside(op)):
        yield from each.operands


def _is_undefined(op: Operation) -> bool:
    return isinstance(op, NdOp) and op.is_undefined()


def _has_effect(op: Operation) -> bool:
    """Whether an op does more than compute its results, so that it has to stay before or behind other such ops."""
    inside = (op, *ops_inside(op))
    return any(not (each.regions or _is_undefined(each) or has_no_effect(each)) for each in inside)
