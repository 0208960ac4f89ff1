"""NumPy's elementwise functions: the ops that compute them, with NumPy's promotion and broadcasting.

Reads: Traced values and numbers. Writes: nd ops. Leaves: Traced values, scalars where all operands have rank 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from mlirad.dialect import nd
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, emit, emit_all, where
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.registry import TypedOp, spelled
from mlirad.dialect.functions.bessel import BesselIeOp, BesselIOp, BesselJOp, BesselKeOp, BesselKOp, BesselYOp
from mlirad.dialect.functions.complex_parts import ConjOp, ImagOp, ModulusOp, RealOp
from mlirad.dialect.functions.float_parts import ExponentOp, ScaleOp
from mlirad.dialect.functions.gammas import PolygammaOp
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.errors import DTypeError, StaticOverflowError, UnsupportedSyntaxError
from mlirad.frontend.numpy import declarations
from mlirad.frontend.numpy.declarations import declare, operates
from mlirad.frontend.numpy.numpy_power import power
from mlirad.frontend.numpy.undecided_numbers import settled
from mlirad.frontend.values import nep50
from mlirad.frontend.values.sizes import Shape, broadcast_shapes, filled
from mlirad.frontend.values.traced import (
    Number,
    Traced,
    as_operand,
    in_type,
    is_python_number,
    origins_of,
    shape_of,
    stand_in,
)
from mlirad.library import primitives

assert nd.Nd.name == "nd"  # all families have registered their ops now

_BOOL = np.dtype(bool)
COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
# Arithmetic on two bools, where NumPy has it.
OF_BOOLS = {np.add: np.logical_or, np.multiply: np.logical_and}
# The bitwise operators on bools.
BITWISE = {
    np.bitwise_and: np.logical_and,
    np.bitwise_or: np.logical_or,
    np.bitwise_xor: np.not_equal,
    np.invert: np.logical_not,
}


@cache
def op_of(ufunc: np.ufunc) -> type[NdOp] | None:
    """The elementwise op that computes a ufunc."""
    op_class = spelled().get(ufunc)
    return op_class if op_class is not None and issubclass(op_class, ElementwiseOp) else None


def is_supported(function: Any) -> bool:
    return isinstance(function, np.ufunc) and bool(declarations.of(function).of_operands or op_of(function))


def call(ufunc: np.ufunc, *operands: Any) -> Any:
    """`ufunc(*operands)`, at least one of them traced."""
    values = tuple(as_operand(operand) for operand in operands)
    if len(values) != ufunc.nin:
        raise DTypeError(f"{ufunc.__name__}() takes {ufunc.nin} positional arguments but {len(values)} were given")
    if ufunc in COMPARISONS:
        return _compare(ufunc, *values)
    special = declarations.of(ufunc).of_operands
    return special(*values) if special is not None else _by_op(ufunc, *values)


def in_loop_of(ufunc: np.ufunc, operands: Sequence[Any], dtype: Any, casting: str) -> tuple[Traced, ...]:
    """The operands in the dtypes of the loop that `dtype=` and `casting=` request. Raises NumPy's errors."""
    values = [as_operand(operand) for operand in operands]
    asked = None if dtype is None else nep50.dtype_of(dtype)
    loop = nep50.loop_dtypes(ufunc, [stand_in(value) for value in values], asked, casting)
    return tuple(Traced(in_type(value, own, shape_of(value))) for value, own in zip(values, loop, strict=False))


def require_mask(mask: Any) -> None:
    """`where=` of a ufunc, which must be bools. Raises DTypeError."""
    value = as_operand(mask)
    own = nep50.strong(stand_in(value))
    if own != _BOOL and not is_python_number(value):
        raise DTypeError(f"Cannot cast array data from {own!r} to {_BOOL!r} according to the rule 'safe'")


def _by_op(ufunc: np.ufunc, *values: Traced | Number) -> Traced | tuple[Traced, ...]:
    op_class = op_of(ufunc)
    if op_class is None:
        raise UnsupportedSyntaxError(f"np.{ufunc.__name__} is not supported")
    dtypes = nep50.loop_dtypes(ufunc, [stand_in(value) for value in values])
    shape = broadcast_shapes(*map(shape_of, values))
    exprs = [in_type(value, dtype, shape) for value, dtype in zip(values, dtypes, strict=False)]
    if dtypes[0] == _BOOL and ufunc in OF_BOOLS:
        return result(apply(OF_BOOLS[ufunc], *exprs), *values)
    found = tuple([result(expr, *values) for expr in emit_all(op_class, *exprs)])
    return found if ufunc.nout > 1 else found[0]


def of_floats(op_class: type[TypedOp], x: Traced | Number, **attributes: Any) -> Traced:
    """A function of floats that NumPy lacks, in the dtype that np.exp would compute in."""
    (expr,), _ = in_loop(np.exp, x)
    return result(emit(op_class, expr, **attributes), x)


_OF_ORDER: dict[Callable[..., Any], type[TypedOp]] = {
    primitives.polygamma: PolygammaOp,
    primitives.bessel_j: BesselJOp,
    primitives.bessel_y: BesselYOp,
    primitives.bessel_i: BesselIOp,
    primitives.bessel_ie: BesselIeOp,
    primitives.bessel_k: BesselKOp,
    primitives.bessel_ke: BesselKeOp,
}


def _of_order(op_class: type[TypedOp], order: int, x: Any) -> Traced:
    return of_floats(op_class, x, order=operator.index(order))


for _primitive, _op_class in _OF_ORDER.items():
    declare(_primitive, of_values=partial(_of_order, _op_class))


def result(expr: Expr, *values: Any) -> Traced:
    """A result computed by NumPy's rules: strong, with the origins of `values`."""
    return Traced(expr, origins=origins_of(*values))


# --- comparisons ------------------------------------------------------------------------------------------------


def _compare(ufunc: np.ufunc, x: Traced | Number, y: Traced | Number) -> Traced:
    """A relation of any two numbers: exact even between signed and unsigned, and for Python ints of any size."""
    x, y = settled(ufunc, x, y)
    shape = broadcast_shapes(shape_of(x), shape_of(y))
    first, second, _ = nep50.loop_dtypes(ufunc, [stand_in(x), stand_in(y)])
    first, second = _exact_types(x, first, y, second)
    signs = (_sign_beyond(x, first), _sign_beyond(y, second))
    if signs != (0, 0):
        known = bool(ufunc(*signs))  # if one is out of the other's range, its sign decides
        return result(filled(known, shape, types.I1), x, y)
    exprs = in_type(x, first, shape), in_type(y, second, shape)
    return result(apply(ufunc, *exprs) if first == second else _compare_signs(ufunc, *exprs), x, y)


def _exact_types(
    x: Traced | Number, first: np.dtype, y: Traced | Number, second: np.dtype
) -> tuple[np.dtype, np.dtype]:
    """A traced Python int is compared as an int64, whatever the other integers are."""
    for value, dtype in ((x, first), (y, second)):
        if isinstance(value, Traced) and value.weak and value.kind is int and dtype.kind in "iu":
            wide = np.dtype(np.int64)
            other = second if value is x else first
            other = other if other == np.uint64 else wide
            return (wide, other) if value is x else (other, wide)
    return first, second


def _sign_beyond(value: Traced | Number, dtype: np.dtype) -> int:
    """The sign of a Python int that is out of an integer dtype's range, else 0."""
    if isinstance(value, Traced) or not is_python_number(value) or dtype.kind not in "iu":
        return 0
    try:
        nep50.convert(value, dtype)
    except StaticOverflowError:
        assert isinstance(value, int)
        return 1 if value > 0 else -1
    return 0


def _compare_signs(ufunc: np.ufunc, x: Expr, y: Expr) -> Expr:
    """A relation of an int64 and a uint64: compared as uint64, except that a negative number is less than all."""
    unsigned = types.from_dtype(np.dtype(np.uint64))
    signed = x if y.element == unsigned else y
    same = apply(ufunc, cast_expr(x, unsigned), cast_expr(y, unsigned))
    signs = (-1, 0) if signed is x else (0, -1)
    return where(signed < 0, bool(ufunc(*signs)), same)


# --- ufuncs made of a few ops -----------------------------------------------------------------------------------


def in_loop(ufunc: np.ufunc, *values: Traced | Number) -> tuple[list[Expr], np.dtype]:
    """The operands of a ufunc, broadcast and cast to the dtypes it computes in; and the dtype of its result."""
    *dtypes, last = nep50.loop_dtypes(ufunc, [stand_in(value) for value in values])
    shape = broadcast_shapes(*map(shape_of, values))
    return [in_type(value, dtype, shape) for value, dtype in zip(values, dtypes, strict=True)], last


@operates(np.square)
def _square(x: Traced | Number) -> Traced:
    (expr,), _ = in_loop(np.square, x)
    return result(expr * expr, x)


def _unchanged(ufunc: np.ufunc) -> Callable[..., Traced]:
    def of_numbers(x: Traced | Number) -> Traced:
        (expr,), _ = in_loop(ufunc, x)
        return result(expr, x)

    return of_numbers


@operates(np.conjugate)
def _conjugate(x: Traced | Number) -> Traced:
    """The number itself, if it is real."""
    (expr,), dtype = in_loop(np.conjugate, x)
    return result(emit(ConjOp, expr) if dtype.kind == "c" else expr, x)


@operates(np.reciprocal)
def _reciprocal(x: Traced | Number) -> Traced:
    (expr,), dtype = in_loop(np.reciprocal, x)
    if dtype.kind in "fc":
        return result(1.0 / expr, x)
    with np.errstate(all="ignore"):
        of_zero = np.reciprocal(np.zeros(1, dtype))[0]
    of_others = where(expr == 1, expr, 0) if dtype.kind == "u" else where(apply(np.absolute, expr) == 1, expr, 0)
    return result(where(expr == 0, of_zero, of_others), x)


@operates(np.ldexp)
def _ldexp(x: Traced | Number, n: Traced | Number) -> Traced:
    """The exponent as a float: beyond 2**24 the result is 0 or inf, whether the exponent is rounded or not."""
    (expr, exponent), _ = in_loop(np.ldexp, x, n)
    return result(emit(ScaleOp, expr, cast_expr(exponent, expr.element)), x, n)


@operates(np.frexp)
def _frexp(x: Traced | Number) -> tuple[Traced, Traced]:
    *dtypes, of_exponent = nep50.loop_dtypes(np.frexp, [stand_in(x)])
    expr = in_type(x, dtypes[0], shape_of(x))
    exponent = emit(ExponentOp, expr)
    return result(emit(ScaleOp, expr, -exponent), x), result(cast_expr(exponent, types.from_dtype(of_exponent)), x)


@operates(np.signbit)
def _signbit(x: Traced | Number) -> Traced:
    (expr,), _ = in_loop(np.signbit, x)
    return result(apply(np.copysign, 1.0, expr) < 0.0, x)


@operates(np.heaviside)
def _heaviside(x: Traced | Number, at_zero: Traced | Number) -> Traced:
    (expr, of_zero), _ = in_loop(np.heaviside, x, at_zero)
    step = where(expr < 0.0, 0.0, where(expr == 0.0, of_zero, 1.0))
    return result(where(expr == expr, step, np.nan), x, at_zero)


def _rounded(ufunc: np.ufunc) -> Callable[..., Traced]:
    """floor, ceil and trunc: integers and bools stay unchanged."""

    def of_numbers(x: Traced | Number) -> Traced:
        (expr,), dtype = in_loop(ufunc, x)
        return result(apply(ufunc, expr) if dtype.kind == "f" else expr, x)

    return of_numbers


@operates(np.absolute)
def _absolute(x: Traced | Number) -> Any:
    if nep50.strong(stand_in(x)).kind == "c":
        (expr,), _ = in_loop(np.absolute, x)
        return result(emit(ModulusOp, expr), x)
    return _positive_bool(x) if stand_in(x) in (bool, _BOOL) else _by_op(np.absolute, x)


def _positive_bool(x: Traced | Number) -> Traced:
    return result(in_type(x, _BOOL, shape_of(x)), x)


def _logical(ufunc: np.ufunc) -> Callable[..., Traced]:
    def of_any(*values: Traced | Number) -> Traced:
        shape = broadcast_shapes(*map(shape_of, values))
        return result(apply(ufunc, *(truths(value, shape) for value in values)), *values)

    return of_any


def truths(x: Traced | Number, shape: Shape) -> Expr:
    """Which elements are not zero."""
    if not isinstance(x, Traced):
        return filled(bool(x), shape, types.I1)
    own = Traced(cast_expr(x.expr, types.I1))
    return in_type(own, _BOOL, shape)


@operates(np.logical_xor)
def _logical_xor(x: Traced | Number, y: Traced | Number) -> Traced:
    shape = broadcast_shapes(shape_of(x), shape_of(y))
    return result(apply(np.not_equal, truths(x, shape), truths(y, shape)), x, y)


def _bitwise(ufunc: np.ufunc) -> Callable[..., Traced]:
    def of_bits(*values: Traced | Number) -> Traced:
        exprs, dtype = in_loop(ufunc, *values)
        return result(apply(BITWISE[ufunc] if dtype == _BOOL else ufunc, *exprs), *values)

    return of_bits


@operates(np.float_power)
def _float_power(x: Traced | Number, y: Traced | Number) -> Traced:
    exprs, _ = in_loop(np.float_power, x, y)
    return result(apply(np.power, *exprs), x, y)


@operates(np.power)
def _power(x: Traced | Number, y: Traced | Number) -> Traced:
    return power(x, y, of_numpy=True)


def _classify(ufunc: np.ufunc, test: Callable[[Expr], Expr], of_integers: bool) -> Callable[..., Traced]:
    """isnan, isinf, isfinite: all integers are finite."""

    def of_numbers(x: Traced | Number) -> Traced:
        (expr,), _ = in_loop(ufunc, x)
        if types.is_complex(expr.type):
            real, imag = (test(emit(part, expr)) for part in (RealOp, ImagOp))
            return result(real & imag if of_integers else real | imag, x)
        if not types.is_float(expr.type):
            return result(filled(of_integers, shape_of(x), types.I1), x)
        return result(test(expr), x)

    return of_numbers


def _scaled(ufunc: np.ufunc, factor: float) -> Callable[..., Traced]:
    def of_numbers(x: Traced | Number) -> Traced:
        (expr,), _ = in_loop(ufunc, x)
        # For float16, compute in float32: the factor would lose its last digits in float16.
        wide = cast_expr(expr, nep50.computed_in(expr.element))
        return result(cast_expr(wide * factor, expr.element), x)

    return of_numbers


@operates(np.divmod)
def _divmod(x: Traced | Number, y: Traced | Number) -> tuple[Traced, Traced]:
    return call(np.floor_divide, x, y), call(np.remainder, x, y)


def _magnitude(x: Expr) -> Expr:
    return apply(np.absolute, x)


for _function, _class in spelled().items():
    if getattr(_function, "__module__", None) == primitives.__name__:
        declare(_function, of_values=partial(of_floats, _class))
declare(np.positive, of_operands=_unchanged(np.positive))
for _ufunc in (np.floor, np.ceil, np.trunc):
    declare(_ufunc, of_operands=_rounded(_ufunc))
for _ufunc in (np.logical_and, np.logical_or, np.logical_not):
    declare(_ufunc, of_operands=_logical(_ufunc))
for _ufunc in BITWISE:
    declare(_ufunc, of_operands=_bitwise(_ufunc))
for _ufunc, _factor in (
    *((np.deg2rad, np.pi / 180.0), (np.radians, np.pi / 180.0)),
    *((np.rad2deg, 180.0 / np.pi), (np.degrees, 180.0 / np.pi)),
):
    declare(_ufunc, of_operands=_scaled(_ufunc, _factor))
declare(np.isnan, of_operands=_classify(np.isnan, lambda x: x != x, False))
declare(np.isinf, of_operands=_classify(np.isinf, lambda x: _magnitude(x) == np.inf, False))
declare(np.isfinite, of_operands=_classify(np.isfinite, lambda x: _magnitude(x) < np.inf, True))
