"""Inverse trigonometric and hyperbolic functions and cube roots on vectors of f32 or f64, within 2 units in the last
place everywhere.

Reads: vectors. Writes: arith, math and vector ops. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from xdsl.dialects import math
from xdsl.ir import Operation

from mlirad.lowering.to_loops.lanes import Lanes
from mlirad.lowering.to_loops.vector_math import FORMATS, fast_sum, log_of_sum, quotient, rounded


def _root(square: Lanes, square_low: Lanes) -> tuple[Lanes, Lanes]:
    """The square root of a sum, and what rounding it left out; 0 of 0."""
    root = square.sqrt()
    low = ((-root).times_plus(root, square) + square_low) / (root + root)
    return root, low.where(root.compare("oeq", 0.0), 0.0)


def _square(x: Lanes) -> tuple[Lanes, Lanes]:
    square = x * x
    return square, x.times_plus(x, -square)


def _sum(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x + y, whichever is larger, and what rounding it left out."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


# --- logarithms of sums with roots ------------------------------------------------------------------------------


def _log_with_root(x: Lanes, square: Lanes, square_low: Lanes) -> Lanes:
    """log(x + the square root of a sum); log(2x) for an x whose square is much larger than 1."""
    format = FORMATS[x.width]
    root, root_low = _root(square, square_low)
    total, lost = _sum(x, root)
    is_large = x.compare("ogt", 2.0 ** (format.mantissa // 2 + 3))
    part = ((lost + root_low) / total).where(is_large, 0.0)
    return log_of_sum(total.where(is_large, x), part, x.number(0.0).where(is_large, 1.0))


def asinh(x: Lanes) -> Lanes:
    """log(a + sqrt(a^2 + 1)) for a = |x|: what the sum lost near 1 is what counts there."""
    a = abs(x)
    square, lost = _square(a)
    total, lost_too = _sum(square, x.number(1.0))
    return _log_with_root(a, total, lost + lost_too).with_sign_of(x)


def acosh(x: Lanes) -> Lanes:
    """log(x + sqrt(y^2 + 2y)) for y = x - 1, which is exact near 1."""
    y = x - 1.0
    square, lost = _square(y)
    total, lost_too = fast_sum(y + y, square)
    other, lost_other = fast_sum(square, y + y)
    is_far = y.compare("ogt", 2.0)
    value = _log_with_root(x, total.where(is_far, other), lost + lost_too.where(is_far, lost_other))
    return value.where(x.compare("ult", 1.0), nan)


def atanh(x: Lanes) -> Lanes:
    """log((1 + a) / (1 - a)) / 2 for a = |x|; x itself where that is as good."""
    a = abs(x)
    above, above_low = fast_sum(x.number(1.0), a)
    below, below_low = fast_sum(x.number(1.0), -a)
    ratio, low = quotient(above, above_low, below, below_low)
    ratio = ratio.where(a.compare("oeq", 1.0), inf)
    value = (log_of_sum(ratio, low / ratio) * 0.5).where(a.compare("ogt", 1.0), nan)
    is_small = a.compare("olt", 2.0 ** (-FORMATS[x.width].mantissa // 2 - 2))
    return value.with_sign_of(x).where(is_small, x)


# --- angles -----------------------------------------------------------------------------------------------------


def _arcsine(x: Lanes) -> Lanes:
    """asin(x) - x for |x| <= 1/2."""
    z = x * x
    return x * z * z.polynomial(FORMATS[x.width].table.asin)


def _half_angle(a: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """s = sqrt((1 - a) / 2), what rounding it left out, and asin(s) - s: asin(a) = pi/2 - 2 asin(s)."""
    z = a.times_plus(-0.5, 0.5)
    s, low = _root(z, a.number(0.0))
    return s, low, s * z * z.polynomial(FORMATS[a.width].table.asin)


def asin(x: Lanes) -> Lanes:
    a = abs(x)
    high, low, _ = FORMATS[x.width].table.half_pi
    s, s_low, rest = _half_angle(a)
    first, lost = fast_sum(a.number(high), s * -2.0)
    far = first + (lost + (low - (s_low + rest) * 2.0))
    near = a + _arcsine(a)
    return far.where(a.compare("olt", 0.5), near).with_sign_of(x)


def acos(x: Lanes) -> Lanes:
    a = abs(x)
    high, low, _ = FORMATS[x.width].table.half_pi
    s, s_low, rest = _half_angle(a)
    twice, twice_low = s + s, (s_low + rest) * 2.0
    first, lost = fast_sum(a.number(2.0 * high), -twice)
    of_negative = first + (lost + (2.0 * low - twice_low))
    far = (twice + twice_low).where(x.compare("olt", 0.0), of_negative)
    middle, lost = fast_sum(a.number(high), -x)
    near = middle + (lost + (low - _arcsine(x)))
    return far.where(a.compare("olt", 0.5), near)


def _angle(above: Lanes, below: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """How often pi/4 is in the angle of a slope above/below >= 0 in [0, 1], and atan of the rest, in two parts."""
    table = FORMATS[above.width].table
    is_steep = (below * 0.4142135623730951).compare("olt", above)
    rise, rise_low = _sum(above, -below)
    run, run_low = _sum(above, below)
    zero = above.number(0.0)
    u, low = quotient(
        above.where(is_steep, rise),
        zero.where(is_steep, rise_low),
        below.where(is_steep, run),
        zero.where(is_steep, run_low),
    )
    z = u * u
    return zero.where(is_steep, 1.0), u, (u * z).times_plus(z.polynomial(table.atan), low * (1.0 - z))


def _with_quarters(quarters: Lanes, u: Lanes, rest: Lanes) -> Lanes:
    """quarters * pi/4 + u + rest."""
    high, low, _ = FORMATS[u.width].table.half_pi
    product = quarters * (high * 0.5)
    total, lost = fast_sum(product, u)
    lost = lost + quarters.times_plus(high * 0.5, -product)
    return (total + (lost + quarters.times_plus(low * 0.5, rest))).where(quarters.compare("oeq", 0.0), u + rest)


def atan(x: Lanes) -> Lanes:
    """Of a slope above 1, pi/2 - atan of its inverse."""
    a = abs(x)
    is_large = a.compare("ogt", 1.0)
    one = a.number(1.0)
    is_infinite = a.compare("oeq", inf)
    above = a.where(is_large, one).where(is_infinite, 0.0)
    below = one.where(is_large, a).where(is_infinite, 1.0)
    quarters, u, rest = _angle(above, below)
    quarters = quarters.where(is_large, 2.0 - quarters)
    value = _with_quarters(quarters, u.where(is_large, -u), rest.where(is_large, -rest))
    return value.with_sign_of(x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle in the first half quadrant, turned and mirrored into its own."""
    format = FORMATS[x.width]
    a, b = abs(x), abs(y)
    is_swapped = a.compare("olt", b)
    small, large = b.where(is_swapped, a), a.where(is_swapped, b)
    scale = x.number(1.0).where(large.compare("ogt", 2.0 ** (format.bias - 4)), 2.0**-8)
    scale = scale.where(large.compare("olt", 2.0 ** (10 - format.bias // 2)), 2.0 ** (format.bias // 2))
    small, large = small * scale, large * scale
    is_infinite = large.compare("oeq", inf)
    both = x.number(0.0).where(small.compare("oeq", inf), 1.0)
    small, large = small.where(is_infinite, both), large.where(is_infinite, 1.0)
    large = large.where(large.compare("oeq", 0.0), 1.0)
    quarters, u, rest = _angle(small, large)
    u, rest = u.where(is_swapped, -u), rest.where(is_swapped, -rest)
    quarters = quarters.where(is_swapped, 2.0 - quarters)
    is_left = x.number(1.0).with_sign_of(x).compare("olt", 0.0)
    u, rest = u.where(is_left, -u), rest.where(is_left, -rest)
    value = _with_quarters(quarters.where(is_left, 4.0 - quarters), u, rest).with_sign_of(y)
    return value.where(x.compare("uno", y), nan)


# --- cube roots -------------------------------------------------------------------------------------------------


def cbrt(x: Lanes) -> Lanes:
    """2^q y with y^3 = z for x = 2^(3q) z: y = z t^2 for t = z^(-1/3) by Newton's steps, and one more for y itself."""
    format = FORMATS[x.width]
    a = abs(x)
    lift = format.mantissa + (-format.mantissa % 3)
    is_small = a.compare("olt", format.smallest)
    bits = a.where(is_small, a * 2.0**lift).bits()
    exponent = ((bits >> format.mantissa) | ((format.bias + format.mantissa) << format.mantissa)).floats(x.type)
    exponent = exponent - (2.0**format.mantissa + format.bias)
    third, _ = rounded(exponent, 1.0 / 3.0, format)
    left = third.times_plus(-3.0, exponent)  # -1, 0 or 1
    m = ((bits & ((1 << format.mantissa) - 1)) + format.one).floats(x.type)
    up, down = left.compare("ogt", 0.5), left.compare("olt", -0.5)
    z = m * x.number(1.0).where(up, 2.0).where(down, 0.5)
    t = m.polynomial(format.table.inverse_root) * x.number(1.0).where(up, 2.0 ** (-1 / 3)).where(down, 2.0 ** (1 / 3))
    for _ in range(2 if x.width == 64 else 1):
        t = (t * (1.0 / 3.0)).times_plus((-z * t).times_plus(t * t, 1.0), t)
    square = t * t
    y = z * square
    cube, low = _square(y)
    error = cube.times_plus(y, -z) + low * y
    y = (error * (-1.0 / 3.0)).times_plus(square, y)
    third = third.where(is_small, third - lift / 3)
    power = (rounded(third, 1.0, format)[1] << format.mantissa) + format.one
    value = (y * power.floats(x.type)).where(a.compare("oeq", 0.0), 0.0).where(a.compare("oeq", inf), inf)
    return value.where(x.compare("uno", x), x).with_sign_of(x)


INVERSES: dict[type[Operation], Callable[..., Lanes]] = {
    math.AsinOp: lambda _, x: asin(x),
    math.AcosOp: lambda _, x: acos(x),
    math.AtanOp: lambda _, x: atan(x),
    math.Atan2Op: lambda _, y, x: atan2(y, x),
    math.AsinhOp: lambda _, x: asinh(x),
    math.AcoshOp: lambda _, x: acosh(x),
    math.AtanhOp: lambda _, x: atanh(x),
    math.CbrtOp: lambda _, x: cbrt(x),
}
"""What replaces a function."""
