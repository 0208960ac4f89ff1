"""Finds runs of nests that can process their rows together, each some rows behind the others, and how far behind.

Reads: nests on memrefs of static size, in program order. Writes: nothing. Leaves: nests that add up rows to an array,
and ops that must stay between two nests.

Row `i` of a nest touches row `i + shift` of each of its memories. Row `i` of a nest runs at time `i + lag`; rows of the
same time run in program order. If two nests touch one memory and one of them writes it, the later nest must not reach
a row before the earlier one: its `lag - shift` is at least as large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_body import Combiner, body_of
from mlirad.lowering.to_buffers.row_nests import (
    MEMREF_VIEWS,
    RESHAPES,
    base_of,
    bases_of,
    bytes_of_memref,
    dims_of,
    loads_elsewhere,
    read_by,
    shape_of,
    work_of,
)

_MOST_NESTS = 256
_MOST_WINDOW = 1 << 22
"""Bytes: the rows that are in use at one time should fit a second or third level cache."""
_WHOLE_VECTORS = 64
"""Rows of a multiple of this many elements have no leftover elements that are computed one by one."""


@dataclass(frozen=True)
class ShiftedAccess:
    """An operand of a nest.

    memory: what contains it. base: the memory, or the view of it in which rows are counted: a slot of a tape is such a
    view. has_rows: whether row i of the nest touches only row i of the operand. shift: the row of `base` that row 0 of
    the nest touches; None if a row of the nest may touch any row of `base`. is_read: whether the nest needs the old
    contents.
    """

    value: SSAValue
    memory: SSAValue
    base: SSAValue
    has_rows: bool
    shift: int | None
    is_written: bool
    is_read: bool

    @property
    def bytes(self) -> int:
        assert isinstance(self.value.type, MemRefType)
        return bytes_of_memref(self.value.type)

    @property
    def bytes_of_element(self) -> int:
        assert isinstance(self.value.type, MemRefType)
        return itemsize(self.value.type.element_type)


@dataclass(frozen=True)
class ShiftedNest:
    """A nest whose rows may run in any order. sums: the numbers to which it adds all rows, with their combiners."""

    op: Operation
    rows: int
    accesses: tuple[ShiftedAccess, ...]
    sums: Mapping[SSAValue, Combiner]

    @property
    def has_elements(self) -> bool:
        """Whether its rows are single elements of arrays with one axis."""
        return any(
            each.is_written and each.value not in self.sums and len(shape_of(each.value)) == 1 for each in self.accesses
        )

    @property
    def first_shift(self) -> int:
        """The shift of the first memory that the nest writes by rows; without one, of the first that it reads so."""
        ordered = sorted(self.accesses, key=lambda each: not each.is_written)
        return next((each.shift for each in ordered if each.shift is not None), 0)


def shifted_nest_of(op: Operation) -> ShiftedNest | None:
    """The nest of an op; None if it cannot run row by row."""
    maps = _maps_of(op)
    if maps is None:
        return None
    sums = _sums_of(op)
    if sums is None:
        return None
    body = op.body.block if isinstance(op, LinalgStructuredOperation) else None
    first_output = len(maps) - (len(op.outputs) if isinstance(op, LinalgStructuredOperation) else 1)
    accesses: list[ShiftedAccess] = []
    rows = 0
    for place, (value, dims) in enumerate(zip(op.operands, maps, strict=True)):
        if not isinstance(value.type, MemRefType):
            continue
        memory, shape = base_of(value), shape_of(value)
        if dims is None or memory is None or DYNAMIC_INDEX in shape or 0 in dims[1:]:
            return None
        has_rows, is_written = dims[:1] == (0,), place >= first_output
        base, shift = _rows_of(value) if has_rows else (memory, None)
        if base is not memory and not is_written:
            base, shift = memory, None
        if is_written and value not in sums and shift is None:
            return None
        rows = shape[0] if has_rows else rows
        is_read = not is_written or (body is not None and body.args[place].uses.get_length() > 0)
        accesses.append(ShiftedAccess(value, memory, base, has_rows, shift, is_written, is_read))
    nest = ShiftedNest(op, rows, tuple(accesses), sums)
    is_exact = not nest.has_elements or (not sums and _is_exact(op))
    return nest if rows > 0 and is_exact else None


def _is_exact(op: Operation) -> bool:
    """Whether vectors of any length compute the same digits."""
    inside = (inner for region in op.regions for inner in region.block.ops)
    return all(inner.dialect_name() == arith.Arith.name or isinstance(inner, YieldOp) for inner in inside)


def _maps_of(op: Operation) -> list[Dims | None] | None:
    """The loops along which the axes of an op's operands run; None if running its rows one by one is not possible, or
    changes digits."""
    if isinstance(op, memref.CopyOp):
        return [tuple(range(len(shape_of(each)))) for each in op.operands]
    if not isinstance(op, LinalgStructuredOperation):
        return None
    lengths = [shape_of(each)[-1] for each in op.outputs if shape_of(each)]
    is_even = all(length % _WHOLE_VECTORS == 0 for length in lengths)
    for inner in op.body.block.ops:
        counts_rows = isinstance(inner, IndexOp) and inner.dim.value.data == 0
        is_plain = isinstance(inner, IndexOp | YieldOp) or inner.dialect_name() == arith.Arith.name
        if inner.regions or isinstance(inner, memref.LoadOp) or counts_rows or not (is_plain or is_even):
            return None
    return [dims_of(attribute.data) for attribute in op.get_indexing_maps()]


def _sums_of(op: Operation) -> dict[SSAValue, Combiner] | None:
    """The numbers to which a nest adds all its elements; None if it has a sum of another kind."""
    if not isinstance(op, GenericOp) or all(kind.data == IteratorType.PARALLEL for kind in op.iterator_types):
        return {}
    body, first, loops = body_of(op.body.block), len(op.inputs), len(op.iterator_types)
    sums: dict[SSAValue, Combiner] = {}
    for place, value in enumerate(op.outputs):
        combiner = body.combiner(place, first + place)
        if len(shape_of(value)) == loops:
            continue
        if shape_of(value) or combiner is None or combiner.is_in_order:
            return None
        sums[value] = combiner
    return sums


def _rows_of(value: SSAValue) -> tuple[SSAValue, int]:
    """The memory, or the view of it, that a value is consecutive rows of, and the first of these rows."""
    shift, rows = 0, shape_of(value)[0]
    while isinstance(view := value.owner, MEMREF_VIEWS):
        if isinstance(view, memref.SubviewOp):
            first = _first_of(view)
            if first is None or view.static_strides.get_values()[0] != 1 or not _has_all_axes(view):
                break
            shift += first
        elif not isinstance(view, RESHAPES) or shape_of(view.operands[0])[:1] != (rows,):
            break
        value = view.operands[0]
        rows = shape_of(value)[0]
    return value, shift


def _first_of(view: memref.SubviewOp) -> int | None:
    """The first row of a view, if it is known."""
    first = view.static_offsets.get_values()[0]
    return constant_int(view.offsets[0]) if first == DYNAMIC_INDEX else first


def _has_all_axes(view: memref.SubviewOp) -> bool:
    return len(shape_of(view.results[0])) == len(shape_of(view.source))


@dataclass
class StaggeredRun:
    """The nests of a run so far.

    bases: the base of each memory that they access. written, read: the bases that they write and read. whole: those in
    which a row of a nest may touch any row. summed: the memory of sums of all elements. later: ops that need these
    sums, and are moved behind the run.
    """

    nests: list[ShiftedNest] = field(default_factory=list)
    bases: dict[SSAValue, SSAValue] = field(default_factory=dict)
    written: set[SSAValue] = field(default_factory=set)
    read: set[SSAValue] = field(default_factory=set)
    whole: set[SSAValue] = field(default_factory=set)
    summed: set[SSAValue] = field(default_factory=set)
    later: list[Operation] = field(default_factory=list)

    def takes(self, op: Operation) -> bool:
        """Add an op to the run, leave it before the run, or move it behind the run; False if the run ends before it."""
        if self._is_later(op):
            self.later.append(op)
            return True
        if self.later and any(value.owner in self.later for value in read_by(op)):
            return False
        nest = shifted_nest_of(op) if len(self.nests) < _MOST_NESTS else None
        is_other = nest is not None and bool(self.nests) and nest.has_elements != self.has_elements
        if is_other and self.has_elements:
            return False
        if nest is not None and not is_other and self._may_join(nest):
            self._join(nest)
            return True
        return self._may_stay(op)

    @property
    def has_elements(self) -> bool:
        """Whether its rows are single elements, which run by blocks."""
        return bool(self.nests) and self.nests[0].has_elements

    def _is_later(self, op: Operation) -> bool:
        """Whether an op only computes with the sums of all elements."""
        if isinstance(op, memref.LoadOp):
            return base_of(op.memref) in self.summed
        is_plain = not op.regions and is_removable(op) and not any(isinstance(v.type, MemRefType) for v in op.operands)
        return is_plain and any(value.owner in self.later for value in op.operands)

    def _may_join(self, nest: ShiftedNest) -> bool:
        sums = [each.base for each in nest.accesses if each.value in nest.sums]
        others = [each for each in nest.accesses if each.value not in nest.sums]
        if any(map(self._has_touched, sums)) or len({*sums}) < len(sums):
            return False
        if self.summed.union(sums) & {each.base for each in others}:
            return False
        bases = dict(self.bases)
        if any(bases.setdefault(each.memory, each.base) is not each.base for each in nest.accesses):
            return False
        whole = self.whole | {each.base for each in others if each.shift is None}
        written = self.written | {each.base for each in others if each.is_written}
        return not whole & written

    def _has_touched(self, memory: SSAValue) -> bool:
        return self._has_written(memory) or self.bases.get(memory) in self.read

    def _has_written(self, memory: SSAValue) -> bool:
        return self.bases.get(memory) in self.written or memory in self.summed

    def _join(self, nest: ShiftedNest) -> None:
        for each in nest.accesses:
            self.bases[each.memory] = each.base
            is_sum = each.value in nest.sums
            (self.summed if is_sum else self.written if each.is_written else self.read).add(each.base)
            if each.shift is None and not is_sum:
                self.whole.add(each.base)
        self.nests.append(nest)

    def _may_stay(self, op: Operation) -> bool:
        """Whether an op may come before all nests of the run."""
        if isinstance(op, (memref.AllocOp, memref.GetGlobalOp, *MEMREF_VIEWS)):
            return True
        if isinstance(op, memref.LoadOp):
            memory = base_of(op.memref)
            return memory is not None and not self._has_written(memory)
        if isinstance(op, GenericOp | FillOp) and not loads_elsewhere(op):
            reads, writes = bases_of(op.inputs), bases_of(op.outputs)
            if None in reads | writes or any(memory is not None and self._has_written(memory) for memory in reads):
                return False
            return not any(memory is not None and self._has_touched(memory) for memory in writes)
        has_memory = any(isinstance(value.type, MemRefType) for value in op.operands)
        return not has_memory and not op.regions and is_removable(op)

    @property
    def work(self) -> int:
        """What all rows cost."""
        return sum([work_of(nest.op) for nest in self.nests])

    def lags(self) -> tuple[int, ...]:
        """For each nest, the time of its row 0: as late as later nests allow, so that they read its rows soon after."""
        lags = [nest.first_shift for nest in self.nests]
        numbered = list(enumerate(self.nests))
        _delay(numbered, lags, max)
        _delay(reversed(numbered), lags, min)
        return tuple(lags)

    def windows(self, lags: Sequence[int]) -> dict[SSAValue, int]:
        """For each memory, the number of its rows that are in use at one time."""
        reached: dict[SSAValue, list[int]] = {}
        for nest, lag in zip(self.nests, lags, strict=True):
            for each in nest.accesses:
                if each.shift is not None:
                    reached.setdefault(each.base, []).append(lag - each.shift)
        windows = {base: max(times) - min(times) + 1 for base, times in reached.items()}
        return {base: shape_of(base)[0] if base in self.whole else rows for base, rows in windows.items()}

    def own(self, lags: Sequence[int]) -> dict[SSAValue, int]:
        """The memory that only the run uses, with the number of its rows that are in use at one time."""
        ops = {nest.op for nest in self.nests}
        block = self.nests[0].op.parent
        return {
            base: min(rows, shape_of(base)[0])
            for base, rows in self.windows(lags).items()
            if isinstance(base.owner, memref.AllocOp) and base.owner.parent is block
            if all(op in ops for op in _users(base))
        }

    def rings(self, lags: Sequence[int]) -> dict[SSAValue, int]:
        """The memory that only the run uses and that can have fewer rows, with their number."""
        return {base: rows for base, rows in self.own(lags).items() if rows < shape_of(base)[0]}

    def is_worthwhile(self, lags: Sequence[int], least: int, step: int, *, has_rings: bool = True) -> bool:
        """Whether nests need earlier rows of one another, and the run spares enough memory traffic.

        least: the fewest bytes of all memory. step: the fewest bytes that each nest touches at a time. has_rings:
        whether memory that only the run uses has fewer rows.
        """
        windows = self.windows(lags)
        if not any(windows[base] > 1 for base in self.written & self.read):
            return False
        before, touched = self._traffic()
        rings = self.rings(lags) if has_rings else {}
        after = sum(
            [bytes * (2 if base in self.written else 1) for base, bytes in touched.items() if base not in rings]
        )
        total = sum(touched.values())
        window = sum([rows * bytes_of_row(base) for base, rows in windows.items() if base not in self.whole])
        rows = max([nest.rows for nest in self.nests])
        has_long_rows = self.has_elements or total >= rows * len(self.nests) * step
        is_in_cache = window <= _MOST_WINDOW and 4 * window <= total
        return 3 * before >= 4 * after and total >= least and is_in_cache and has_long_rows

    def _traffic(self) -> tuple[int, dict[SSAValue, int]]:
        """The bytes that move if each nest runs alone, and for each memory the most bytes that one nest touches.

        In the first number written memory counts twice: it is read into the cache first.
        """
        before, touched = 0, dict[SSAValue, int]()
        for nest in self.nests:
            alone: dict[SSAValue, int] = {}
            for each in nest.accesses:
                alone[each.base] = max(alone.get(each.base, 0), each.bytes * (2 if each.is_written else 1))
                touched[each.base] = max(touched.get(each.base, 0), each.bytes)
            before += sum(alone.values())
        return before, touched


def _users(base: SSAValue) -> Iterator[Operation | None]:
    """The ops that use memory or a slice of it; None for another view."""
    for use in base.uses:
        view = use.operation
        if not isinstance(view, memref.SubviewOp):
            yield view
        elif _has_all_axes(view) and not view.sizes and not view.strides:
            yield from (each.operation for each in view.results[0].uses)
        else:
            yield None


def bytes_of_row(base: SSAValue) -> int:
    assert isinstance(base.type, MemRefType)
    return bytes_of_memref(base.type) // shape_of(base)[0]


def _delay(nests: Iterable[tuple[int, ShiftedNest]], lags: list[int], extreme: Callable[..., int]) -> None:
    """Increase the lags of nests, in the given order, to what the nests before them demand (`max`) or allow (`min`)."""
    written: dict[SSAValue, int] = {}
    touched: dict[SSAValue, int] = {}
    for number, nest in nests:
        accesses = [(each, each.shift) for each in nest.accesses if each.shift is not None]
        others = [((touched if each.is_written else written).get(each.base), shift) for each, shift in accesses]
        bounds = [distance + shift for distance, shift in others if distance is not None]
        lags[number] = max(lags[number], extreme(bounds)) if bounds else lags[number]
        for each, shift in accesses:
            distance = lags[number] - shift
            for found in (touched, written) if each.is_written else (touched,):
                found[each.base] = extreme(found.get(each.base, distance), distance)
