"""Upstream ops on scalars, and Python operators that emit them in formulas.

Reads: scalars. Writes: arith, math and complex ops, at the insertion point. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects import arith, math
from xdsl.dialects import complex as complexes
from xdsl.dialects.builtin import ComplexType, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import dense
from mlirad.dialect.core.expr import insert


def scalar_op(op_class: type[Operation], *operands: SSAValue, asked: Attribute | str | None = None) -> SSAValue:
    """Emit an upstream op on scalars and return its result. asked: further arguments of its class, after the
    operands."""
    result, properties = _made_of(op_class, tuple([operand.type for operand in operands]), asked)
    (value,) = insert(op_class.create(operands=operands, result_types=[result], properties=properties)).results
    return value


@lru_cache(1024)
def _made_of(
    op_class: type[Operation], operands: tuple[Attribute, ...], asked: Attribute | str | None
) -> tuple[Attribute, dict[str, Attribute]]:
    """The result type and the properties of a class's ops on operands of these types. Cached, because the class's
    constructor, which knows them, is slow."""
    arguments = (*Block(arg_types=operands).args, *(() if asked is None else (asked,)))
    op = op_class(*arguments)
    return op.results[0].type, op.properties


def number(value: complex, type: Attribute) -> SSAValue:
    """An upstream scalar constant; `type` is a float, a complex type or a signless integer."""
    if isinstance(type, ComplexType):
        parts = value.real, value.imag
        return insert(complexes.ConstantOp.from_floats(parts, type.element_type)).results[0]
    assert not isinstance(value, complex)
    if types.is_float(type):
        attribute = dense(float(value), type)
    else:
        assert isinstance(type, IntegerType | IndexType)
        attribute = IntegerAttr(int(value), type)
    (result,) = insert(arith.ConstantOp.create(result_types=[type], properties={"value": attribute})).results
    return result


def compare(predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """An upstream comparison: arith.cmpf or arith.cmpi, according to the predicate's name."""
    return scalar_op(arith.CmpfOp if types.is_float(x.type) else arith.CmpiOp, x, y, asked=predicate)


def choose(condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    return scalar_op(arith.SelectOp, condition, x, y)


def plus(x: SSAValue, y: SSAValue) -> SSAValue:
    """x + y, for numbers of any type."""
    kind = arith.AddfOp if types.is_float(x.type) else complexes.AddOp if types.is_complex(x.type) else arith.AddiOp
    return scalar_op(kind, x, y)


def both(x: SSAValue, y: SSAValue) -> SSAValue:
    return scalar_op(arith.AndIOp, x, y)


def any_of(x: SSAValue, y: SSAValue) -> SSAValue:
    return scalar_op(arith.OrIOp, x, y)


@dataclass(frozen=True, eq=False)
class Flag:
    """A boolean."""

    value: SSAValue


@dataclass(frozen=True, eq=False)
class Real:
    """A float. Python numbers combined with it take its type."""

    value: SSAValue

    @classmethod
    def number(cls, value: float) -> Real:
        """Of 64 bits."""
        return cls(number(value, types.F64))

    @classmethod
    def of(cls, op_class: type[Operation], *operands: Real) -> Real:
        """An upstream function of several operands."""
        return cls(scalar_op(op_class, *(operand.value for operand in operands)))

    def like(self, value: Real | float) -> Real:
        """A number of the same type."""
        return value if isinstance(value, Real) else Real(number(value, self.value.type))

    def _op(self, op_class: type[Operation], *others: Real | float) -> Real:
        return Real(scalar_op(op_class, self.value, *(self.like(other).value for other in others)))

    def __add__(self, other: Real | float) -> Real:
        return self._op(arith.AddfOp, other)

    __radd__ = __add__

    def __sub__(self, other: Real | float) -> Real:
        return self._op(arith.SubfOp, other)

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return self._op(arith.MulfOp, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Real | float) -> Real:
        return self._op(arith.DivfOp, other)

    def __rtruediv__(self, other: float) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return self._op(arith.NegfOp)

    def __abs__(self) -> Real:
        return self._op(math.AbsFOp)

    def __lt__(self, other: Real | float) -> SSAValue:
        return compare("olt", self.value, self.like(other).value)

    def __gt__(self, other: Real | float) -> SSAValue:
        return compare("ogt", self.value, self.like(other).value)

    def equals(self, other: Real | float) -> SSAValue:
        return compare("oeq", self.value, self.like(other).value)

    def is_nan(self) -> SSAValue:
        return compare("uno", self.value, self.value)

    def where(self, mask: SSAValue, other: Real | float) -> Real:
        """`other` where the mask is set, else self."""
        return Real(choose(mask, self.like(other).value, self.value))

    def with_sign_of(self, other: Real) -> Real:
        return self._op(math.CopySignOp, other)

    def function(self, op_class: type[Operation], *others: Real) -> Real:
        """An upstream function of this number."""
        return self._op(op_class, *others)

    def exp(self) -> Real:
        return self._op(math.ExpOp)

    def log(self) -> Real:
        return self._op(math.LogOp)

    def sqrt(self) -> Real:
        return self._op(math.SqrtOp)

    def times_plus(self, factor: Real | float, addend: Real | float) -> Real:
        """self * factor + addend, rounded once."""
        return self._op(math.FmaOp, factor, addend)

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """The polynomial, lowest coefficient first, split into even and odd powers that can be computed in parallel."""
        square = self * self
        return square._horner(coefficients[1::2]).times_plus(self, square._horner(coefficients[::2]))

    def _horner(self, coefficients: Sequence[float]) -> Real:
        total = self.like(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total

    def in_type(self, type: Attribute) -> Real:
        """This number as a float of another type."""
        if self.value.type == type:
            return self
        is_wider = types.itemsize(type) > types.itemsize(self.value.type)
        return Real(scalar_op(arith.ExtFOp if is_wider else arith.TruncFOp, self.value, asked=type))


@dataclass(frozen=True, eq=False)
class Complex:
    """A complex number, as its two parts."""

    re: Real
    im: Real

    @classmethod
    def of(cls, value: SSAValue) -> Complex:
        if isinstance(owner := value.owner, complexes.CreateOp):
            return cls(*map(Real, owner.operands))
        return cls(*(Real(scalar_op(part, value)) for part in (complexes.ReOp, complexes.ImOp)))

    @property
    def value(self) -> SSAValue:
        re, im = self.re.value, self.im.value
        return scalar_op(complexes.CreateOp, re, im, asked=ComplexType(re.type))  # pyright: ignore[reportArgumentType]  # a float

    def in_parts(self, type: Attribute) -> Complex:
        """This number, with parts of another type."""
        return Complex(self.re.in_type(type), self.im.in_type(type))

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Complex) -> Complex:
        a, b, c, d = self.re, self.im, other.re, other.im
        return Complex(a * c - b * d, a * d + b * c)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def equals(self, other: Complex) -> SSAValue:
        return both(self.re.equals(other.re), self.im.equals(other.im))

    def differs(self, other: Complex) -> SSAValue:
        """Whether they are not equal; true for nan."""
        pairs = (self.re, other.re), (self.im, other.im)
        return any_of(*(compare("une", x.value, y.value) for x, y in pairs))

    def is_zero(self) -> SSAValue:
        return both(self.re.equals(0.0), self.im.equals(0.0))

    def is_nan(self) -> SSAValue:
        return compare("uno", self.re.value, self.im.value)

    def where(self, mask: SSAValue, other: Complex) -> Complex:
        """`other` where the mask is set, else self."""
        return Complex(self.re.where(mask, other.re), self.im.where(mask, other.im))
