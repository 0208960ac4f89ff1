"""Python's functions of numbers: float(), int(), abs, pow, divmod, and the functions of the module math.

Reads: values, at least one of them traced. Writes: nd ops. Leaves: weak numbers, unless NumPy's operators decide.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import apply, emit
from mlirad.dialect.core.registry import spelled
from mlirad.dialect.functions.complex_parts import ComplexOp, ImagOp, RealOp
from mlirad.dialect.functions.float_parts import ScaleOp
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.errors import DTypeError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy import declarations, numpy_elementwise
from mlirad.frontend.numpy.declarations import compiles, declare
from mlirad.frontend.numpy.numpy_power import power
from mlirad.frontend.numpy.numpy_shapes import flat, part
from mlirad.frontend.numpy.python_integers import converted
from mlirad.frontend.program.caught_exceptions import is_caught
from mlirad.frontend.values import nep50
from mlirad.frontend.values.assignment import check_integral
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.traced import Number, Traced, as_traced, origins_of, require_static

# Functions of math without an op of their own, as NumPy functions of Python floats.
for _function, _ufunc in (
    *((math.sqrt, np.sqrt), (math.fabs, np.absolute), (math.isnan, np.isnan), (math.isinf, np.isinf)),
    *((math.isfinite, np.isfinite), (math.radians, np.radians), (math.degrees, np.degrees)),
):
    declare(_function, of_operands=partial(numpy_elementwise.call, _ufunc))


def _number(x: Any) -> Traced:
    """x, if it has rank 0 and is real. Raises DTypeError with NumPy's text."""
    value = _number_of_any_kind(x)
    if value.kind is complex:
        raise DTypeError("must be real number, not complex", hint="use z.real, or abs(z)")
    return value


def _number_of_any_kind(x: Any) -> Traced:
    value = as_traced(x)
    if value.ndim:
        hint = "functions of NumPy take arrays, those of Python and math take numbers: np.sin(x), x.astype(float)"
        raise DTypeError("only 0-dimensional arrays can be converted to Python scalars", hint=hint)
    return value


@compiles(complex)
def to_complex(real: Any = 0.0, imag: Any = None) -> Traced:
    """`complex(x, y)`, which is x + 1j * y, even for complex numbers."""
    x = cast_expr(_number_of_any_kind(real).scalar, types.C128)
    if imag is None:
        return Traced(x, weak=True, origins=origins_of(real))
    other = _number_of_any_kind(imag)
    if as_traced(real).kind is not complex and other.kind is not complex:
        found = emit(ComplexOp, cast_expr(x, types.F64), cast_expr(other.scalar, types.F64))
    else:
        y = cast_expr(other.scalar, types.C128)
        parts = [emit(part, each) for each in (x, y) for part in (RealOp, ImagOp)]
        found = emit(ComplexOp, parts[0] - parts[3], parts[1] + parts[2])
    return Traced(found, weak=True, origins=origins_of(real, imag))


@compiles(float)
def to_float(x: Any = 0.0) -> Traced:
    value = _number(x)
    return Traced(cast_expr(value.scalar, types.F64), weak=True, origins=origins_of(value))


@compiles(int)
def to_int(x: Any = 0) -> Traced:
    value = _number(x)
    expr = value.scalar
    if types.is_float(expr.type):
        check_integral(expr)
        expr = cast_expr(expr, types.I64)
    return Traced(converted(expr), weak=True, origins=origins_of(value))


@compiles(math.floor)
def floor(x: Any) -> Traced:
    return _integer_near(np.floor, x)


@compiles(math.ceil)
def ceil(x: Any) -> Traced:
    return _integer_near(np.ceil, x)


@compiles(math.trunc)
def trunc(x: Any) -> Traced:
    if isinstance(x, Traced) and not x.weak and (x.is_array or x.dtype != np.float64):
        raise DTypeError(f"type numpy.{'ndarray' if x.is_array else x.dtype} doesn't define __trunc__ method")
    return _integer_near(np.trunc, x)


def _integer_near(ufunc: np.ufunc, x: Any) -> Traced:
    """A number as a Python int; a Python int is not rounded, however large it is."""
    value = _number(x)
    return to_int(numpy_elementwise.call(ufunc, value) if types.is_float(value.scalar.type) else value)


@compiles(method="item")
def item(x: Traced, *args: Any) -> Traced:
    """`x.item()`: a Python number. A single index counts the elements in row-major order."""
    require_static(args, "the index of .item()")
    named = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if any(isinstance(each, bool | np.bool_) for each in named):
        raise DTypeError("an integer is required")
    with numpys_refusal():
        index = tuple(map(operator.index, named))
    if len(index) not in (0, 1, x.ndim):
        raise StaticValueError("incorrect number of indices for array")
    value = Traced(part(flat(x) if len(index) == 1 != x.ndim else x, index)) if index else x
    if value.size != 1:
        raise StaticValueError("can only convert an array of size 1 to a Python scalar")
    element = value.scalar if not value.ndim else part(value, (0,) * value.ndim)
    if value.kind is int:
        return Traced(converted(element), weak=True, origins=origins_of(x))
    dtype = nep50.weak_dtype(value.kind)
    return Traced(cast_expr(element, types.from_dtype(dtype)), weak=True, origins=origins_of(x))


@compiles(abs)
def absolute(x: Any) -> Any:
    return abs(as_traced(x))


@compiles(pow)
def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is not None:
        raise UnsupportedSyntaxError("pow() with a modulus is not supported")
    return operator.pow(base, exp)


@compiles(divmod)
def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    return operator.floordiv(x, y), operator.mod(x, y)


def math_function(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """A function of the module math on traced numbers: it takes and returns Python floats, or tuples of them."""
    made = declarations.of(function).of_operands
    if made is None:
        op_class = spelled().get(function)
        if op_class is None:
            return None
        ufunc = next((each for each in op_class.spellings if isinstance(each, np.ufunc)), None)
        made = (
            partial(numpy_elementwise.of_floats, op_class) if ufunc is None else partial(numpy_elementwise.call, ufunc)
        )

    def of_numbers(*xs: Any) -> Any:
        found = made(*(to_float(x) for x in xs))
        return tuple(map(_weak, found)) if isinstance(found, tuple) else _weak(found)

    return of_numbers


@compiles(math.pow)
def _pow(x: Any, y: Any) -> Traced:
    return _weak(power(to_float(x), to_float(y)))


@compiles(math.hypot)
def _hypot(*coordinates: Any) -> Traced:
    radius, *others = map(to_float, coordinates)
    radius = numpy_elementwise.call(np.absolute, radius)
    for other in others:
        radius = numpy_elementwise.call(np.hypot, radius, other)
    return _weak(radius)


@compiles(math.log)
def _log(x: Any, base: Any = None) -> Traced:
    natural = numpy_elementwise.call(np.log, to_float(x))
    if base is None:
        return _weak(natural)
    return _weak(Traced(apply(np.divide, natural.expr, numpy_elementwise.call(np.log, to_float(base)).expr)))


@compiles(math.frexp)
def _frexp(x: Any) -> tuple[Traced, Traced]:
    mantissa, exponent = numpy_elementwise.call(np.frexp, to_float(x))
    return _weak(mantissa), to_int(exponent)


@compiles(math.ldexp)
def _ldexp(x: Any, i: Any) -> Traced:
    return _weak(Traced(emit(ScaleOp, to_float(x).expr, to_float(to_int(i)).expr), origins=origins_of(x, i)))


def _weak(x: Traced) -> Traced:
    return Traced(x.expr, weak=True, origins=x.origins)


_POLES = (math.log, math.log2, math.log10, math.log1p, math.atanh, math.pow)
"""Functions that are infinite only where they are not defined; the others overflow."""


def check_as_python(function: Any, args: Sequence[Any], result: Any) -> None:
    """Raise as Python does if a function of the module math is not defined, or overflows, and a handler catches it."""
    if getattr(function, "__module__", None) != "math" or not isinstance(result, Traced) or result.kind is not float:
        return
    operands = [to_float(x).expr for x in args if isinstance(x, Traced | Number)]
    if not operands or len(operands) != len(args):
        return
    value = result.expr
    is_nan, is_infinite = value != value, apply(np.absolute, value) == np.inf
    comes_from_nan, comes_from_infinite = (
        reduce(operator.or_, (test(x) for x in operands))
        for test in (lambda x: x != x, lambda x: apply(np.absolute, x) == np.inf)
    )
    fails = is_nan & ~comes_from_nan
    overflows = is_infinite & ~comes_from_infinite
    if function in _POLES:
        fails = fails | overflows
    for ok, kind, message in (
        (~fails, ValueError, "math domain error"),
        (~overflows, OverflowError, "math range error"),
    ):
        if is_caught(kind):
            check(ok, kind.__name__, message)
