"""Cuts a nest with much work into blocks along one dimension, which threads run in parallel.

Reads: nests. Writes: scf.parallel over the blocks, which contains a nest over subviews. Leaves: nests with little work.

The cuts depend only on sizes, not on the number of threads. If each point along the dimension writes its own elements,
a block computes them exactly as the whole nest would, bit for bit. A reduction that can only be cut along the reduced
dimension gives one result per block, and these are combined in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Operation

from mlirad.analysis import cost
from mlirad.analysis.bounds import interval_of
from mlirad.lowering.loop_body import Body
from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.loop_nest import Nest, Operand
from mlirad.lowering.to_loops.loop_schedule import TILE, order_of
from mlirad.lowering.to_loops.partial_results import MOST_BLOCKS, make_partials, partial_results_of
from mlirad.lowering.to_loops.products.matched_nest import MatchedNest
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.planned_product import BLOCK_ROWS
from mlirad.lowering.to_loops.products.windowed_factor import WindowedFactor

BLOCK = cost.SHARED
"""The work of a block."""
_LONGEST = 1 << 30  # an upper bound for the work of a block: signals are polled between blocks
_COLUMNS = 128  # for a product: a multiple of its tiles' columns, and enough to pay for reading the other factor
_FAR_LONGER = 32  # a block along a dimension reads all along the reduced one, if that is so many times as long
_LINE = 64  # blocks of vectors are rounded to this many elements, so that no two threads write to one cache line


@dataclass(frozen=True)
class Cut:
    """Blocks of `step` points along `dimension`. is_partial: whether the dimension is reduced."""

    dimension: int
    step: Index
    is_partial: bool = False


def cut_of(whole: MatchedNest, builder: LoopBuilder) -> Cut | None:
    """How to cut a nest; None to keep it whole."""
    nest, body, product = whole.nest, whole.body, whole.product
    if not _is_pure(body):
        return None
    if product is not None and whole.windows is not None:
        return _cut_of_windows(nest, product, whole.windows, builder)
    point = body.cost_of_point(len(nest.operands))
    if product is not None:
        return _cut_of_product(nest, product, builder) or _partial_cut(nest, body, 1, builder)
    has_rows = {order_of(nest)[0] in out.dimensions for out in nest.outputs} if nest.live else {True}
    if len(has_rows) == 2 and (found := _partial_cut(nest, body, point, builder)):
        return found  # it stores rows, and adds them up: blocks of columns would be far apart in memory
    candidates = [d for d in order_of(nest) if _is_independent(nest, d)]
    long = [d for d in candidates if not _is_shorter(nest, d, TILE)]
    longest = max((_known(nest.sizes[each]) for each in nest.live if not nest.is_parallel[each]), default=0)
    is_far_longer = bool(long) and longest >= _FAR_LONGER * _known(nest.sizes[long[0]])
    if (not long or is_far_longer) and (found := _partial_cut(nest, body, point, builder)):
        return found
    if not candidates:
        return None
    d = long[0] if long else max(candidates, key=lambda d: _known(nest.sizes[d]))
    # Blocks of a few columns would be loops without vectors.
    is_along_rows = all(out.is_unit(d) for out in nest.outputs)
    found = _cut(nest, d, point, _LINE if is_along_rows else 1, builder)
    return found or (_partial_cut(nest, body, point, builder) if is_along_rows else None)


def _partial_cut(nest: Nest, body: Body, point: int, builder: LoopBuilder) -> Cut | None:
    """A cut along the longest reduced dimension."""
    reduced = [
        d
        for d in nest.live
        if not all(d in out.dimensions for out in nest.outputs) and _is_on_one_axis(nest.operands, d)
    ]
    if not reduced:
        return None
    d = max(reduced, key=lambda d: _known(nest.sizes[d]))
    if _is_shorter(nest, d, TILE) or partial_results_of(nest, body, d) is None:
        return None
    found = _cut(nest, d, point, _LINE if len(nest.live) == 1 else 1, builder)
    if found is None:
        return None
    most = builder.divide(builder.add(nest.sizes[d], MOST_BLOCKS - 1), MOST_BLOCKS)
    return Cut(d, builder.maximum(found.step, most), is_partial=True)


def _cut_of_product(nest: Nest, product: Contraction, builder: LoopBuilder) -> Cut | None:
    """A cut along one of several products; else in rows if there are many, else in columns, else in fewer rows.

    Each block of rows packs the other factor again.
    """
    sizes = nest.sizes

    def cut(d: int, unit: int) -> Cut | None:
        if not _is_independent(nest, d):
            return None
        return _cut(nest, d, 1, unit, builder, 2 * BLOCK)

    for d in product.others:
        if d in product.c.dimensions and not _is_shorter(nest, d, TILE) and (found := cut(d, 1)):
            return found
    rows, columns = sizes[product.i], sizes[product.j]
    inner = prod(_known(size) for d, size in enumerate(sizes) if d != product.i)
    for unit in (4 * BLOCK_ROWS, 2 * BLOCK_ROWS):
        if isinstance(rows, int) and rows >= 4 * unit and unit * inner <= _LONGEST:
            return cut(product.i, _even(rows, unit))
    if isinstance(columns, int) and columns % _COLUMNS == 0 and (found := cut(product.j, _COLUMNS)):
        return found
    if any(not isinstance(size, int) for size in sizes):
        return cut(product.i, BLOCK_ROWS)
    if BLOCK_ROWS * inner > _LONGEST:
        return cut(product.i, 8)
    return cut(product.i, _even(_known(rows), BLOCK_ROWS) if _known(rows) >= 2 * BLOCK_ROWS else TILE)


def _even(rows: int, fewest: int) -> int:
    """The rows of a block, about `fewest` or more, for an even number of blocks, which keeps two threads busy."""
    blocks = 2 * max(1, rows // (2 * fewest))
    return -(-rows // (4 * blocks)) * 4


def _cut_of_windows(nest: Nest, product: Contraction, windows: WindowedFactor, builder: LoopBuilder) -> Cut | None:
    """A cut of a product with windows: along one of several products, else along many columns, else in rows."""
    operands = product.a, product.b, product.c

    def cut(d: int, unit: int) -> Cut | None:
        return _cut(nest, d, 1, unit, builder, 2 * BLOCK)

    for d in product.others:
        is_apart = d in product.c.dimensions and nest.sizes[d] != 1 and _is_on_one_axis(operands, d)
        if is_apart and (found := cut(d, 1)):
            return found
    rows, columns = nest.sizes[product.i], nest.sizes[product.j]
    if windows.is_left and _known(columns) >= _COLUMNS and (found := cut(product.j, _COLUMNS // 4)):
        return found
    if not isinstance(rows, int) or rows < 2 * TILE:
        return None
    return cut(product.i, _even(rows, BLOCK_ROWS // 2))


def _cut(nest: Nest, d: int, point: int, unit: int, builder: LoopBuilder, work: int | None = None) -> Cut | None:
    """A cut along d, in blocks of a multiple of `unit`. point: the work of one point; work: the least of a block."""
    block = work or BLOCK
    size = nest.sizes[d]
    inner = [each for other, each in enumerate(nest.sizes) if other != d]
    known = point * prod(each for each in inner if isinstance(each, int))
    unknown = [each for each in inner if not isinstance(each, int)]
    least = -(-block // (known * unit)) * unit
    if isinstance(size, int) and not unknown:
        return Cut(d, least) if least < size and known * size >= 2 * block else None
    if known * prod(_most(each) for each in (size, *unknown)) < 2 * block:
        return None
    step: Index = max(1, block // known)
    for each in unknown:
        step = builder.divide(step, builder.maximum(each, 1))
    if unknown:
        step = builder.multiply(builder.divide(builder.add(step, unit - 1), unit), unit)
        return Cut(d, builder.maximum(step, unit))
    return Cut(d, least)


Emit = Callable[[MatchedNest], None]


def in_blocks(whole: MatchedNest, cut: Cut, builder: LoopBuilder, emit: Emit) -> None:
    """Apply `emit` to the nest of each block, and to the nests that combine the results of a reduction."""
    nest, body, product = whole.nest, whole.body, whole.product
    if product is not None and whole.windows is not None:
        return _windows_in_blocks(whole, product, whole.windows, cut, builder, emit)
    d, step = cut.dimension, cut.step
    size = nest.sizes[d]
    is_even = isinstance(size, int) and isinstance(step, int) and size % step == 0
    partials = None
    if cut.is_partial:
        partials = make_partials(nest, body, d, step, builder, lambda nest, body: emit(MatchedNest(nest, body)))

    def block(start: Index) -> None:
        count = step if is_even else builder.minimum(step, builder.subtract(size, start))
        sizes = list(nest.sizes)
        sizes[d] = count
        inputs = [_part(operand, d, start, count, builder) for operand in nest.inputs]
        outputs = [_part(operand, d, start, count, builder) for operand in nest.outputs]
        if partials is not None:
            partials.begin(start, outputs)
        starts = {**nest.starts, d: start}
        part = replace(nest, sizes=tuple(sizes), inputs=tuple(inputs), outputs=tuple(outputs), starts=starts)
        emit(MatchedNest(part, body, None if product is None else product.of(part)))

    builder.parallel(size, step, block)
    if partials is not None:
        partials.end()


def _windows_in_blocks(
    whole: MatchedNest, product: Contraction, windows: WindowedFactor, cut: Cut, builder: LoopBuilder, emit: Emit
) -> None:
    """Apply `emit` to the blocks of a product with windows. Its operands are not those of the nest: axes are merged."""
    nest = whole.nest
    d, size = cut.dimension, nest.sizes[cut.dimension]
    is_even = isinstance(size, int) and isinstance(cut.step, int) and size % cut.step == 0
    is_along_windows = windows.is_left and d == product.i

    def block(start: Index) -> None:
        count = cut.step if is_even else builder.minimum(cut.step, builder.subtract(size, start))
        sizes = tuple(count if each == d else size for each, size in enumerate(nest.sizes))
        a = product.a if is_along_windows else _part(product.a, d, start, count, builder)
        b, c = (_part(operand, d, start, count, builder) for operand in (product.b, product.c))
        read = replace(windows, first_row=start) if is_along_windows else windows
        part = replace(nest, sizes=sizes, starts={**nest.starts, d: start})
        emit(replace(whole, nest=part, product=replace(product, a=a, b=b, c=c), windows=read))

    builder.parallel(size, cut.step, block)


def _part(operand: Operand, d: int, start: Index, count: Index, builder: LoopBuilder) -> Operand:
    """The part of an operand that a block accesses."""
    if d not in operand.dimensions:
        return operand
    offsets: list[Index] = [0] * len(operand.subscripts)
    sizes: list[Index] = [n if n >= 0 else builder.size(operand.value, axis) for axis, n in enumerate(operand.shape)]
    axis = next(axis for axis, subscript in enumerate(operand.subscripts) if subscript.atom == d)
    offsets[axis], sizes[axis] = start, count
    type = operand.value.type
    assert isinstance(type, MemRefType)
    ones = [1] * len(sizes)
    result = memref.SubviewOp.infer_result_type(type, offsets, sizes, ones)
    view = builder.insert(memref.SubviewOp.get(operand.value, offsets, sizes, ones, result)).results[0]
    shape = tuple(size if isinstance(size, int) else -1 for size in sizes)
    return replace(operand, value=view, shape=shape)


def _is_pure(body: Body) -> bool:
    """Whether a body only reads and computes: it cannot fail and has no ordered effect."""
    return all(
        isinstance(op, YieldOp | IndexOp | memref.LoadOp) or (_dialect(op) in ("arith", "math") and not op.regions)
        for op in body.block.ops
    )


def _dialect(op: Operation) -> str:
    return op.name.partition(".")[0]


def _is_independent(nest: Nest, d: int) -> bool:
    """Whether each point along d writes its own elements."""
    is_loop = nest.is_parallel[d] and nest.sizes[d] != 1
    return is_loop and _is_on_one_axis(nest.operands, d) and all(d in out.dimensions for out in nest.outputs)


def _is_on_one_axis(operands: Iterable[Operand], d: int) -> bool:
    """Whether every operand has d on a single axis, which is cut, or on none."""
    for operand in operands:
        subscripts = [subscript for subscript in operand.subscripts if subscript.terms.get(d)]
        if len(subscripts) > 1 or any(subscript.atom != d for subscript in subscripts):
            return False
    return True


def _is_shorter(nest: Nest, d: int, length: int) -> bool:
    size = nest.sizes[d]
    return isinstance(size, int) and size < length


def _most(size: Index) -> int:
    """An upper bound of a size."""
    return size if isinstance(size, int) else interval_of(size).high


def _known(size: Index) -> int:
    return size if isinstance(size, int) else 1 << 30
