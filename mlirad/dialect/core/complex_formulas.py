"""Functions of complex numbers, as formulas in upstream ops on the real and imaginary parts.

Results for infinities and nan follow Annex G of the C standard, as in NumPy. Functions of 32-bit parts are computed in
64 bits, arithmetic in 32.

Reads: scalars. Writes: arith and math ops. Leaves: nothing.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable
from functools import wraps

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.scalars import Complex, Real, any_of, both

_INFINITY = pymath.inf
_LARGEST_EXP = 709.0


def in_double(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """Compute the function in 64 bits, and round the result once."""

    @wraps(function)
    def rounded(z: Complex) -> Complex:
        return function(z.in_parts(types.F64)).in_parts(z.re.value.type)

    return rounded


def divide(x: Complex, y: Complex) -> Complex:
    """x / y by Smith's method, in NumPy's order of operations."""
    is_turned = abs(y.re) < abs(y.im)
    larger, smaller = y.re.where(is_turned, y.im), y.im.where(is_turned, y.re)
    ratio = smaller / larger
    scale = 1.0 / (larger + smaller * ratio)
    first = Complex(x.re + x.im * ratio, x.im - x.re * ratio)
    second = Complex(x.re * ratio + x.im, x.im * ratio - x.re)
    top = first.where(is_turned, second)
    quotient = Complex(top.re * scale, top.im * scale)
    by_zero = Complex(x.re / abs(y.re), x.im / abs(y.re))
    return quotient.where(y.is_zero(), by_zero)


def hypot(x: Real, y: Real) -> Real:
    """sqrt(x**2 + y**2), without overflow; inf if either is infinite, even if the other is nan."""
    type = x.value.type
    if type != types.F64:
        radius = _root_of_squares(x.in_type(types.F64), y.in_type(types.F64)).in_type(type)
    else:
        larger = abs(x).function(arith.MaximumfOp, abs(y))
        one, up, down = (Real.number(scale) for scale in (1.0, 2.0**600, 2.0**-600))
        is_large, is_small = larger > 2.0**511, larger < 2.0**-459
        scale = one.where(is_small, up).where(is_large, down)
        back = one.where(is_small, down).where(is_large, up)
        radius = _root_of_squares(x * scale, y * scale) * back
    return radius.where(any_of(_is_infinite(x), _is_infinite(y)), _INFINITY)


def _root_of_squares(x: Real, y: Real) -> Real:
    return (x * x + y * y).sqrt()


def _is_infinite(x: Real) -> SSAValue:
    return abs(x).equals(_INFINITY)


def _is_odd(y: Real) -> SSAValue:
    """Whether an angle has no cosine."""
    return any_of(_is_infinite(y), y.is_nan())


def angle(z: Complex) -> Real:
    return z.im.function(math.Atan2Op, z.re)


@in_double
def exp(z: Complex) -> Complex:
    """e**x (cos y + i sin y); for large x a product of two factors."""
    is_large = z.re > _LARGEST_EXP
    size, factor = (
        z.re.where(is_large, z.re - _LARGEST_EXP).exp(),
        z.re.like(1.0).where(is_large, pymath.exp(_LARGEST_EXP)),
    )
    cosine, sine = z.im.function(math.CosOp), z.im.function(math.SinOp)
    found = Complex(size * cosine * factor, (size * sine * factor).where(z.im.equals(0.0), z.im))
    # Of -inf + i inf or -inf + i nan: 0; of inf + i inf or inf + i nan: inf + i nan.
    is_odd = _is_odd(z.im)
    zero = z.re.like(0.0)
    found = found.where(both(is_odd, z.re.equals(-_INFINITY)), Complex(zero, zero))
    return Complex(found.re.where(both(is_odd, z.re.equals(_INFINITY)), _INFINITY), found.im)


@in_double
def log(z: Complex) -> Complex:
    """log |z| + i arg z; |z| is the larger part times sqrt(1 + ratio**2)."""
    x, y = abs(z.re), abs(z.im)
    larger, smaller = x.function(arith.MaximumfOp, y), x.function(arith.MinimumfOp, y)
    has_infinity = any_of(_is_infinite(x), _is_infinite(y))
    ratio = (smaller / larger).where(larger.equals(0.0), 0.0)
    size = larger.log() + 0.5 * (ratio * ratio).function(math.Log1pOp)
    return Complex(size.where(has_infinity, _INFINITY), angle(z))


@in_double
def sqrt(z: Complex) -> Complex:
    """The root with a non-negative real part; scaled if squares would overflow or underflow."""
    x, y = z.re, z.im
    larger = abs(x).function(arith.MaximumfOp, abs(y))
    is_large, is_small = larger > 2.0**1000, larger < 2.0**-960
    scale = x.like(1.0).where(is_large, 2.0**-4).where(is_small, 2.0**108)
    back = x.like(1.0).where(is_large, 2.0**2).where(is_small, 2.0**-54)
    a, b = x * scale, y * scale
    root = ((abs(a) + hypot(a, b)) * 0.5).sqrt()
    other = b / (root * 2.0)
    is_negative = x < 0.0
    re = root.where(is_negative, abs(other)) * back
    im = other.where(is_negative, root.with_sign_of(y)) * back
    zero = z.is_zero()
    re, im = re.where(zero, 0.0), im.where(zero, y)
    is_vertical = _is_infinite(y)
    return Complex(re.where(is_vertical, _INFINITY), im.where(is_vertical, y))


def _circular(y: Real) -> tuple[Real, Real]:
    return y.function(math.CosOp), y.function(math.SinOp)


def _hyperbolic(x: Real) -> tuple[Real, Real, Real]:
    """cosh x and sinh x, both to be multiplied by the third number, which avoids early overflow."""
    is_large = abs(x) > _LARGEST_EXP
    size = (abs(x) - _LARGEST_EXP).exp() * 0.5
    small = x.where(is_large, 0.0)
    cosh = small.function(math.CoshOp).where(is_large, size)
    sinh = small.function(math.SinhOp).where(is_large, size.with_sign_of(x))
    return cosh, sinh, x.like(1.0).where(is_large, pymath.exp(_LARGEST_EXP))


@in_double
def sinh(z: Complex) -> Complex:
    (cosh_x, sinh_x, factor), (cosine, sine) = _hyperbolic(z.re), _circular(z.im)
    re = (sinh_x * cosine * factor).where(z.re.equals(0.0), z.re * z.re.like(1.0).with_sign_of(cosine))
    im = (cosh_x * sine * factor).where(z.im.equals(0.0), z.im)
    return Complex(re.where(both(_is_infinite(z.re), _is_odd(z.im)), _INFINITY), im)


@in_double
def cosh(z: Complex) -> Complex:
    (cosh_x, sinh_x, factor), (cosine, sine) = _hyperbolic(z.re), _circular(z.im)
    re = (cosh_x * cosine * factor).where(both(_is_infinite(z.re), _is_odd(z.im)), _INFINITY)
    zero = z.re.like(0.0).with_sign_of(z.re) * z.re.like(1.0).with_sign_of(sine)
    im = (sinh_x * sine * factor).where(any_of(z.re.equals(0.0), z.im.equals(0.0)), zero)
    return Complex(re, im)


@in_double
def tanh(z: Complex) -> Complex:
    """Kahan's formula; for |x| > 22 its limit, in which only e**(-2|x|) remains."""
    x, y = z.re, z.im
    is_far = abs(x) > 22.0
    near = x.where(is_far, 0.0)
    slope, size = y.function(math.TanOp), near.function(math.SinhOp)
    beta = 1.0 + slope * slope
    rho = (1.0 + size * size).sqrt()
    below = 1.0 + beta * size * size
    found = Complex((beta * rho * size / below).where(x.equals(0.0), x), slope / below)
    cosine, sine = _circular(y)
    tail = (4.0 * sine * cosine * (abs(x) * -2.0).exp()).where(_is_infinite(x), 0.0)
    found = found.where(is_far, Complex(x.like(1.0).with_sign_of(x).where(tail.is_nan(), tail), tail))
    return Complex(found.re, found.im.where(y.equals(0.0), y))


def times_i(z: Complex) -> Complex:
    return Complex(-z.im, z.re)


def times_minus_i(z: Complex) -> Complex:
    return Complex(z.im, -z.re)


def sin(z: Complex) -> Complex:
    return times_minus_i(sinh(times_i(z)))


def cos(z: Complex) -> Complex:
    return cosh(times_i(z))


def tan(z: Complex) -> Complex:
    return times_minus_i(tanh(times_i(z)))


def power(x: Complex, y: Complex) -> Complex:
    """exp(y log x); 1 if y is 0. If x is 0: 0 for a positive real y, else nan."""
    type = x.re.value.type
    base, exponent = x.in_parts(types.F64), y.in_parts(types.F64)
    found = exp(exponent * log(base))
    zero, one, nan = (base.re.like(value) for value in (0.0, 1.0, pymath.nan))
    is_positive = both(exponent.re > 0.0, exponent.im.equals(0.0))
    of_zero = Complex(nan.where(is_positive, zero), nan.where(is_positive, zero))
    found = found.where(base.is_zero(), of_zero).where(exponent.is_zero(), Complex(one, zero))
    return found.in_parts(type)
