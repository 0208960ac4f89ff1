"""Turns the scalar operations of a body into vector instructions on tiles.

Reads: arith and math ops on elements. Writes: steps of a `TileProgram`. Leaves: nothing.

INSTRUCTIONS lists all operations that the vector unit computes. Other operations are expanded into formulas, or
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    f16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.targets.ascend.hivm.choosing_instructions import VCmpOp, VSelOp
from mlirad.targets.ascend.hivm.elementwise_instructions import (
    Binary,
    VAbsOp,
    VAddOp,
    VAndOp,
    VCastOp,
    VDivOp,
    VExpOp,
    VLnOp,
    VMaxOp,
    VMinOp,
    VMulOp,
    VNotOp,
    VOrOp,
    VRsqrtOp,
    VSqrtOp,
    VSubOp,
    VXorOp,
)
from mlirad.targets.ascend.hivm.hivm_attributes import CompareMode, ReduceKind, RoundMode
from mlirad.targets.ascend.hivm.rearranging_instructions import VBrcOp
from mlirad.targets.ascend.tiles.tile_program import Maker, Scalar, TileProgram, TileValue, Value, VectorStep

ELEMENTS = (f16, f32, i1, i8, i32)
"""The possible elements of a tile. Bytes are the booleans of global memory."""


@dataclass
class BodyWriter:
    """values: the tile or scalar for each value of the body."""

    program: TileProgram
    values: dict[SSAValue, Value] = field(default_factory=dict)
    location: LocationAttr | None = None

    def write(self, block: Block) -> None:
        """Write the steps of all operations of a block, except its terminator."""
        for op in block.ops:
            if op is not block.last_op and op.results and op.results[0] not in self.values:
                self.location = op.location
                self.values[op.results[0]] = INSTRUCTIONS[type(op)](self, op)

    def of(self, value: SSAValue) -> Value:
        return self.values.get(value) or Scalar(value, value.type)

    def operands(self, op: Operation) -> list[Value]:
        return [self.of(each) for each in op.operands]

    def step(self, make: Maker, *inputs: Value, element: Attribute, in_place: bool = True) -> TileValue:
        assert self.location is not None
        output = TileValue(element)
        self.program.steps.append(VectorStep(make, inputs, output, self.location, in_place))
        return output

    def spread(self, value: Value) -> TileValue:
        """A tile filled with the value; for a boolean scalar, by comparing a number with 0."""
        if isinstance(value, TileValue):
            return value
        if value.element == i1:
            return self.compare(self.spread(Scalar(value.value, f32)), Scalar(0.0, f32), CompareMode.NE)
        return self.step(lambda inputs, output: VBrcOp(inputs[0], output), value, element=value.element)

    def binary(self, op_class: type[Binary], x: Value, y: Value) -> TileValue:
        x = self.spread(x)
        return self.step(lambda inputs, output: op_class(inputs, output), x, y, element=x.element)

    def unary(self, op_class: Callable[..., Operation], x: Value) -> TileValue:
        x = self.spread(x)
        return self.step(lambda inputs, output: op_class(inputs, output), x, element=x.element)

    def compare(self, x: Value, y: Value, mode: CompareMode) -> TileValue:
        x = self.spread(x)

        def make(inputs, output):
            return VCmpOp(inputs[0], inputs[1], output, mode)

        return self.step(make, x, y, element=i1, in_place=False)

    def choose(self, condition: Value, x: Value, y: Value) -> TileValue:
        condition = self.spread(condition)
        if x.element == i1:
            kept = self.binary(VAndOp, condition, self.spread(x))
            rest = self.binary(VAndOp, self.unary(VNotOp, condition), self.spread(y))
            return self.binary(VOrOp, kept, rest)
        return self.step(lambda inputs, output: VSelOp(inputs, output), condition, x, y, element=x.element)

    def cast(self, x: Value, element: Attribute, mode: RoundMode = RoundMode.RINT) -> TileValue:
        x = self.spread(x)

        def make(inputs, output):
            return VCastOp(inputs[0], output, mode)

        return self.step(make, x, element=element, in_place=x.element == element)


Meaning = Callable[[BodyWriter, Operation], Value]


def _commutative(op_class: type[Binary]) -> Meaning:
    def write(body: BodyWriter, op: Operation) -> Value:
        x, y = body.operands(op)
        if isinstance(x, Scalar):
            x, y = y, x
        return body.binary(op_class, x, y if y.element != i1 else body.spread(y))

    return write


def _subtract(body: BodyWriter, op: Operation) -> Value:
    x, y = body.operands(op)
    if isinstance(x, Scalar):  # only the second operand may be a scalar
        return body.binary(VAddOp, body.binary(VMulOp, y, Scalar(-1.0, y.element)), x)
    return body.binary(VSubOp, x, y)


def _divide(body: BodyWriter, op: Operation) -> Value:
    x, y = body.operands(op)
    return body.binary(VDivOp, x, y)


def _negate(body: BodyWriter, op: Operation) -> Value:
    (x,) = body.operands(op)
    return body.binary(VMulOp, x, Scalar(-1.0, x.element))


def _unary(op_class: Callable[..., Operation]) -> Meaning:
    return lambda body, op: body.unary(op_class, body.operands(op)[0])


def _rounded(mode: RoundMode) -> Meaning:
    return lambda body, op: body.cast(body.operands(op)[0], op.results[0].type, mode)


def _constant(_: BodyWriter, op: Operation) -> Value:
    attribute = op.properties["value"]
    if isinstance(attribute, FloatAttr):
        return Scalar(attribute.value.data, op.results[0].type)
    assert isinstance(attribute, IntegerAttr)
    return Scalar(attribute.value.data, op.results[0].type)


_ORDERED = {
    "oeq": CompareMode.EQ,
    "ogt": CompareMode.GT,
    "oge": CompareMode.GE,
    "olt": CompareMode.LT,
    "ole": CompareMode.LE,
    "une": CompareMode.NE,
}
_SWAPPED = {
    CompareMode.GT: CompareMode.LT,
    CompareMode.LT: CompareMode.GT,
    CompareMode.GE: CompareMode.LE,
    CompareMode.LE: CompareMode.GE,
}
_NEGATED = {"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt"}
_FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


def _compare_floats(body: BodyWriter, op: Operation) -> Value:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    x, y = body.operands(op)
    return _compared(body, _FLOAT_PREDICATES[predicate.value.data], x, y)


def _compared(body: BodyWriter, name: str, x: Value, y: Value) -> TileValue:
    """Uses the comparisons of the vector unit: all except != are false for nan."""
    if name in _ORDERED:
        mode = _ORDERED[name]
        if isinstance(x, Scalar):
            x, y, mode = y, x, _SWAPPED.get(mode, mode)
        return body.compare(x, y, mode)
    if name in _NEGATED:
        return body.unary(VNotOp, _compared(body, _NEGATED[name], x, y))
    if name in ("one", "ueq"):
        differs = body.binary(VOrOp, _compared(body, "olt", x, y), _compared(body, "ogt", x, y))
        return differs if name == "one" else body.unary(VNotOp, differs)
    is_nan = body.binary(VOrOp, _compared(body, "une", x, x), _compared(body, "une", y, y))
    return is_nan if name == "uno" else body.unary(VNotOp, is_nan)


def _compare_integers(body: BodyWriter, op: Operation) -> Value:
    """Equality of booleans, of bytes with 0, and of i32."""
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    x, y = body.operands(op)
    is_equal = predicate.value.data == 0
    if x.element == i1:
        differs = body.binary(VXorOp, x, body.spread(y))
        return body.unary(VNotOp, differs) if is_equal else differs
    if x.element == i8:
        return body.compare(body.cast(x, f16), Scalar(0.0, f16), CompareMode.EQ if is_equal else CompareMode.NE)
    same = body.compare(x, y, CompareMode.EQ)
    return same if is_equal else body.unary(VNotOp, same)


def _exclusive(body: BodyWriter, op: Operation) -> Value:
    """xor of booleans; with true, it is not."""
    x, y = body.operands(op)
    if isinstance(x, Scalar):
        x, y = y, x
    if isinstance(y, Scalar) and isinstance(y.value, int):
        return body.unary(VNotOp, x) if y.value else x
    return body.binary(VXorOp, x, body.spread(y))


def _select(body: BodyWriter, op: Operation) -> Value:
    return body.choose(*body.operands(op))


def _to_number(body: BodyWriter, op: Operation) -> Value:
    """A boolean as 0 or 1. A byte is converted through f16."""
    (x,), element = body.operands(op), op.results[0].type
    return body.cast(body.cast(x, f16), element) if element == i8 else body.cast(x, element)


def _without_nan(op_class: type[Binary]) -> Meaning:
    """The greater or lesser of two; if one is nan, the other."""

    def write(body: BodyWriter, op: Operation) -> Value:
        x, y = (body.spread(each) for each in body.operands(op))
        value = body.binary(op_class, x, y)
        value = body.choose(_compared(body, "une", x, x), y, value)
        return body.choose(_compared(body, "une", y, y), x, value)

    return write


INSTRUCTIONS: dict[type[Operation], Meaning] = {
    arith.AddfOp: _commutative(VAddOp),
    arith.MulfOp: _commutative(VMulOp),
    arith.MaximumfOp: _commutative(VMaxOp),
    arith.MinimumfOp: _commutative(VMinOp),
    arith.MaxnumfOp: _without_nan(VMaxOp),
    arith.MinnumfOp: _without_nan(VMinOp),
    arith.SubfOp: _subtract,
    arith.DivfOp: _divide,
    arith.NegfOp: _negate,
    arith.CmpfOp: _compare_floats,
    arith.CmpiOp: _compare_integers,
    arith.SelectOp: _select,
    arith.AndIOp: _commutative(VAndOp),
    arith.OrIOp: _commutative(VOrOp),
    arith.XOrIOp: _exclusive,
    arith.ExtFOp: _rounded(RoundMode.RINT),
    arith.TruncFOp: _rounded(RoundMode.RINT),
    arith.ExtUIOp: _to_number,
    arith.UIToFPOp: _to_number,
    arith.ConstantOp: _constant,
    math.AbsFOp: _unary(VAbsOp),
    math.ExpOp: _unary(VExpOp),
    math.LogOp: _unary(VLnOp),
    math.SqrtOp: _unary(VSqrtOp),
    math.RsqrtOp: _unary(VRsqrtOp),
    math.FloorOp: _rounded(RoundMode.FLOOR),
    math.CeilOp: _rounded(RoundMode.CEIL),
    math.TruncOp: _rounded(RoundMode.TRUNC),
    math.RoundEvenOp: _rounded(RoundMode.RINT),
}
"""The operations of the vector unit, by the op on one element."""

REDUCTIONS: dict[type[Operation], tuple[ReduceKind, type[Binary]]] = {
    arith.AddfOp: (ReduceKind.SUM, VAddOp),
    arith.MulfOp: (ReduceKind.PROD, VMulOp),
    arith.MaximumfOp: (ReduceKind.MAX, VMaxOp),
    arith.MinimumfOp: (ReduceKind.MIN, VMinOp),
}
"""The reductions of the vector unit, by the op that combines two elements, and the instruction that combines two
tiles."""
