"""Builds nests over arrays of few elements as straight-line code, without loops, masks or variable subscripts.

Reads: nests with known, small sizes. Writes: memref, arith, math and vector ops at constant indices. Leaves: larger
nests, and nests with functions whose results on scalars differ from those on vectors.

Rows that fill vectors stay vectors. The results are bit for bit those of the loops: a sum has the same order as in
lanes (`vectorize.py`), and the same ops are fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product as points_of
from math import prod

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from mlirad.lowering.across_lanes import tree
from mlirad.lowering.loop_body import Body, Combiner
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.tensor_memory import MOST_ELEMENTS
from mlirad.lowering.to_loops.expand_math import is_expanded
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.loop_schedule import Schedule, order_of, schedule_of
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter
from mlirad.lowering.to_loops.vectorize import NestEmitter, Values

_MOST_POINTS = 64
"""The limit for a nest: the product of two 4 x 4 matrices."""
_MOST_OPS = 1 << 12
"""The limit for the straight-line code of all of a module's nests; further nests become loops."""
_FEWEST_LANES = 4
"""Narrower vectors cost more to build than they save."""
_EXACT = arith.FastMathFlagsAttr("none")
_KEEPS_NEUTRAL = (arith.MaxnumfOp, arith.MinnumfOp)
"""Ops whose result may be the neutral element: for the neutral element and NaN."""


class SmallNests:
    """Builds the small nests of one module, until their code reaches the limit."""

    def __init__(self) -> None:
        self._ops_left = _MOST_OPS

    def build(
        self,
        nest: Nest,
        body: Body,
        product: Contraction | None,
        vector_bytes: int,
        builder: LoopBuilder,
    ) -> bool:
        """Build the nest if it is small. Returns whether it was. product: the nest as a product of matrices, if it is
        one."""
        if not _is_small(nest):
            return False
        ops = _points(nest) * (len(body.block.ops) + len(nest.operands))
        if ops > self._ops_left:
            return False
        schedule = schedule_of(nest, body, vector_bytes)
        if product is not None and ContractionEmitter(product, nest, vector_bytes, builder).is_whole:
            with builder.unrolled():
                ContractionEmitter(product, nest, vector_bytes, builder).emit()
        elif product is None and _is_whole(nest, schedule):
            with builder.unrolled():
                NestEmitter(nest, schedule, body, builder).emit()
        elif _has_same_digits(nest, schedule, body, product):
            with builder.unrolled():
                _ScalarEmitter(nest, schedule if product is None else _of_product(nest), body, product, builder).emit()
        else:
            return False
        self._ops_left -= ops
        return True


def _is_small(nest: Nest) -> bool:
    if not all(isinstance(size, int) for size in nest.sizes) or _points(nest) > _MOST_POINTS:
        return False
    sizes = nest.sizes
    return all(
        prod([s for d in op.dimensions if isinstance(s := sizes[d], int)]) <= MOST_ELEMENTS for op in nest.operands
    )


def _points(nest: Nest) -> int:
    return prod([size for size in nest.sizes if isinstance(size, int)])


def _is_whole(nest: Nest, schedule: Schedule) -> bool:
    """Whether vectors without masks are sufficient."""
    if schedule.vector is None or schedule.lanes < _FEWEST_LANES:
        return False
    size = nest.sizes[schedule.vector]
    return isinstance(size, int) and size % schedule.lanes == 0 and not schedule.is_masked


def _has_same_digits(nest: Nest, schedule: Schedule, body: Body, product: Contraction | None) -> bool:
    """Whether scalars one by one give the same results as the nest's loops, bit for bit."""
    if product is not None:
        return len(_reduced(nest)) == 1
    if schedule.vector is None:
        return True
    if any(is_expanded(op) for op in body.block.ops):
        return False
    size = nest.sizes[schedule.vector]
    assert isinstance(size, int)
    is_joined = schedule.vector in schedule.reduced and len(schedule.reduced) > 1
    return not is_joined or size < 8 * schedule.unroll * schedule.lanes


def _of_product(nest: Nest) -> Schedule:
    return Schedule(order_of(nest), tuple(_reduced(nest)), accumulated=(0,))


def _reduced(nest: Nest) -> list[int]:
    return [d for d in nest.live if any(d not in out.dimensions for out in nest.outputs)]


class _ScalarEmitter(NestEmitter):
    """Builds a nest scalar by scalar, in the order of its schedule."""

    def __init__(
        self, nest: Nest, schedule: Schedule, body: Body, product: Contraction | None, builder: LoopBuilder
    ) -> None:
        is_in_order = any(combiner is not None and combiner.is_in_order for combiner in schedule.combiners)
        has_lanes = product is None and schedule.vector in schedule.reduced and not is_in_order
        self._lanes = schedule if has_lanes else None
        is_sum_of_products = product is not None or (schedule.is_fused and schedule.vector is not None)
        is_fused = is_sum_of_products and not body.may_contract  # LLVM cannot reorder what is fused
        super().__init__(nest, replace(schedule, vector=None, strip=None, is_fused=is_fused), body, builder)

    def emit(self) -> None:
        self._hoist()
        outer = [d for d in self.schedule.order if d not in self.schedule.reduced]
        if self._lanes is not None:
            lanes = self._lanes
            self._loops(outer, (), lambda _: self._fold_as(lanes))
        elif self.schedule.accumulated:
            self._loops(outer, (), lambda _: self._accumulate(1, None) or ())
        else:
            self._loops(outer, (), lambda _: self._point((), None))

    def _fold_as(self, lanes: Schedule) -> Values:
        """A reduction in the order in which lanes and unrolled vectors compute it."""
        before = [self._read(self.nest.outputs[i], None) for i in self.schedule.accumulated]
        parts = self._parts_of(lanes)
        for number, (i, combiner) in enumerate(zip(self.schedule.accumulated, self._combiners, strict=True)):
            join = partial(self._either_or_both, combiner)
            of_lanes = [
                tree([parts[u, lane][number] for u in range(lanes.unroll)], join) for lane in range(lanes.lanes)
            ]
            while len(of_lanes) > 2:
                half = len(of_lanes) // 2
                of_lanes = [join(a, b) for a, b in zip(of_lanes[:half], of_lanes[half:], strict=True)]
            total = tree(of_lanes, join)
            assert total is not None
            self._write(combiner.apply(self.builder, before[number], total), self.nest.outputs[i], None)
        return ()

    def _parts_of(self, lanes: Schedule) -> dict[tuple[int, int], Sequence[SSAValue | None]]:
        """The final contents of each lane of each vector of partial results; None if it is still neutral."""
        start = [None if c.op_class not in _KEEPS_NEUTRAL else c.start(self.builder) for c in self._combiners]
        parts: dict[tuple[int, int], Sequence[SSAValue | None]] = {
            (u, lane): start for u in range(lanes.unroll) for lane in range(lanes.lanes)
        }
        order = [*(d for d in self.schedule.order if d in self.schedule.reduced and d != lanes.vector), lanes.vector]
        sizes = [size for d in order if d is not None and isinstance(size := self.nest.sizes[d], int)]
        step = lanes.unroll * lanes.lanes
        main = 0 if lanes.is_masked else sizes[-1] - sizes[-1] % step
        saved = dict(self.subscripts)
        for place in points_of(*map(range, sizes)):
            self.subscripts.update({d: i for d, i in zip(order, place, strict=True) if d is not None})
            at = divmod(place[-1] % step, lanes.lanes) if place[-1] < main else (0, (place[-1] - main) % lanes.lanes)
            parts[at] = self._with_point(parts[at])
        self.subscripts = saved
        return parts

    def _with_point(self, held: Sequence[SSAValue | None]) -> Sequence[SSAValue]:
        """The accumulators after one more point. The first point of a lane is not combined with anything."""
        arguments = [self.body.block.args[len(self.nest.inputs) + i] for i in self.schedule.accumulated]
        values = self._point([a if h is None else h for a, h in zip(arguments, held, strict=True)], None)
        return [_without(value, a) for value, a in zip(values, arguments, strict=True)]

    def _point(self, accumulators: Values, mask: SSAValue | None) -> Values:
        if not self.schedule.is_fused:
            return super()._point(accumulators, mask)
        (total,) = accumulators
        factors = [self._input(0, mask), self._input(1, mask)]
        if total is self.body.block.args[2]:
            return [self.builder.op(arith.MulfOp, factors, total.type, fastmath=_EXACT)]
        return [self.builder.op(math.FmaOp, [*factors, total], total.type, fastmath=_EXACT)]

    def _either_or_both(self, combiner: Combiner, a: SSAValue | None, b: SSAValue | None) -> SSAValue | None:
        return b if a is None else a if b is None else combiner.apply(self.builder, a, b)


def _without(value: SSAValue, neutral: SSAValue) -> SSAValue:
    """The value that is combined with the neutral element (an argument of the body)."""
    op = value.owner
    if not isinstance(op, Operation) or neutral not in op.operands:
        return value
    (other,) = [operand for operand in op.operands if operand is not neutral]
    op.detach()
    op.erase()
    return other
