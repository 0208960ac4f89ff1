"""Appends upstream ops, all with one location, before an op that is being lowered, and folds index arithmetic.

Reads: nothing. Writes: scf, memref, vector and arith ops. Leaves: nothing.

A block is filled before the op around it is created, because appending to a deeply nested block is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TypeVar

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from mlirad.dialect.core.upstream import segments
from mlirad.lowering.loop_constants import INDEX, Constants, lanes_attr, top_of
from mlirad.xdsl_support.prefetch import PrefetchOp

NO_OVERFLOW_FLAGS = arith.IntegerOverflowAttr("none")
_NEAREST = IntegerAttr(3, i32)  # the first-level cache
_EQUAL, _LESS = IntegerAttr(0, i64), IntegerAttr(2, i64)


_Result = TypeVar("_Result")


Index = int | SSAValue
"""A subscript or a size: a number, or a value of type index."""


@cache
def vector_of(element: Attribute, lanes: int) -> VectorType:
    """`vector<lanes x element>`. Lanes of an index are i64: arith's casts have no vectors of index."""
    return VectorType(i64 if element == INDEX else element, [lanes])


@lru_cache(maxsize=4096)
def memref_of(element: Attribute, shape: tuple[int, ...], layout: StridedLayoutAttr | None = None) -> MemRefType:
    """`memref<shape x element>`; cached, because the constructor is slow."""
    return MemRefType(element, shape) if layout is None else MemRefType(element, shape, layout)


@lru_cache(maxsize=4096)
def integers(*values: int) -> DenseArrayBase[I64]:
    """`array<i64: values>`: positions, static sizes and the like."""
    return DenseArrayBase.from_list(i64, values)


class LoopBuilder:
    """Builds nests of loops before `anchor`; every new op has its location.

    constants: the function's constants, if other nests are also built in it.
    """

    def __init__(self, anchor: Operation, constants: Constants | None = None):
        assert anchor.parent is not None
        self.location = anchor.location
        self._block = anchor.parent
        self._before: Operation | None = anchor
        self.anchor = anchor
        self._constants = constants or Constants(top_of(anchor))
        self.is_shared = False
        """Whether several threads run the code that is being built."""
        self._is_unrolled = False

    def before(self, op: Operation) -> LoopBuilder:
        """A builder of the same function, for nests before another op."""
        return LoopBuilder(op, self._constants)

    # -- ops -------------------------------------------------------------------------------------------------------

    def insert(self, op: Operation) -> Operation:
        """Appends an op at the current point."""
        op.location = self.location
        return self.place(op)

    def place(self, op: Operation) -> Operation:
        if self._before is None:
            self._block.add_op(op)
        else:
            self._block.insert_op_before(op, self._before)
        return op

    def op(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        **properties: Attribute,
    ) -> SSAValue:
        """Appends an op with one result."""
        op = op_class.create(operands=operands, result_types=[result], properties=properties, location=self.location)
        return self.place(op).results[0]

    def constant(self, value: Attribute, type: Attribute) -> SSAValue:
        return self._constants.of(value, type, self.location)

    def number(self, value: float, type: Attribute) -> SSAValue:
        """A scalar constant, or a vector with it in all lanes."""
        return self._constants.number(value, type, self.location)

    def lanes_constant(self, values: Sequence[int], element: Attribute) -> SSAValue:
        type = vector_of(element, len(values))
        return self.constant(lanes_attr(tuple(values), type), type)

    # -- index arithmetic ------------------------------------------------------------------------------------------

    def value(self, index: Index) -> SSAValue:
        return self._constants.index(index, self.location) if isinstance(index, int) else index

    def _binary(self, op_class: type[Operation], a: Index, b: Index) -> SSAValue:
        return self.op(op_class, [self.value(a), self.value(b)], INDEX)

    def add(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int):
            a, b = b, a
        return a if b == 0 else self._with_overflow(arith.AddiOp, a, b)

    def subtract(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._with_overflow(arith.SubiOp, a, b)

    def multiply(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if b == 0:
            return 0
        return a if b == 1 else self._with_overflow(arith.MuliOp, a, b)

    def minimum(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._binary(arith.MinSIOp, a, b)

    def maximum(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._binary(arith.MaxSIOp, a, b)

    def divide(self, a: Index, b: Index) -> Index:
        """a // b for a non-negative a and a positive b."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return a if b == 1 else self._binary(arith.DivUIOp, a, b)

    def round_down(self, a: Index, multiple: int) -> Index:
        """`a`, which is not negative, rounded down to a multiple of a power of two."""
        if isinstance(a, int):
            return a - a % multiple
        return a if multiple == 1 else self._binary(arith.AndIOp, a, -multiple)

    def is_zero(self, index: SSAValue) -> SSAValue:
        return self.op(arith.CmpiOp, [index, self.value(0)], i1, predicate=_EQUAL)

    def _with_overflow(self, op_class: type[Operation], a: Index, b: Index) -> SSAValue:
        return self.op(op_class, [self.value(a), self.value(b)], INDEX, overflowFlags=NO_OVERFLOW_FLAGS)

    # -- control ---------------------------------------------------------------------------------------------------

    def loop(
        self,
        lower: Index,
        upper: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """`for i in range(lower, upper, step): carried = body(i, carried)`. No loop if it certainly runs at most
        once."""
        if lower is upper:
            return list(carried)
        if isinstance(lower, int) and isinstance(upper, int):
            if upper <= lower:
                return list(carried)
            if self._is_unrolled or lower + step >= upper:
                values = list(carried)
                for place in range(lower, upper, step):
                    values = list(body(place, values))
                return values
        bounds = [self.value(bound) for bound in (lower, upper, step)]
        types = [value.type for value in carried]
        block = Block(arg_types=[INDEX, *types])
        self._fill(block, lambda: body(block.args[0], block.args[1:]))
        op = scf.ForOp.create(
            operands=[*bounds, *carried], result_types=types, location=self.location, regions=[Region(block)]
        )
        return list(self.place(op).results)

    def last(
        self,
        lower: Index,
        upper: Index,
        carried: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """The last trip of a loop, if there is one: `if lower < upper: carried = body(lower, carried)`."""
        if lower is upper:
            return list(carried)
        if isinstance(lower, int) and isinstance(upper, int):
            return list(body(lower, carried) if lower < upper else carried)
        is_left = self.op(arith.CmpiOp, [self.value(lower), self.value(upper)], i1, predicate=_LESS)
        types = [value.type for value in carried]
        return self.either(is_left, types, lambda: body(lower, carried), lambda: carried)

    @contextmanager
    def unrolled(self) -> Iterator[None]:
        """Inside this context, a loop between known bounds is unrolled completely."""
        saved, self._is_unrolled = self._is_unrolled, True
        yield
        self._is_unrolled = saved

    def parallel(self, size: Index, step: Index, body: Callable[[Index], None]) -> None:
        """`for i in range(0, size, step): body(i)`, in any order, or in parallel."""
        bounds = [self.value(bound) for bound in (0, size, step)]
        block = Block(arg_types=[INDEX])
        saved, self.is_shared = self.is_shared, True
        self._inside(block, lambda: body(block.args[0]))
        self.is_shared = saved
        terminator = scf.ReduceOp()
        terminator.location = self.location
        block.add_op(terminator)
        properties = {"operandSegmentSizes": segments(1, 1, 1, 0)}
        op = scf.ParallelOp.create(
            operands=bounds, properties=properties, location=self.location, regions=[Region(block)]
        )
        self.place(op)

    def either(
        self,
        condition: SSAValue,
        results: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """`if condition: results = then() else: results = otherwise()`."""
        regions: list[Region] = []
        for side in (then, otherwise):
            block = Block()
            self._fill(block, side)
            regions.append(Region(block))
        op = scf.IfOp.create(operands=[condition], result_types=results, location=self.location, regions=regions)
        return list(self.place(op).results)

    def _fill(self, block: Block, body: Callable[[], Sequence[SSAValue]]) -> None:
        """Let `body` append to a block, and append a yield of the values that it returns."""
        results = self._inside(block, body)
        block.add_op(scf.YieldOp.create(operands=results, location=self.location))

    def _inside(self, block: Block, body: Callable[[], _Result]) -> _Result:
        saved = self._block, self._before
        self._block, self._before = block, None
        try:
            return body()
        finally:
            self._block, self._before = saved

    # -- memory and vectors ----------------------------------------------------------------------------------------

    def size(self, buffer: SSAValue, axis: int) -> Index:
        """The size of a memref along an axis."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        size = type.get_shape()[axis]
        return size if size != DYNAMIC_INDEX else self.op(memref.DimOp, [buffer, self.value(axis)], INDEX)

    def mask(self, count: Index, lanes: int) -> SSAValue | None:
        """The mask of the first `count` lanes; None if these are known to be all lanes."""
        if not isinstance(count, int):
            return self.op(vector.CreateMaskOp, [count], vector_of(i1, lanes))
        if count >= lanes:
            return None
        return self.lanes_constant([int(lane < count) for lane in range(lanes)], i1)

    def load(
        self, buffer: SSAValue, subscripts: Sequence[Index], lanes: int | None = None, mask: SSAValue | None = None
    ) -> SSAValue:
        """An element, or `lanes` consecutive ones; masked-out lanes are zero and not accessed."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        operands = [buffer, *map(self.value, subscripts)]
        if lanes is None:
            return self.op(memref.LoadOp, operands, type.element_type)
        result = vector_of(type.element_type, lanes)
        if mask is None:
            return self.op(vector.LoadOp, operands, result)
        return self.op(vector.MaskedLoadOp, [*operands, mask, self.number(0, result)], result)

    def store(
        self, value: SSAValue, buffer: SSAValue, subscripts: Sequence[Index], mask: SSAValue | None = None
    ) -> None:
        """Store an element or consecutive ones."""
        places = [self.value(subscript) for subscript in subscripts]
        if mask is not None:
            op_class, operands = vector.MaskedStoreOp, [buffer, *places, mask, value]
        else:
            op_class = vector.StoreOp if isinstance(value.type, VectorType) else memref.StoreOp
            operands = [value, buffer, *places]
        self.place(op_class.create(operands=operands, location=self.location))

    def prefetch(self, buffer: SSAValue, subscripts: Sequence[Index], *, is_write: bool) -> None:
        """A hint that an element, which need not exist, will soon be read, or also written."""
        places = [self.value(subscript) for subscript in subscripts]
        properties: dict[str, Attribute] = {
            "isWrite": BoolAttr.from_bool(is_write),
            "localityHint": _NEAREST,
            "isDataCache": BoolAttr.from_bool(True),
        }
        self.place(PrefetchOp.create(operands=[buffer, *places], properties=properties, location=self.location))

    def splat(self, scalar: SSAValue, lanes: int) -> SSAValue:
        """A vector with a scalar in all lanes."""
        if isinstance(scalar, OpResult) and isinstance(scalar.op, arith.ConstantOp) and scalar.type != INDEX:
            value = scalar.op.value
            if isinstance(value, IntegerAttr | FloatAttr):
                return self.number(value.value.data, vector_of(scalar.type, lanes))
        if scalar.type == INDEX:
            scalar = self.op(arith.IndexCastOp, [scalar], i64)
        return self.op(vector.BroadcastOp, [scalar], vector_of(scalar.type, lanes))

    def extract(self, value: SSAValue, lane: Index, element: Attribute) -> SSAValue:
        position, dynamic = _position(lane)
        return self.op(vector.ExtractOp, [value, *dynamic], element, static_position=position)

    def put(self, scalar: SSAValue, value: SSAValue, lane: Index) -> SSAValue:
        position, dynamic = _position(lane)
        return self.op(vector.InsertOp, [scalar, value, *dynamic], value.type, static_position=position)


def _position(lane: Index) -> tuple[DenseArrayBase[I64], Sequence[SSAValue]]:
    """A lane, in the form of ops that take one."""
    return (integers(lane), ()) if isinstance(lane, int) else (integers(DYNAMIC_INDEX), (lane,))
