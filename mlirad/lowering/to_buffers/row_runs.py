"""Runs of nests that may process their rows together.

Reads: nests over rows (`row_nests.py`), in program order. Writes: nothing. Leaves: the nests of a run, and the ops that
come before and after it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.groups import Groups
from mlirad.dialect.core.effect_table import is_removable
from mlirad.lowering.to_buffers.row_nests import (
    MEMREF_VIEWS,
    SMALL,
    RowNest,
    base_of,
    bases_of,
    bytes_of,
    bytes_of_memref,
    loads_elsewhere,
    nest_of,
    read_by,
    shape_of,
    work_of,
)

_LONGEST_ROW = 1 << 19
_FEWEST_ROWS = 16
"""The fewest rows of a block, if sums of columns are accumulated across blocks: fewer rows would cost time and
digits."""
_PRODUCT_ROWS = 8
"""The fewest rows of a block with a product: those of a tile, which reads the other factor once."""
_FARTHER = 8
"""How many times larger a block may become to have so many rows: it then fits in the second-level cache."""


@dataclass
class RowRun:
    """The nests that will share their rows, so far.

    by_row: memory of which only a row is touched at a time, with the identity of these rows. whole: memory that may be
    read anywhere. written, summed: memory that is written row by row, and memory to which all rows are added. fills: of
    memory that nothing in the run has touched yet. later: ops that need whole sums, and go after the run; later_read
    and later_written: the memory of the nests among them.
    """

    rows: int
    nests: list[RowNest] = field(default_factory=list)
    by_row: dict[SSAValue, SSAValue] = field(default_factory=dict)
    whole: set[SSAValue] = field(default_factory=set)
    written: set[SSAValue] = field(default_factory=set)
    summed: set[SSAValue] = field(default_factory=set)
    fills: dict[SSAValue, RowNest] = field(default_factory=dict)
    later: list[Operation] = field(default_factory=list)
    later_read: set[SSAValue] = field(default_factory=set)
    later_written: set[SSAValue] = field(default_factory=set)

    def takes(self, op: Operation) -> bool:
        """Add an op to the run, or leave it before the run, or move it after the run; False if the run ends before
        it."""
        if self._is_later(op) or self._is_later_nest(op):
            self.later.append(op)
            return True
        if self._reads_later(op) or self._passes_later(op):
            return False
        nest = nest_of(op)
        if nest is not None and isinstance(op, FillOp) and not self._has_touched(nest.outputs[0].base):
            self.fills[nest.outputs[0].base] = nest
            return True
        if nest is not None and nest.rows == self.rows and self._may_join(nest):
            self._join(nest)
            return True
        return self._may_stay(op)

    def _reads_later(self, op: Operation) -> bool:
        """Whether an op reads a result of an op that goes after the run."""
        return bool(self.later) and any(value.owner in self.later for value in read_by(op))

    def _is_later(self, op: Operation) -> bool:
        """Whether an op only computes with whole sums."""
        if isinstance(op, memref.LoadOp):
            return op.memref in self.summed
        is_plain = not op.regions and is_removable(op) and not any(isinstance(v.type, MemRefType) for v in op.operands)
        return is_plain and any(value.owner in self.later for value in op.operands)

    def _is_later_nest(self, op: Operation) -> bool:
        """Whether an op is a small nest on whole sums, or on values computed from them."""
        if not isinstance(op, GenericOp | FillOp) or loads_elsewhere(op) or bytes_of(op) > SMALL:
            return False
        reads, writes = bases_of(op.inputs), bases_of(op.outputs)
        needs_sums = bool((reads | writes) & (self.summed | self.later_written))
        if None in reads | writes or not (needs_sums or self._reads_later(op)):
            return False
        for base in reads | writes:
            if base is not None:
                self.later_read.add(base)
                self.fills.pop(base, None)  # the fill stays before it
        self.later_written |= {base for base in writes if base is not None}
        return True

    def _passes_later(self, op: Operation) -> bool:
        """Whether an op accesses memory such that it cannot move before a nest that goes after the run."""
        if not self.later_read:
            return False
        outputs = op.outputs if isinstance(op, GenericOp | FillOp) else ()
        touched, written = bases_of(op.operands), bases_of(outputs)
        return bool(touched & self.later_written or written & self.later_read)

    def _has_touched(self, base: SSAValue) -> bool:
        return base in self.by_row or base in self.whole or base in self.written or base in self.summed

    def _may_join(self, nest: RowNest) -> bool:
        for each in nest.inputs:
            if each.base in self.summed:
                return False
            if each.base in self.written and (each.axis != 0 or self.by_row[each.base] is not each.rows_of):
                return False
        read = {each.base for each in nest.inputs if each.axis != 0}
        for each in nest.outputs:
            if each.axis is None:
                if self._has_touched(each.base) or any(each.base is other.base for other in nest.inputs):
                    return False
                continue
            touched = [self.by_row.get(each.base), *(other.rows_of for other in nest.inputs if other.base is each.base)]
            if each.axis != 0 or each.base in self.whole | self.summed | read:
                return False
            if any(rows is not None and rows is not each.rows_of for rows in touched):
                return False
        return len({each.base for each in nest.outputs}) == len(nest.outputs)

    def _join(self, nest: RowNest) -> None:
        for each in (*nest.inputs, *nest.outputs):
            fill = self.fills.pop(each.base, None)
            if (
                fill is not None
                and each.axis == 0
                and fill.rows == self.rows
                and fill.outputs[0].rows_of is each.rows_of
            ):
                self._join(fill)
        for each in nest.inputs:
            is_first = each.axis == 0 and self.by_row.setdefault(each.base, each.rows_of) is each.rows_of
            if not is_first:
                self.whole.add(each.base)
        for each in nest.outputs:
            if each.axis is None:
                self.summed.add(each.base)
            else:
                self.by_row[each.base] = each.rows_of
                self.written.add(each.base)
        self.nests.append(nest)

    def _may_stay(self, op: Operation) -> bool:
        """Whether an op may come before all nests of the run."""
        if isinstance(op, memref.AllocOp):
            return True
        memory = [value for value in op.operands if isinstance(value.type, MemRefType)]
        if isinstance(op, MEMREF_VIEWS) or (not memory and not op.regions and is_removable(op)):
            return True
        bases = [base_of(value) for value in memory]
        for base in bases:
            if base is not None:
                self.fills.pop(base, None)  # the fill stays before it
        if isinstance(op, memref.LoadOp):
            return not any(base is None or base in self.written | self.summed for base in bases)
        if not isinstance(op, GenericOp | FillOp) or None in bases or loads_elsewhere(op):
            return False
        is_read_early = not bases_of(op.inputs) & (self.written | self.summed)
        return is_read_early and not any(base is not None and self._has_touched(base) for base in bases_of(op.outputs))

    def apart(self) -> list[RowRun]:
        """The run as runs that have no row in common, which gain nothing from one another: what one of them reads
        need not be kept until the last nest of another. What comes after all of them comes after the last."""
        runs: Groups[RowRun] = Groups(lambda: RowRun(self.rows), lambda run, absorbed: None)
        for nest in self.nests:
            for each in (*nest.inputs, *nest.outputs):
                if each.axis is not None:
                    runs.join(nest.op, each.rows_of)
        by_last: dict[int, RowRun] = {}
        for nest in self.nests:
            run = runs.of(nest.op)
            run._join(nest)
            by_last.pop(id(run), None)
            by_last[id(run)] = run
        found = list(by_last.values())
        if found:
            found[-1].later = self.later
        return found

    def is_worthwhile(self, least: int) -> bool:
        """Whether several nests access many of the same rows, and all rows together are many bytes."""
        touches = Counter[SSAValue]()
        for nest in self.nests:
            if isinstance(nest.op, GenericOp):
                touches.update({each.rows_of for each in (*nest.inputs, *nest.outputs) if each.axis is not None})
        bytes, all_bytes = self.bytes_of_rows(), self.row_bytes
        shared = sum([bytes[rows] for rows, count in touches.items() if count > 1])
        return 4 * shared >= all_bytes and all_bytes * self.rows >= least and all_bytes <= _LONGEST_ROW

    @property
    def work(self) -> int:
        """What all rows cost."""
        return sum([work_of(nest.op) for nest in self.nests])

    @property
    def has_column_sums(self) -> bool:
        """Whether arrays are added up over all rows."""
        return any(each.axis is None and shape_of(each.value) for nest in self.nests for each in nest.outputs)

    @property
    def bytes_of_column_sums(self) -> int:
        """The bytes of all arrays to which all rows are added."""
        summed = (each for nest in self.nests for each in nest.outputs if each.axis is None)
        return sum([bytes_of_memref(each.value.type) for each in summed if isinstance(each.value.type, MemRefType)])

    def bytes_of_rows(self) -> dict[SSAValue, int]:
        """The bytes of one row, for each array that a block has rows of."""
        accesses = (each for nest in self.nests for each in (*nest.inputs, *nest.outputs) if each.axis is not None)
        return {each.rows_of: each.row_bytes for each in accesses}

    @property
    def row_bytes(self) -> int:
        """The bytes of one row of all arrays together."""
        return sum(self.bytes_of_rows().values())

    def block_of(self, bytes: int) -> int | None:
        """The number of rows of a block; None if the run is better left unchanged."""
        has_products = any(nest.is_product for nest in self.nests)
        fewest = _FEWEST_ROWS if self.has_column_sums else _PRODUCT_ROWS if has_products else 1
        most = max(1, bytes // self.row_bytes, min(fewest, _FARTHER * bytes // self.row_bytes))
        if not fewest <= most < self.rows:
            return None
        combiners = (combiner for nest in self.nests for combiner in nest.combiners.values())
        if self.has_column_sums and any(combiner.widened is not combiner for combiner in combiners):
            return None
        if most >= 64 and self.row_bytes <= 8 * len(self.by_row):
            return most // 64 * 64  # rows of one element: use whole vectors
        sizes = range(most, most // 2, -1)
        if has_products and self.rows % most == 1:
            most -= 1  # a product of one row is no longer computed in tiles, which round otherwise
        return next((size for size in sizes if self.rows % size == 0), most)
