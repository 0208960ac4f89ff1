"""How a nest becomes loops: the dimension that fills vectors, the reduced dimensions, the number of accumulators.

Reads: nests. Writes: schedules. Leaves: the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from mlirad.lowering.loop_body import Body, Combiner
from mlirad.lowering.to_loops.loop_nest import Nest, Operand

_HEAVY = 25
"""A body of at least this cost is emitted once, under a mask, rather than twice."""
_MAX_LANES = 64
_SHORT_ROWS = 1 << 9
"""The largest body, in ops and their cost, of a loop over short rows that are reduced together."""
_FEW_POINTS = 1 << 10
"""Nests with fewer points are not worth the code for short rows that are reduced together."""
_CHEAP_UNROLL = 4
"""Only rows of cheap elements are reduced side by side: those with so many vectors of partial sums."""
_SUMS, _SUMS_WIDE = 8, 16
"""The vectors of partial sums that are held, half of the 16 registers of narrower vectors and of the 32 of 64 bytes."""
_LONG_ROW = 64
"""From this length on, the elements of a row that a loop soon reads again have left the queue of stores."""
TILE = 16
"""Elements of a strip: a transposing loop accesses this many elements of a row before it turns to the next."""


@dataclass(frozen=True)
class Schedule:
    """`vector` is the dimension whose neighbours fill `lanes`, None for scalar loops.

    `reduced` dimensions are those that the accumulated outputs lack. `strip` = (s, t): a scalar loop goes along s in
    strips, and along t from strip to strip. `rows` are reduced side by side, if vectors run along a reduced dimension.
    """

    order: tuple[int, ...]
    reduced: tuple[int, ...] = ()
    accumulated: tuple[int, ...] = ()
    combiners: tuple[Combiner | None, ...] = ()
    vector: int | None = None
    lanes: int = 1
    unroll: int = 1
    is_masked: bool = False
    is_fused: bool = False
    strip: tuple[int, int] | None = None
    rows: int = 1


def schedule_of(nest: Nest, body: Body, vector_bytes: int) -> Schedule:
    """Choose a schedule; a nest without a better one runs element by element, with its outputs in memory."""
    live = frozenset(nest.live)
    accumulated = tuple(i for i, out in enumerate(nest.outputs) if not out.dimensions >= live)
    missing = {live - nest.outputs[i].dimensions for i in accumulated}
    order = order_of(nest)
    if not all(_has_plain_subscripts(out) for out in nest.outputs):
        return Schedule(nest.live) if accumulated else _of_overlap(nest, body, vector_bytes)
    if len(missing) > 1:
        return Schedule(nest.live)
    reduced_set = missing.pop() if missing else frozenset()
    reduced = tuple(d for d in nest.live if d in reduced_set)
    combiners = _combiners(nest, body, accumulated)
    schedule = Schedule(order, reduced, accumulated, combiners)
    vector = _vector_dimension(nest, body, schedule) if body.is_vectorizable else None
    if vector is None:
        return Schedule(order, reduced, accumulated, combiners, strip=_strip(nest, schedule))
    size = nest.sizes[vector]
    lanes = min(_MAX_LANES, vector_bytes // body.bytes)
    unroll = 1 if not accumulated or _is_in_order(combiners) else 4 if body.cost <= 8 else 2 if body.cost <= 16 else 1
    if any(vector in operand.dimensions and not operand.is_unit(vector) for operand in nest.inputs):
        unroll = 1
    if isinstance(size, int):
        while lanes >= 2 * size:
            lanes //= 2
        while unroll * lanes > size and unroll > 1:
            unroll //= 2
    fits = isinstance(size, int) and size % lanes == 0
    is_heavy = unroll == 1 and body.cost >= _HEAVY and all(_has_masks(op.element) for op in nest.operands)
    is_fused = bool(accumulated) and len(nest.inputs) == 2 and body.is_multiply_add
    is_masked = is_heavy and not fits
    found = Schedule(order, reduced, accumulated, combiners, vector, lanes, unroll, is_masked, is_fused)
    return replace(found, rows=_rows_beside(nest, found, vector_bytes))


def may_fold_rows(nest: Nest, schedule: Schedule, body: Body, rows: int) -> bool:
    """Whether neighbouring results, each reduced along a short row of known size, may be computed together.

    rows: the innermost loop around the reduction.
    """
    assert schedule.vector is not None
    size, length = nest.sizes[rows], nest.sizes[schedule.vector]
    if schedule.lanes == 1 or len(schedule.reduced) > 1 or len(schedule.accumulated) < len(nest.outputs):
        return False
    if not isinstance(length, int) or (isinstance(size, int) and size < schedule.lanes):
        return False
    sizes = [each for each in nest.sizes if isinstance(each, int)]
    if len(sizes) == len(nest.sizes) and prod(sizes) < _FEW_POINTS:
        return False
    if any(each is None or each.is_in_order for each in schedule.combiners):
        return False
    in_row = max(len(body.block.ops), body.cost) * (schedule.unroll + 1)
    is_short = length <= 2 * schedule.unroll * schedule.lanes and in_row * schedule.lanes <= _SHORT_ROWS
    return is_short and all(out.is_unit(rows) for out in nest.outputs)


def _rows_beside(nest: Nest, schedule: Schedule, vector_bytes: int) -> int:
    """How many rows are reduced side by side: what registers hold, if rows are cheap and there is more than a few."""
    rows = [d for d in schedule.order if d not in schedule.reduced]
    if not rows or schedule.reduced != (schedule.vector,) or schedule.unroll < _CHEAP_UNROLL:
        return 1
    sizes = [each for each in nest.sizes if isinstance(each, int)]
    if len(sizes) == len(nest.sizes) and prod(sizes) < _FEW_POINTS:
        return 1
    size, most = nest.sizes[rows[-1]], _SUMS_WIDE if vector_bytes >= 64 else _SUMS
    count = max(most // (schedule.unroll * len(schedule.accumulated)), 1)
    return count if not isinstance(size, int) or size >= count else 1


def _combiners(nest: Nest, body: Body, accumulated: Sequence[int]) -> tuple[Combiner | None, ...]:
    """How the accumulated outputs combine. If one must combine in order, none may be combined in vectors."""
    found = tuple(body.combiner(i, len(nest.inputs) + i) for i in accumulated)
    is_mixed = _is_in_order(found) and not all(each is not None and each.is_in_order for each in found)
    return tuple(None for _ in found) if is_mixed else found


def _is_in_order(combiners: Sequence[Combiner | None]) -> bool:
    return any(each is not None and each.is_in_order for each in combiners)


def _of_overlap(nest: Nest, body: Body, vector_bytes: int) -> Schedule:
    """If several points write one element: vectors along a dimension with a separate element for each index, if any."""
    along = [
        d
        for d in nest.live
        if all(out.is_unit(d) for out in nest.outputs)
        and all(operand.is_unit(d) or d not in operand.dimensions for operand in nest.inputs)
    ]
    if not along or not body.is_vectorizable:
        return Schedule(nest.live)
    lanes, size = min(_MAX_LANES, vector_bytes // body.bytes), nest.sizes[along[-1]]
    while isinstance(size, int) and lanes >= 2 * size:
        lanes //= 2
    return Schedule(nest.live, vector=along[-1], lanes=lanes)


def order_of(nest: Nest) -> tuple[int, ...]:
    """The loops from the outermost: in the memory order of the first output, then the reduced ones in index order."""
    order = [d for subscript in nest.outputs[0].subscripts for d in subscript.terms] if nest.outputs else []
    ordered = dict.fromkeys([d for d in order if d in nest.live])
    return (*ordered, *(d for d in nest.live if d not in ordered))


def _has_plain_subscripts(out: Operand) -> bool:
    """Whether every point writes its own element: no subscript contains two dimensions."""
    terms = [d for subscript in out.subscripts for d in subscript.terms]
    return len(terms) == len(set(terms))


def _has_masks(element: Attribute) -> bool:
    """Whether processors load and store such elements under a mask."""
    return not isinstance(element, IntegerType) or element.width.data >= 32


def _vector_dimension(nest: Nest, body: Body, schedule: Schedule) -> int | None:
    """The best dimension to fill vectors along: without gathers and scatters, then long, then not reduced, then
    innermost. Only functions pay for lanes that are read or written one by one; shuffled vectors always pay, except
    in reads of nests that reduce."""
    best: tuple[tuple[int, ...], int] | None = None
    for rank, d in enumerate(schedule.order):
        if d in schedule.reduced and None in schedule.combiners:
            continue
        if d in schedule.reduced[:-1] and _is_in_order(schedule.combiners):
            continue
        scatters = sum(d in out.dimensions and not _has_vectors(nest, out, d) for out in nest.outputs)
        if scatters and (schedule.accumulated or body.cost < _HEAVY):
            continue
        gathered = [operand for operand in nest.inputs if d in operand.dimensions and not operand.is_unit(d)]
        is_shuffled = not schedule.accumulated and all(operand.is_spaced(d) for operand in gathered)
        if gathered and not is_shuffled and body.cost < _HEAVY and d not in schedule.reduced:
            continue
        size = nest.sizes[d]
        length = min(size, TILE) if isinstance(size, int) else TILE
        score = (-len(gathered) - 2 * scatters, length, d not in schedule.reduced, rank)
        if best is None or score > best[0]:
            best = score, d
    return best[1] if best else None


def _has_vectors(nest: Nest, out: Operand, dimension: int) -> bool:
    """Whether vectors are written along a dimension. In short rows, the loads that soon follow a masked store wait."""
    size = nest.sizes[dimension]
    is_long = not isinstance(size, int) or size >= _LONG_ROW
    return out.is_unit(dimension) or (is_long and out.is_spaced(dimension))


def _strip(nest: Nest, schedule: Schedule) -> tuple[int, int] | None:
    """The two dimensions of a transposition: the output is contiguous along the first, an input along the second."""
    if schedule.reduced or not nest.outputs:
        return None
    along = next((d for d in schedule.order if nest.outputs[0].is_unit(d)), None)
    if along is None or _is_short(nest, along):
        return None
    for operand in nest.inputs:
        across = next((d for d in schedule.order if d != along and operand.is_unit(d)), None)
        if along in operand.dimensions and across is not None and not _is_short(nest, across):
            return along, across
    return None


def _is_short(nest: Nest, dimension: int) -> bool:
    size = nest.sizes[dimension]
    return isinstance(size, int) and size <= TILE
