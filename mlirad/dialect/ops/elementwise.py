"""The common base of elementwise ops, on scalars and tensors alike: all operands and the result have one type."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic, Given
from mlirad.dialect.core.derivative import OneOperandOp, TwoOperandsOp, total
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.op import PureOp
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import Complex
from mlirad.errors import DTypeError, ShapeError


class ElementwiseOp(PureOp):
    """One element computed from the elements at the same index. Its Jacobian is diagonal, so jvp follows from vjp.

    A family's `scalar` is the scalar body, in upstream ops. `self.element` has the operands' signedness, which the
    signless elements have lost.
    """

    @property
    def element(self) -> Attribute:
        return types.element_type(self.operands[0].type)

    def is_rounded(self) -> bool:
        return True

    def scales(self, index: int) -> bool:
        return not self.linear

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        totals: list[Expr | None] = [None] * len(outs)
        for index, count in enumerate(given):
            if count is not None:
                alone = [count if place == index else None for place in range(len(given))]
                reached = self.tangents(alone, outs, operands)
                totals = [
                    total(sum, None if each is None else count) for sum, each in zip(totals, reached, strict=True)
                ]
        return totals

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return source.applied(self.spellings[0])

    @classmethod
    def has_numpy_source(cls) -> bool:
        return bool(cls.spellings) or cls.numpy_source is not ElementwiseOp.numpy_source

    def by_element(self, scalar: Callable[..., SSAValue]) -> Generic:
        """`loops()` for the scalar body; for complex numbers from `on_complex`, if the op has it."""
        if types.is_complex(self.operands[0].type) and type(self).on_complex is not ElementwiseOp.on_complex:
            scalar = self._in_parts
        every = tuple(range(len(types.shape(self.results[0].type))))
        return Generic((every,) * (len(self.operands) + 1), scalar)

    def _in_parts(self, *elements: SSAValue) -> SSAValue:
        return self.on_complex(*map(Complex.of, elements)).value


_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


class UnaryOp(OneOperandOp, ElementwiseOp):
    x = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [cls.accept(operands[0])]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        """The type, if the op is defined on it. Raises DTypeError."""
        return floats(cls.name, type)

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr | None: ...

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr | None:
        return self.vjp(dx, out, x)

    @abstractmethod
    def scalar(self, x: SSAValue) -> SSAValue: ...

    def loops(self) -> Generic:
        return self.by_element(self.scalar)


class BinaryOp(TwoOperandsOp, ElementwiseOp):
    x = operand_def(_T)
    y = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x `,` $y attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        require_same(cls.name, operands)
        return [cls.accept(operands[0])]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        """The type, if the op is defined on it. Raises DTypeError."""
        return numbers(cls.name, type)

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr | None, Expr | None]: ...

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        of_x = None if dx is None else self.vjp(dx, out, x, y)[0]
        return total(of_x, None if dy is None else self.vjp(dy, out, x, y)[1])

    @abstractmethod
    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue: ...

    def loops(self) -> Generic:
        return self.by_element(self.scalar)


def floats(name: str, type: Attribute) -> Attribute:
    if not types.is_inexact(type):
        raise DTypeError(f"{name} is defined on floats, not on {types.element_type(type)}")
    return type


def numbers(name: str, type: Attribute) -> Attribute:
    if types.is_bool(type):
        raise DTypeError(f"{name} is not defined on booleans")
    return type


def booleans(name: str, type: Attribute) -> Attribute:
    if not types.is_bool(type):
        raise DTypeError(f"{name} is defined on booleans, not on {types.element_type(type)}")
    return type


def require_same(name: str, operands: Sequence[Attribute]) -> None:
    """Raises ShapeError or DTypeError unless all types are the same."""
    for other in operands[1:]:
        if types.element_type(other) != types.element_type(operands[0]):
            raise DTypeError(f"{name}: element types differ: {operands[0]} and {other}")
        if other != operands[0]:
            raise ShapeError(f"{name}: shapes differ: {operands[0]} and {other}")
