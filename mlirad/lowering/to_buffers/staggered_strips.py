"""Finds how threads can share a run of staggered nests: strips of rows, each with memory of its own.

Reads: a `StaggeredRun` with its lags. Writes: nothing. Leaves: runs with too little work, or too few rows.

A strip runs all nests from one time to another. There are two ways to make strips independent of one another.

* `strips_of`: what a strip needs from earlier times in memory that only the run uses, it computes again. Each row of
  memory that others see is accessed by one strip only, so the nests that access such memory begin and end a strip with
  the same row of it. Where a nest runs again only for the strip's own memory, what it writes for others goes elsewhere.
* `strips_with_seams`, for runs that update memory that others see and read further rows of it: the first rows of a
  strip that need, or overwrite, what the strip before it computes or reads wait until all strips have run. If the
  second of two nests needs one earlier row of the first, one row of the second waits:

      time        0 1 2 3 4 | 5 6 7 8 9
      nest 1      0 0 0 0 0 | 1 1 1 1 1      0, 1: the strips
      nest 2      0 0 0 0 0 | w 1 1 1 1      w: the row that waits
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from mlirad.lowering.to_buffers.row_nests import bytes_of_memref, work_of
from mlirad.lowering.to_buffers.staggered_runs import ShiftedAccess, ShiftedNest, StaggeredRun, bytes_of_row

MOST_STRIPS = 16
_AGAIN = 8
"""At most one in so many rows is computed again, by their cost."""
_AGAIN_IN_TWO = 4
"""The same if there are only two strips."""
_LEAST_PER_WAITING = 8
"""At most one in so many rows of a nest waits."""


@dataclass(frozen=True)
class StripSpan:
    """When a strip runs a nest: `first` and `last` are times after the strip's own first and last time.

    own: the same for the rows that this strip alone computes, which others may see; None if no other code sees any.
    """

    first: int
    last: int
    own: int | None

    @property
    def is_again(self) -> bool:
        """Whether a strip computes rows that another strip computes for others."""
        return self.own is not None and self.first < self.last


@dataclass(frozen=True)
class Strips:
    """Strip `k` begins at the time `begin + k * length`. spans: of the nests. waiting: for each nest, how many of the
    first rows of a strip run after all strips; empty if none do."""

    count: int
    begin: int
    length: int
    spans: tuple[StripSpan, ...]
    waiting: tuple[int, ...] = ()


def strips_of(run: StaggeredRun, lags: Sequence[int], work: int) -> Strips | None:
    """The strips of a run; None if threads cannot share it. work: the least work of a strip."""
    own = run.own(lags)
    spans = _Spans(run.nests, lags, run.written - own.keys(), own.keys()).all()
    if spans is None:
        return None
    owns = [each.own for each in spans if each.own is not None]
    begin = min(lags) - max(owns, default=0)
    end = max([lag + nest.rows for nest, lag in zip(run.nests, lags, strict=True)]) - min(owns, default=0)
    again = sum([_work_of_rows(nest, each.last - each.first) for nest, each in zip(run.nests, spans, strict=True)])
    bytes = sum([rows * bytes_of_row(base) for base, rows in own.items()])
    replaced = sum([bytes_of_memref(base.type) for base in own if isinstance(base.type, MemRefType)])
    most = min(MOST_STRIPS, run.work // work, replaced // bytes if bytes else MOST_STRIPS)
    limit = _AGAIN * again
    count = min(most, run.work // limit if limit else most) // 2 * 2
    if count < 2:
        count = 2
        if most < 2 or _AGAIN_IN_TWO * again > run.work:
            return None
    length = -(-(end - begin) // count)
    return Strips(-(-(end - begin) // length), begin, length, spans)


def strips_with_seams(run: StaggeredRun, lags: Sequence[int], work: int) -> Strips | None:
    """Strips in undivided memory, with the rows that run after all strips; None if threads cannot share the
    run. work: the least work of a strip."""
    waiting = _waiting(run.nests, lags)
    longest = max(waiting)
    begin = min(lags) - longest
    end = max([lag + nest.rows for nest, lag in zip(run.nests, lags, strict=True)])
    most = (end - begin) // (_LEAST_PER_WAITING * longest) if longest else MOST_STRIPS
    count = min(MOST_STRIPS, most, run.work // work) // 2 * 2
    if count < 2:
        return None
    length = -(-(end - begin) // count)
    spans = tuple(StripSpan(rows, 0, None) for rows in waiting)
    return Strips(-(-(end - begin) // length), begin, length, spans, waiting)


def _waiting(nests: Sequence[ShiftedNest], lags: Sequence[int]) -> tuple[int, ...]:
    """For each nest, the number of rows at the beginning of a strip that depend on rows of earlier nests which are not
    the strip's, or wait themselves. If one of two nests writes a row that the other accesses, the later depends on the
    earlier."""
    written: dict[SSAValue, int] = {}
    touched: dict[SSAValue, int] = {}
    waiting: list[int] = []
    for nest, lag in zip(nests, lags, strict=True):
        accesses = [(each, lag - each.shift) for each in nest.accesses if each.shift is not None]
        others = [((touched if each.is_written else written).get(each.base), at) for each, at in accesses]
        rows = max([row + at for row, at in others if row is not None], default=0)
        waiting.append(rows)
        for each, at in accesses:
            for first in (touched, written) if each.is_written else (touched,):
                first[each.base] = max(first.get(each.base, rows - at), rows - at)
    return tuple(waiting)


def _work_of_rows(nest: ShiftedNest, rows: int) -> int:
    return work_of(nest.op) * min(rows, nest.rows) // nest.rows


@dataclass
class _Spans:
    """seen: the written memory that others see. inside: the memory that only the run uses. owns: `StripSpan.own` of
    nests. needed: for memory inside, the first and last rows that later nests of a strip need, compared with its
    times.
    """

    nests: Sequence[ShiftedNest]
    lags: Sequence[int]
    seen: Collection[SSAValue]
    inside: Collection[SSAValue]
    owns: dict[int, int] = field(default_factory=dict)
    needed: dict[SSAValue, tuple[int, int]] = field(default_factory=dict)

    def all(self) -> tuple[StripSpan, ...] | None:
        """From the last nest to the first: a nest computes what later nests need."""
        spans = [self._span(number) for number in reversed(range(len(self.nests)))]
        found = [each for each in reversed(spans) if each is not None]
        return tuple(found) if len(found) == len(self.nests) else None

    def _span(self, number: int) -> StripSpan | None:
        nest, accesses = self.nests[number], self._accesses(number)
        needed = [(self.needed[each.base], at) for each, at in accesses if each.is_written and each.base in self.needed]
        firsts, lasts = [first + at for (first, _), at in needed], [last + at for (_, last), at in needed]
        is_seen = bool(nest.sums) or any(each.base in self.seen for each, _ in accesses)
        if (is_seen or not needed) and number not in self.owns and not self._tie(number, max(lasts, default=0)):
            return None
        own = self.owns.get(number)
        ends = [] if own is None else [own]
        span = StripSpan(min(firsts + ends), max(lasts + ends), own)
        if span.is_again and not self._may_run_again(nest):
            return None
        for each, at in accesses:
            if each.base in self.inside:
                first, last = self.needed.get(each.base, (span.first - at, span.last - at))
                self.needed[each.base] = min(first, span.first - at), max(last, span.last - at)
        return span

    def _accesses(self, number: int) -> list[tuple[ShiftedAccess, int]]:
        """The accesses to rows of memory, each with the time at which the nest accesses row 0."""
        nest, lag = self.nests[number], self.lags[number]
        return [(each, lag - each.shift) for each in nest.accesses if each.shift is not None]

    def _tie(self, number: int, own: int) -> bool:
        """Choose the own rows of a nest, and of all others so that each strip accesses the same rows of memory that
        others see; False if there are none."""
        rows: dict[SSAValue, int] = {}
        self.owns[number] = own
        open = [number]
        while open:
            one = open.pop()
            for each, at in self._accesses(one):
                if each.base not in self.seen or each.base in rows:
                    continue
                rows[each.base] = self.owns[one] - at
                for other in range(len(self.nests)):
                    times = [at for access, at in self._accesses(other) if access.base is each.base]
                    if times and other not in self.owns:
                        open.append(other)
                    if any(self.owns.setdefault(other, rows[each.base] + at) != rows[each.base] + at for at in times):
                        return False
        return True

    def _may_run_again(self, nest: ShiftedNest) -> bool:
        """Whether a nest only overwrites what others see, so that it can write elsewhere."""
        return all(each.is_written and not each.is_read for each in nest.accesses if each.base in self.seen)
