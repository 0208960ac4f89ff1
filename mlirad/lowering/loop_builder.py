"""Appends upstream ops, all with one location, before an op that is being lowered; folds index arithmetic on the way.

Reads: nothing. Writes: scf, memref, vector and arith ops. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, reduce

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

INDEX = IndexType()
Index = int | SSAValue
"""A subscript or a size: a number, or a value of type index."""


@cache
def vector_of(element: Attribute, lanes: int) -> VectorType:
    """`vector<lanes x element>`. Lanes of an index are i64: arith's casts have no vectors of index."""
    return VectorType(i64 if element == INDEX else element, [lanes])


@cache
def _index_attr(value: int) -> IntegerAttr:
    return IntegerAttr(value, INDEX)


def _dense(type: VectorType, values: Sequence[float]) -> DenseIntOrFPElementsAttr:
    """The lanes' values; one stands for all."""
    return DenseIntOrFPElementsAttr.from_list(type, values)  # pyright: ignore[reportArgumentType, reportCallIssue]


def number_attr(value: float, type: Attribute) -> Attribute:
    """The attribute of a scalar constant, or of a vector that has it in all lanes."""
    return _number_attr(value.hex() if isinstance(value, float) else int(value), type)


@lru_cache(maxsize=4096)
def _number_attr(key: str | int, type: Attribute) -> Attribute:
    """Cached, as a dense attribute costs as much as several ops; by a float's digits, as 0.0 and -0.0 are equal."""
    value = float.fromhex(key) if isinstance(key, str) else key
    if isinstance(type, VectorType):
        return _dense(type, [value])
    if isinstance(type, IntegerType):
        return IntegerAttr(int(value), type)
    if isinstance(type, IndexType):
        return _index_attr(int(value))
    return FloatAttr(value, type)  # pyright: ignore[reportArgumentType, reportCallIssue]


class LoopBuilder:
    """Builds nests of loops before `anchor`, whose location every new op carries.

    Constants are made once: before the outermost loop, or first in the block `top`, and known in `constants`.
    """

    def __init__(self, anchor: Operation, top: Block | None = None, constants: dict[Attribute, SSAValue] | None = None):
        block = anchor.parent_block()
        assert block is not None
        self.location = anchor.location
        self._block = block
        self._before: Operation | None = anchor
        self._outermost: Operation | None = None
        self._top = top
        self.anchor = anchor
        self._constants = {} if constants is None else constants
        self.is_shared = False
        """Whether what is built is run by several threads."""

    # -- ops -------------------------------------------------------------------------------------------------------

    def insert(self, op: Operation) -> Operation:
        """Appends an op at the current point."""
        op.location = self.location
        return self._place(op)

    def _place(self, op: Operation) -> Operation:
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
        return self._place(op).results[0]

    def constant(self, value: Attribute, type: Attribute) -> SSAValue:
        """A constant, made once and before all loops."""
        known = self._constants.get(value)
        if known is None:
            op = arith.ConstantOp.create(result_types=[type], properties={"value": value})
            op.location = self.location
            place = self._top.first_op if self._top is not None else self._outermost or self.anchor
            assert place is not None and place.parent is not None
            place.parent.insert_op_before(op, place)
            known = self._constants[value] = op.results[0]
        return known

    def number(self, value: float, type: Attribute) -> SSAValue:
        """A scalar constant, or a vector with it in all lanes."""
        return self.constant(number_attr(value, type), type)

    def lanes_constant(self, values: Sequence[float], element: Attribute) -> SSAValue:
        type = vector_of(element, len(values))
        return self.constant(_dense(type, values), type)

    # -- index arithmetic ------------------------------------------------------------------------------------------

    def value(self, index: Index) -> SSAValue:
        return self.constant(_index_attr(index), INDEX) if isinstance(index, int) else index

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
        """a // b of what is not negative, and b not zero."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return a if b == 1 else self._binary(arith.DivUIOp, a, b)

    def round_down(self, a: Index, multiple: int) -> Index:
        """The largest multiple of a power of two that is not above `a`, which is not negative."""
        if isinstance(a, int):
            return a - a % multiple
        return a if multiple == 1 else self._binary(arith.AndIOp, a, -multiple)

    def _with_overflow(self, op_class: type[Operation], a: Index, b: Index) -> SSAValue:
        operands = [self.value(a), self.value(b)]
        return self.op(op_class, operands, INDEX, overflowFlags=arith.IntegerOverflowAttr("none"))

    # -- control ---------------------------------------------------------------------------------------------------

    def loop(
        self,
        lower: Index,
        upper: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """`for i in range(lower, upper, step): carried = body(i, carried)`. Known to run once or never, it is none."""
        if lower is upper:
            return list(carried)
        if isinstance(lower, int) and isinstance(upper, int):
            if upper <= lower:
                return list(carried)
            if lower + step >= upper:
                return list(body(lower, carried))
        bounds = [self.value(bound) for bound in (lower, upper, step)]
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        op = scf.ForOp.create(
            operands=[*bounds, *carried],
            result_types=[value.type for value in carried],
            regions=[Region(block)],
        )
        self.insert(op)
        results = self._inside(op, block, lambda: body(block.args[0], block.args[1:]))
        self._finish(block, results)
        return list(op.results)

    def parallel(self, size: Index, step: Index, body: Callable[[Index], None]) -> None:
        """`for i in range(0, size, step): body(i)`, in any order, or side by side."""
        block = Block(arg_types=[INDEX])
        bounds = [[self.value(bound)] for bound in (0, size, step)]
        op = scf.ParallelOp.create(
            operands=[each for bound in bounds for each in bound],
            properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 1, 1, 0])},
            regions=[Region(block)],
        )
        self.insert(op)

        def once() -> Sequence[SSAValue]:
            body(block.args[0])
            return ()

        saved, self.is_shared = self.is_shared, True
        self._inside(op, block, once)
        self.is_shared = saved
        terminator = scf.ReduceOp()
        terminator.location = self.location
        block.add_op(terminator)

    def either(
        self,
        condition: SSAValue,
        results: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """`if condition: results = then() else: results = otherwise()`."""
        blocks = [Block(), Block()]
        op = scf.IfOp.create(operands=[condition], result_types=results, regions=[Region(block) for block in blocks])
        self.insert(op)
        for block, side in zip(blocks, (then, otherwise), strict=True):
            self._finish(block, self._inside(op, block, side))
        return list(op.results)

    def _inside(self, op: Operation, block: Block, body: Callable[[], Sequence[SSAValue]]) -> Sequence[SSAValue]:
        saved = self._block, self._before, self._outermost
        self._block, self._before, self._outermost = block, None, self._outermost or op
        try:
            return body()
        finally:
            self._block, self._before, self._outermost = saved

    def _finish(self, block: Block, results: Sequence[SSAValue]) -> None:
        terminator = scf.YieldOp.create(operands=results)
        terminator.location = self.location
        block.add_op(terminator)

    # -- memory and vectors ----------------------------------------------------------------------------------------

    def size(self, buffer: SSAValue, axis: int) -> Index:
        """How long a memref is along an axis."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        size = type.get_shape()[axis]
        return size if size != DYNAMIC_INDEX else self.op(memref.DimOp, [buffer, self.value(axis)], INDEX)

    def mask(self, count: Index, lanes: int) -> SSAValue | None:
        """The mask of the first `count` lanes; None if that is known to be all of them."""
        if not isinstance(count, int):
            return self.op(vector.CreateMaskOp, [count], vector_of(i1, lanes))
        if count >= lanes:
            return None
        return self.lanes_constant([int(lane < count) for lane in range(lanes)], i1)

    def load(
        self, buffer: SSAValue, subscripts: Sequence[Index], lanes: int | None = None, mask: SSAValue | None = None
    ) -> SSAValue:
        """An element, or `lanes` consecutive ones, of which those masked out are zero and not touched."""
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
        """Stores an element or consecutive ones."""
        places = [self.value(subscript) for subscript in subscripts]
        if not isinstance(value.type, VectorType):
            self.insert(memref.StoreOp.create(operands=[value, buffer, *places]))
        elif mask is None:
            self.insert(vector.StoreOp.create(operands=[value, buffer, *places]))
        else:
            self.insert(vector.MaskedStoreOp.create(operands=[buffer, *places, mask, value]))

    def splat(self, scalar: SSAValue, lanes: int) -> SSAValue:
        """A vector with a scalar in all lanes."""
        if isinstance(scalar, OpResult) and isinstance(scalar.op, arith.ConstantOp) and scalar.type != INDEX:
            value = scalar.op.value
            if isinstance(value, IntegerAttr | FloatAttr):
                return self.number(value.value.data, vector_of(scalar.type, lanes))
        if scalar.type == INDEX:
            scalar = self.op(arith.IndexCastOp, [scalar], i64)
        return self.op(vector.BroadcastOp, [scalar], vector_of(scalar.type, lanes))

    def fold_lanes(self, value: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """Combines a vector's lanes, always as the same balanced tree."""
        type = value.type
        assert isinstance(type, VectorType)
        lanes, element = type.get_shape()[0], type.element_type
        while lanes > 2:
            lanes //= 2
            value = combine(self._part(value, 0, lanes), self._part(value, lanes, lanes))
        return tree([self.extract(value, lane, element) for lane in range(lanes)], combine)

    def _part(self, value: SSAValue, start: int, lanes: int) -> SSAValue:
        type = value.type
        assert isinstance(type, VectorType)
        shuffle = vector.ShuffleOp(
            value, value, _positions(range(start, start + lanes)), result_type=vector_of(type.element_type, lanes)
        )
        return self.insert(shuffle).results[0]

    def extract(self, value: SSAValue, lane: Index, element: Attribute) -> SSAValue:
        return self.insert(vector.ExtractOp(value, [lane], element)).results[0]

    def put(self, scalar: SSAValue, value: SSAValue, lane: Index) -> SSAValue:
        return self.insert(vector.InsertOp(scalar, value, [lane])).results[0]


def _positions(lanes: Sequence[int]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, list(lanes))


def tree(values: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """Combines values as a balanced tree, so that rounding errors grow with the logarithm of their number."""
    level = list(values)
    while len(level) > 1:
        level = [reduce(combine, level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]
