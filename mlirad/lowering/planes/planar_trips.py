"""Finds loops that compute each row of their arrays apart from all other rows.

Reads: scf and nd. Writes: nothing. Gives: for such a loop, the axis of each value along which its rows lie.

Example: each trip k of a recurrence over the levels of a grid computes planes, pointwise:

    for k in range(1, levels):
        d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a[:, :, k]) * b

Row i of the planes needs row i of the arrays only. A row may consist of several neighbouring indices of an axis, its
`unit`, if the axis is several others in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.constants import holds_one_number
from mlirad.analysis.loops import Carry, Loop, counts_from_zero, is_outside
from mlirad.analysis.trip_forms import Form, Term, Trip, linear, of_term
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.op import NdOp, accessed_subset, written_subset
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.lowering.layouts.sliced_arrays import is_reshape
from mlirad.lowering.planes.shifted_additions import additions_of
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_of

_FUNCTION = 10
"""The cost from which on an op counts as a function."""


@dataclass(frozen=True)
class RowAxis:
    """Where the rows of an array lie: along `axis`, `unit` indices each. All rows follow one another `blocks` times."""

    axis: int
    unit: int = 1
    blocks: int = 1


@dataclass(frozen=True)
class PlanarTrips:
    """A loop that computes `count` rows apart from one another.

    rows: of the values that its trips compute with, and of carries that have rows themselves. parts: the rows of the
    slices that its trips read and write. shared: carries to which trips add the planes of several rows; these must be
    stored first (`shifted_additions.py`).
    """

    loop: scf.ForOp
    count: int
    rows: dict[SSAValue, RowAxis]
    parts: dict[Operation, RowAxis]
    shared: tuple[Carry, ...] = ()

    @property
    def before(self) -> list[SSAValue]:
        """The values with rows, other than filled arrays, that are computed before the loop."""
        return [value for value in self.rows if is_outside(value, self.loop) and not holds_one_number(value)]


def planar_trips(loop: scf.ForOp) -> PlanarTrips | None:
    """The description of a loop that computes rows apart; None if it does not."""
    body = ops_of(loop.body.block)
    if not counts_from_zero(loop) or loop.ub.type != types.I64 or not all(map(is_plain, body)):
        return None
    if not all(types.is_tensor(result.type) for result in loop.results):
        return None
    for axis, count in _candidates(body):
        found = _Search(loop, count).trips(*axis)
        if found is not None:
            return found
    return None


def is_slice(subset: Subset) -> bool:
    """Whether a part is an array with an axis for each axis of the whole, at known sizes."""
    has_sizes = all(each is not None and isinstance(each.length, int) for each in subset.ranges)
    return has_sizes and subset.axes == tuple(range(len(types.shape(subset.array.type))))


def is_plain(op: Operation) -> bool:
    """Whether an op may be repeated for rows: it has no effect, and no unknown sizes."""
    if is_terminator(op.__class__):
        return True
    is_harmless = isinstance(op, NdOp) and not op.regions and has_no_effect(op)
    return is_harmless and all(types.is_static(each.type) for each in (*op.operands, *op.results))


def is_pointwise(op: Operation) -> bool:
    """Whether each number of a result is computed from the numbers at the same place."""
    answer = op.loops() if isinstance(op, NdOp) else None
    return isinstance(answer, Generic) and answer.is_pointwise


def is_function(op: Operation) -> bool:
    """Whether an op computes more than arithmetic, which is faster in vectors."""
    return isinstance(op, NdOp) and op.memory.cost >= _FUNCTION


def _candidates(body: Sequence[Operation]) -> Iterator[tuple[tuple[SSAValue, int], int]]:
    """The axes of the parts that a trip writes, and their sizes; parts with the most axes first."""
    writes = [write.part for op in body if (write := written_subset(op)) is not None]
    parts = [each for each in writes if types.is_tensor(each.type) and not holds_one_number(each)]
    for part in sorted(dict.fromkeys(parts), key=lambda each: -len(types.shape(each.type))):
        for axis, size in enumerate(types.shape(part.type)):
            if size > 1:
                yield (part, axis), size


class Mixed(Exception):
    """Rows need one another."""


@dataclass
class _Search:
    loop: scf.ForOp
    count: int
    rows: dict[SSAValue, RowAxis] = field(default_factory=dict)
    parts: dict[Operation, RowAxis] = field(default_factory=dict)
    _pending: list[SSAValue] = field(default_factory=list)

    def trips(self, part: SSAValue, axis: int) -> PlanarTrips | None:
        """The loop, if rows along this axis of a part are computed apart."""
        body = self.loop.body.block
        carries = Loop(self.loop).carries
        accesses = {each: self._accesses(each) for each in carries}
        planes = [each for each, found in accesses.items() if found is None]
        try:
            self._set(part, RowAxis(axis))
            while self._pending:
                value = self._pending.pop()
                users = [use.operation for use in value.uses if use.operation.parent is body]
                owner = value.owner
                for op in (*users, *([owner] if isinstance(owner, Operation) and owner.parent is body else ())):
                    self._spread(op)
                for each in planes:
                    if value in (each.arg, each.yielded):
                        self._set(each.arg, self.rows[value])
                        self._set(each.yielded, self.rows[value])
            changed = {op for found in accesses.values() for op in found or ()}
            for op in ops_of(body):
                self._require(op, changed)
            shared = tuple(each for each, found in accesses.items() if not self._are_apart(found or ()))
        except Mixed:
            return None
        if not self._is_whole(planes) or any(additions_of(self.loop, each) is None for each in shared):
            return None
        return PlanarTrips(self.loop, self.count, self.rows, self.parts, shared)

    def _is_whole(self, planes: Sequence[Carry]) -> bool:
        return all(each.arg in self.rows and each.yielded in self.rows for each in planes)

    def _set(self, value: SSAValue, rows: RowAxis | None) -> None:
        if rows is None or self.rows.get(value, rows) != rows or not types.is_tensor(value.type):
            raise Mixed
        if types.shape(value.type)[rows.axis] != rows.blocks * self.count * rows.unit:
            raise Mixed
        if value not in self.rows:
            self.rows[value] = rows
            self._pending.append(value)

    def _spread(self, op: Operation) -> None:
        """An op's operands and results have the same rows."""
        if accessed_subset(op) is not None or is_terminator(op.__class__):
            return
        if is_reshape(op):
            x, result = op.operands[0], op.results[0]
            for one, other in ((x, result), (result, x)):
                if one in self.rows:
                    self._set(
                        other, reshaped(self.rows[one], self.count, types.shape(one.type), types.shape(other.type))
                    )
            return
        arrays = [each for each in (*op.operands, *op.results) if types.is_tensor(each.type)]
        found = next(self.rows[each] for each in arrays if each in self.rows)
        if found.blocks != 1:
            raise Mixed
        for each in arrays:
            if each in op.results or not holds_one_number(each):
                self._set(each, found)

    def _require(self, op: Operation, of_carries: Set[Operation]) -> None:
        """An op of the body can be computed for a row. of_carries: the reads and writes of carried arrays."""
        if is_terminator(op.__class__) or not any(types.is_tensor(x.type) for x in (*op.operands, *op.results)):
            return
        subset = accessed_subset(op)
        if subset is not None:
            is_read_before = subset.change is Change.NONE and is_outside(subset.array, self.loop)
            if is_read_before and not types.is_tensor(subset.part.type):
                return
            if not (is_read_before or op in of_carries) or subset.array in self.rows or not is_slice(subset):
                raise Mixed
            if subset.part in self.rows:
                rows = self.parts[op] = self.rows[subset.part]
                if rows.blocks != 1 and not self._is_in_blocks(subset, rows):
                    raise Mixed
            elif not holds_one_number(subset.part):
                raise Mixed
            return
        if holds_one_number(op.results[0]):
            return
        if not all(each in self.rows for each in op.results) or not (is_pointwise(op) or is_reshape(op)):
            raise Mixed

    def _accesses(self, carry: Carry) -> list[Operation] | None:
        """The reads and writes of a carried array in a trip; None if it is used otherwise."""
        found: list[Operation] = []
        versions: list[SSAValue] = [carry.arg]
        for version in versions:
            for use in version.uses:
                op = use.operation
                if is_terminator(op.__class__) and version is carry.yielded:
                    continue
                subset = accessed_subset(op)
                if subset is None or subset.array is not version or subset.number != use.index:
                    return None
                found.append(op)
                if subset.change is not Change.NONE:
                    versions.append(op.results[0])
        return found if carry.yielded in versions else None

    def _are_apart(self, accesses: Sequence[Operation]) -> bool:
        """Whether all trips access each row of a carried array as that row."""
        subsets = {op: subset for op in accesses if (subset := accessed_subset(op)) is not None}
        if all(each.change is Change.NONE for each in subsets.values()):
            return True
        known = next((self.parts[op] for op in subsets if op in self.parts), None)
        if known is None:
            raise Mixed
        first: Range | None = None
        for op, subset in subsets.items():
            if self.parts.setdefault(op, known) != known:
                return False
            place = subset.ranges[known.axis]
            first = first or place
            assert place is not None and first is not None
            if known.blocks != 1 or place.length != self.count * known.unit or place.stride != 1 or first.stride != 1:
                return False
            if not self._is_congruent(place.start, first.start, self.count * known.unit):
                return False
        return True

    def _is_in_blocks(self, subset: Subset, rows: RowAxis) -> bool:
        """Whether an array that the loop does not change consists of blocks of all rows, and a part of some blocks."""
        place, block = subset.ranges[rows.axis], self.count * rows.unit
        is_fixed = subset.change is Change.NONE and is_outside(subset.array, self.loop)
        is_whole = types.shape(subset.array.type)[rows.axis] % block == 0
        return (
            is_fixed
            and is_whole
            and place is not None
            and place.stride == 1
            and self._is_congruent(place.start, 0, block)
        )

    def _is_congruent(self, one: int | SSAValue, other: int | SSAValue, modulus: int) -> bool:
        """Whether two starts, in any two trips, differ by a multiple of the size of all rows."""
        forms = [linear(each) if isinstance(each, SSAValue) else Form(constant=each) for each in (one, other)]
        trip = Trip(self.loop)
        if any(form.terms.get(trip, 0) % modulus for form in forms):
            return False
        fixed = [form.plus(of_term(trip), -form.terms.get(trip, 0)) for form in forms]
        if not all(self._is_fixed(term) for form in fixed for term in form.terms):
            return False
        difference = (fixed[0] - fixed[1]).value
        return difference is not None and difference % modulus == 0

    def _is_fixed(self, term: Term) -> bool:
        return term.loop.is_ancestor(self.loop) if isinstance(term, Trip) else is_outside(term.value, self.loop)


def reshaped(rows: RowAxis, count: int, before: Sequence[int], after: Sequence[int]) -> RowAxis | None:
    """The rows after a reshape; None if a row is not several neighbouring indices of one axis."""
    outside = prod(before[: rows.axis]) * rows.blocks
    for axis, size in enumerate(after):
        blocks, rest = divmod(outside, prod(after[:axis]))
        if size > 1 and not rest and size % (blocks * count) == 0:
            return RowAxis(axis, size // (blocks * count), blocks)
    return None
