"""The body of a linalg op: its cost, whether vector lanes can execute it, and its evaluation.

Reads: blocks of arith, math and linalg.index. Writes: the same ops on scalars or vectors. Leaves: the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnknownLoc,
    VectorType,
)
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis import cost
from mlirad.dialect.arrays.sum_in_order import IN_ORDER
from mlirad.dialect.ops.contraction import TANGENT_FACTOR
from mlirad.lowering.loop_builder import NO_OVERFLOW_FLAGS, LoopBuilder, vector_of
from mlirad.lowering.loop_constants import INDEX
from mlirad.xdsl_support.once_per_object import once

TRAPPING = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)
"""Integer divisions: no processor has them on vectors, and a masked-out lane would divide by zero."""
SCALAR_ONLY = (*TRAPPING, math.IPowIOp, math.FPowIOp)


@dataclass(frozen=True)
class Combiner:
    """An associative op that combines the elements of a reduction; `neutral` changes nothing."""

    op_class: type[Operation]
    properties: dict[str, Attribute]
    element: Attribute
    is_in_order: bool = False
    """Whether the elements are combined one after the other; otherwise in the fastest order."""

    def neutral(self, builder: LoopBuilder, lanes: int) -> SSAValue:
        return builder.number(_neutral(self.op_class, self.element), vector_of(self.element, lanes))

    @property
    def neutral_number(self) -> float:
        return _neutral(self.op_class, self.element)

    def start(self, builder: LoopBuilder) -> SSAValue:
        """Only the neutral element."""
        return builder.number(self.neutral_number, self.element)

    def apply(self, builder: LoopBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        return builder.op(self.op_class, [a, b], a.type, **self.properties)

    @property
    def block(self) -> Block:
        """The body of a nest that combines its input with its output."""
        made = Block(arg_types=[self.element, self.element])
        op = self.op_class.create(operands=made.args, result_types=[self.element], properties=self.properties)
        made.add_ops([op, YieldOp(op.results[0])])
        return made

    @property
    def is_rounded(self) -> bool:
        """Whether long chains lose accuracy, and may be split."""
        return self.op_class is arith.AddfOp and not self.is_in_order

    @property
    def widened(self) -> Combiner:
        """The combiner of partial results: sums of float32 are added up in float64."""
        is_narrow = self.is_rounded and isinstance(self.element, Float32Type)
        return replace(self, element=Float64Type()) if is_narrow else self


def _neutral(op_class: type[Operation], element: Attribute) -> float:
    if isinstance(element, IntegerType):
        bits = element.width.data
        return {
            arith.MuliOp: 1,
            arith.AndIOp: 1 if bits == 1 else -1,
            arith.MinUIOp: 1 if bits == 1 else -1,
            arith.MaxSIOp: -(1 << (bits - 1)),
            arith.MinSIOp: (1 << (bits - 1)) - 1,
        }.get(op_class, 0)
    infinity = float("inf")
    return {
        arith.AddfOp: -0.0,
        arith.MulfOp: 1.0,
        arith.MinimumfOp: infinity,
        arith.MinnumfOp: infinity,
    }.get(op_class, -infinity)


_COMBINERS = {
    arith.AddfOp,
    arith.MulfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
    arith.AddiOp,
    arith.MuliOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
}


@dataclass(frozen=True)
class Body:
    """Facts about a block, collected before any loop is built."""

    block: Block
    cost: int
    is_vectorizable: bool
    bytes: int
    """The widest number in it, without memory accesses."""

    def cost_of_point(self, operands: int) -> int:
        """The cost of one iteration of a nest with this body that accesses `operands` arrays."""
        return cost.of_point(self.cost, operands, is_vectorizable=self.is_vectorizable)

    @property
    def results(self) -> Sequence[SSAValue]:
        terminator = self.block.last_op
        assert isinstance(terminator, YieldOp)
        return terminator.operands

    def combiner(self, position: int, accumulator: int) -> Combiner | None:
        """The op that combines result `position` with block argument `accumulator`, which must have no other reader."""
        return combiner_of(self.block.args[accumulator], self.results[position])

    @property
    def is_multiply_add(self) -> bool:
        """Whether it is `c + a * b` of its three float arguments, each used once: one step of a contraction."""
        operations = list(self.block.ops)
        if (len(self.block.args), len(operations), len(self.results)) != (3, 3, 1):
            return False
        multiply, add, _ = operations
        a, b, c = self.block.args
        return (
            isinstance(a.type, AnyFloat)
            and isinstance(multiply, arith.MulfOp)
            and isinstance(add, arith.AddfOp)
            and IN_ORDER not in add.attributes
            and set(multiply.operands) == {a, b}
            and set(add.operands) == {multiply.result, c}
            and self.results[0] is add.result
        )

    @property
    def tangent_factor(self) -> SSAValue | None:
        """The argument of a step of a contraction that is a tangent, if one is: where it is exactly 0, the step adds
        nothing."""
        multiply = self.block.first_op
        number = None if multiply is None else multiply.attributes.get(TANGENT_FACTOR)
        return multiply.operands[number.value.data] if multiply and isinstance(number, IntegerAttr) else None

    @property
    def may_contract(self) -> bool:
        """Whether LLVM may fuse its multiplications with its additions."""
        ops = [op for op in self.block.ops if isinstance(op, arith.MulfOp | arith.AddfOp)]
        return bool(ops) and all(FastMathFlag.ALLOW_CONTRACT in op.fastmath.data for op in ops)


def combiner_of(argument: SSAValue, result: SSAValue) -> Combiner | None:
    """The op that computes a result of a block from one of its arguments; neither must have another use."""
    op = result.owner
    if not isinstance(op, Operation) or type(op) not in _COMBINERS or op.parent is not argument.owner:
        return None
    if argument.uses.get_length() != 1 or argument not in op.operands or op.results[0].uses.get_length() != 1:
        return None
    return Combiner(type(op), dict(op.properties), argument.type, IN_ORDER in op.attributes)


def body_of(block: Block) -> Body:
    widest, is_vectorizable = 1, True
    for argument in block.args:
        widest = max(widest, _bytes(argument.type))
        is_vectorizable = is_vectorizable and isinstance(argument.type, AnyFloat | IntegerType | IndexType)
    for op in block.ops:
        if op.__class__ in (YieldOp, IndexOp, arith.ConstantOp):
            continue
        dialect = op.name.partition(".")[0]
        if dialect not in ("arith", "math") or isinstance(op, SCALAR_ONLY) or op.regions:
            is_vectorizable = False
        for result in op.results:
            if not isinstance(result.type, AnyFloat | IntegerType | IndexType):
                is_vectorizable = False
            widest = max(widest, _bytes(result.type))
    return Body(block, cost.of_body(block), is_vectorizable, widest)


@once
def _bytes(type: Attribute) -> int:
    """Bytes of a number; a bool or an index does not determine a vector's width."""
    if isinstance(type, IntegerType):
        return max(1, type.width.data // 8)
    if isinstance(type, AnyFloat):
        return type.bitwidth // 8
    return 1


def evaluate(
    builder: LoopBuilder,
    block: Block,
    arguments: Sequence[SSAValue],
    index: Callable[[int], SSAValue],
    lanes: int | None,
) -> list[SSAValue]:
    """Append the body's ops with these arguments; values that depend on a vector become vectors. Returns the yielded
    values."""
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    splats: dict[SSAValue, SSAValue] = {}

    def wide(value: SSAValue) -> SSAValue:
        assert lanes is not None
        if value.type.__class__ is VectorType:
            return value
        if value not in splats:
            splats[value] = builder.splat(value, lanes)
        return splats[value]

    for op in block.ops:
        kind = op.__class__
        if kind is YieldOp:
            break
        if kind is IndexOp:
            values[op.results[0]] = index(op.dim.value.data)  # pyright: ignore[reportAttributeAccessIssue]  # an IndexOp
        elif kind is arith.ConstantOp:
            (result,) = op.results
            values[result] = builder.constant(op.properties["value"], result.type)
        else:
            operands = [values.get(operand, operand) for operand in op.operands]
            if any(operand.type.__class__ is VectorType for operand in operands):
                results = [_wide_op(builder, op, [wide(operand) for operand in operands], lanes)]
            else:
                results = _scalar_op(builder, op, values)
            values.update(zip(op.results, results, strict=True))
    terminator = block.last_op
    assert terminator is not None
    return [values.get(operand, operand) for operand in terminator.operands]


def _scalar_op(builder: LoopBuilder, op: Operation, values: dict[SSAValue, SSAValue]) -> Sequence[SSAValue]:
    copy = op.clone(values)
    copy.location = _location(builder, op)
    return builder.place(copy).results


def _wide_op(builder: LoopBuilder, op: Operation, operands: list[SSAValue], lanes: int | None) -> SSAValue:
    assert lanes is not None
    result = vector_of(op.results[0].type, lanes)
    if isinstance(op, arith.IndexCastOp):
        return _cast_integer(builder, operands[0], result)
    copy = op.__class__.create(
        operands=operands, result_types=[result], properties=op.properties, location=_location(builder, op)
    )
    return builder.place(copy).results[0]


def _cast_integer(builder: LoopBuilder, value: SSAValue, result: VectorType) -> SSAValue:
    """An index_cast in vectors, where lanes of an index are i64."""
    assert isinstance(value.type, VectorType)
    have, want = value.type.element_type.bitwidth, result.element_type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]  # integers
    if have == want:
        return value
    return builder.op(arith.ExtSIOp if have < want else arith.TruncIOp, [value], result)


def _location(builder: LoopBuilder, op: Operation) -> LocationAttr:
    return builder.location if isinstance(op.location, UnknownLoc) else op.location


def index_lanes(builder: LoopBuilder, first: SSAValue, lanes: int) -> SSAValue:
    """The vector first, first + 1, ..."""
    start = builder.splat(first, lanes)
    steps = builder.lanes_constant(list(range(lanes)), INDEX)
    return builder.op(arith.AddiOp, [start, steps], start.type, overflowFlags=NO_OVERFLOW_FLAGS)


def select(builder: LoopBuilder, mask: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.op(arith.SelectOp, [mask, a, b], a.type)
