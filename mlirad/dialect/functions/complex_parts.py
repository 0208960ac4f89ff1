"""The parts of complex numbers, and complex numbers from parts: the functions that are not C-linear.

Cotangents follow JAX's convention: `<g, dz> = Re(g * dz)` if one side is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import complex_formulas, types
from mlirad.dialect.core.expr import Expr, emit, ones_like, where, zeros_like
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, literal, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import Complex, Real
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp
from mlirad.errors import DTypeError


class PartOp(UnaryOp):
    """A real number computed from a complex one."""

    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [types.part_type(complexes(cls.name, operands[0]))]

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr | None:
        """The real part of the product with the vjp of the cotangent 1."""
        factor = self.vjp(ones_like(out), out, x)
        return None if factor is None else emit(RealOp, factor * dx)

    def scalar(self, x: SSAValue) -> SSAValue:
        return self.on_complex(Complex.of(x)).value


def complexes(name: str, type: Attribute) -> Attribute:
    if not types.is_complex(type):
        raise DTypeError(f"{name} is defined on complex numbers, not on {types.element_type(type)}")
    return type


@op(np.real, cost=0, linear=True)
class RealOp(PartOp):
    """The real part."""

    name = "nd.real"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        return called("np.real", x)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return cast(g, x.element)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return self.result_on(dx)

    def on_complex(self, x: Complex) -> Real:
        return x.re


@op(np.imag, cost=0, linear=True)
class ImagOp(PartOp):
    """The imaginary part."""

    name = "nd.imag"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        (x,) = source.elements()
        return called("np.imag", x)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return emit(ComplexOp, zeros_like(g), -g)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return self.result_on(dx)

    def on_complex(self, x: Complex) -> Real:
        return x.im


@op(cost=15, singular=True)
class ModulusOp(PartOp):
    """|z|, without overflow. The derivative at 0 is 0."""

    name = "nd.modulus"

    def reference(self, x: Any) -> Any:
        return np.absolute(x)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.abs", *source.elements())

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        is_zero = out == 0.0
        return cast(where(is_zero, 0.0, g / where(is_zero, 1.0, out)), x.element) * emit(ConjOp, x)

    def on_complex(self, x: Complex) -> Real:
        return complex_formulas.hypot(x.re, x.im)


@op(np.conjugate, linear=True)
class ConjOp(UnaryOp):
    """x - iy."""

    name = "nd.conj"

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return complexes(cls.name, type)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return emit(ConjOp, g)

    def scalar(self, x: SSAValue) -> SSAValue:
        return self.on_complex(Complex.of(x)).value

    def on_complex(self, x: Complex) -> Complex:
        return Complex(x.re, -x.im)


@op(linear=True)
class ComplexOp(BinaryOp):
    """x + iy, of two real numbers."""

    name = "nd.complex"
    x = operand_def()
    y = operand_def()
    result = result_def()
    assembly_format = "$x `,` $y attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        super().infer(operands, properties)
        element = {types.F32: types.C64, types.F64: types.C128}.get(types.element_type(operands[0]))
        if element is None:
            raise DTypeError(f"{cls.name} has parts of 32 or 64 bits, not {types.element_type(operands[0])}")
        return [types.with_element(operands[0], element)]

    def reference(self, x: Any, y: Any) -> Any:
        made = np.empty(np.shape(x), types.to_dtype(types.element_type(self.result.type)))
        made.real, made.imag = x, y
        return made[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        """Written as a matrix of pairs, because 1j * inf contains a nan."""
        x, y = source.operands()
        kind = "np.complex64" if types.element_type(self.result.type) == types.C64 else "np.complex128"
        if not types.is_tensor(self.result.type):
            return called(kind, called("complex", x, y))
        return text(called("np.stack", text("(", x, ", ", y, ")"), axis=literal(-1)), f".view({kind})[..., 0]")

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return emit(RealOp, g), -emit(ImagOp, g)

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr:
        return emit(ComplexOp, zeros_like(x) if dx is None else dx, zeros_like(y) if dy is None else dy)

    def scalar(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return Complex(Real(x), Real(y)).value
