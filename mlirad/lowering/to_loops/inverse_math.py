"""Inverse trigonometric and hyperbolic functions and cube roots on vectors of f32 or f64, everywhere within 2 units in
the last place.

Reads: vectors. Writes: arith, math and vector ops. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from xdsl.dialects import math
from xdsl.ir import Operation

from mlirad.lowering.to_loops.lanes import Lanes, if_usual, in_all_lanes
from mlirad.lowering.to_loops.vector_math import FORMATS, Format, fast_sum, log_of_normal, log_of_sum, quotient


def _root(square: Lanes, square_low: Lanes) -> tuple[Lanes, Lanes]:
    """The square root of a sum, and its rounding error; 0 for 0."""
    root = square.sqrt()
    low = ((-root).times_plus(root, square) + square_low) / (root + root)
    return root, low.where(root.compare("oeq", 0.0), 0.0)


def _square(x: Lanes) -> tuple[Lanes, Lanes]:
    square = x * x
    return square, x.times_plus(x, -square)


def _sum(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x + y, whichever is larger, and its rounding error."""
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
    """log(a + sqrt(a^2 + 1)) for a = |x|; the rounding error of the sum matters near 1."""
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
    """log((1 + a) / (1 - a)) / 2 for a = |x|; x itself if that is as accurate."""
    a = abs(x)
    above, above_low = fast_sum(x.number(1.0), a)
    below, below_low = fast_sum(x.number(1.0), -a)
    ratio, low = quotient(above, above_low, below, below_low)
    near_inverse = a.times_plus(a.times_plus(1 / 3, -5 / 6), 1.0)  # 1 / above, accurate enough for the rounding error
    value = log_of_normal(ratio, a.number(0.0), low * (below * near_inverse)) * 0.5
    value = a.number(nan).where(a.compare("oeq", 1.0), inf).where(a.compare("olt", 1.0), value)
    is_small = a.compare("olt", 2.0 ** (-FORMATS[x.width].mantissa // 2 - 2))
    return value.with_sign_of(x).where(is_small, x)


# --- angles -----------------------------------------------------------------------------------------------------


def _arcsine(x: Lanes) -> Lanes:
    """asin(x) - x for |x| <= 1/2."""
    z = x * x
    return x * z * z.polynomial(FORMATS[x.width].table.asin)


def _half_angle(a: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """s = sqrt((1 - a) / 2), its rounding error, and asin(s) - s: asin(a) = pi/2 - 2 asin(s)."""
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
    """The number of pi/4 in the angle of a slope above/below in [0, 1], and atan of the remainder, in two parts.

    In f32 a longer polynomial costs less than subtracting pi/4.
    """
    table = FORMATS[above.width].table
    zero = above.number(0.0)
    if above.width == 32:
        inverse = 1.0 / below
        u = above * inverse
        z = u * u
        low = (-u).times_plus(below, above) * inverse
        rest = z.times_plus(z.polynomial(table.atan[1:]), table.atan[0])  # to reduce cancellation
        return zero, u, (u * z).times_plus(rest, low * z.times_plus(-0.5, 1.0))
    is_steep = (below * 0.4142135623730951).compare("olt", above)
    rise, rise_low = _sum(above, -below)
    run, run_low = _sum(above, below)
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
    """For a slope above 1: pi/2 - atan of its inverse."""
    steepest = 2.0 ** (FORMATS[x.width].mantissa + 10)
    a = abs(x).where(abs(x).compare("ogt", steepest), steepest)
    is_large = a.compare("ogt", 1.0)
    one = a.number(1.0)
    quarters, u, rest = _angle(a.where(is_large, one), one.where(is_large, a))
    quarters = quarters.where(is_large, 2.0 - quarters)
    value = _with_quarters(quarters, u.where(is_large, -u), rest.where(is_large, -rest))
    return value.with_sign_of(x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle in the first octant, rotated and reflected into its own octant."""
    format = FORMATS[x.width]
    a, b = abs(x), abs(y)
    is_swapped = a.compare("olt", b)
    small, large = b.where(is_swapped, a), a.where(is_swapped, b)
    low, high = 2.0 ** (10 - format.bias // 2), 2.0 ** (format.bias - 4)
    is_usual = in_all_lanes(x.builder, large.compare("ogt", low), large.compare("olt", high))
    small, large = if_usual(is_usual, [small, large], lambda: _to_usual_size(small, large, low, high))
    quarters, u, rest = _angle(small, large)
    u, rest = u.where(is_swapped, -u), rest.where(is_swapped, -rest)
    quarters = quarters.where(is_swapped, 2.0 - quarters)
    is_left = x.number(1.0).with_sign_of(x).compare("olt", 0.0)
    u, rest = u.where(is_left, -u), rest.where(is_left, -rest)
    value = _with_quarters(quarters.where(is_left, 4.0 - quarters), u, rest).with_sign_of(y)
    return value.where(x.compare("uno", y), nan)


def _to_usual_size(small: Lanes, large: Lanes, low: float, high: float) -> tuple[Lanes, Lanes]:
    """Numbers of usual size with the same ratio: 1 for infinities, 0 for zeros."""
    scale = large.number(1.0).where(large.compare("ogt", high), 2.0**-8).where(large.compare("olt", low), 1.0 / low)
    small, large = small * scale, large * scale
    is_infinite = large.compare("oeq", inf)
    both = large.number(0.0).where(small.compare("oeq", inf), 1.0)
    small, large = small.where(is_infinite, both), large.where(is_infinite, 1.0)
    return small, large.where(large.compare("oeq", 0.0), 1.0)


# --- cube roots -------------------------------------------------------------------------------------------------


def cbrt(x: Lanes) -> Lanes:
    """a t^2 for a = |x| and t = a^(-1/3), by Newton's method, with one more step for the root itself."""
    format = FORMATS[x.width]
    a = abs(x)
    is_usual = in_all_lanes(x.builder, a.compare("ogt", _least_with_low_bits(format)), a.compare("olt", inf))
    a, scale = if_usual(is_usual, [a, x.number(1.0)], lambda: _lifted_for_root(a))
    t = _near_inverse_root(a)
    for coefficients in (format.table.inverse_root, (1.0 / 3.0,))[: 2 if x.width == 64 else 1]:
        error = (-(a * t)).times_plus(t * t, 1.0)
        t = (t * error).times_plus(error.polynomial(coefficients), t)
    y = (a * t) * t
    cube, low = _square(y)
    error = cube.times_plus(y, -a) + low * y
    value = ((error * (-1.0 / 3.0)).times_plus(t * t, y) * scale).with_sign_of(x)
    return if_usual(is_usual, [value], lambda: [_itself_at_the_ends(x, value)])[0]


def _lifted_for_root(a: Lanes) -> tuple[Lanes, Lanes]:
    """a times a cube that makes all its bits normal, and the factor for the root."""
    format = FORMATS[a.width]
    lift = 2 * (format.mantissa + (-format.mantissa % 3))
    is_small = a.compare("olt", _least_with_low_bits(format))
    return a.where(is_small, a * 2.0**lift), a.number(1.0).where(is_small, 2.0 ** -(lift // 3))


def _least_with_low_bits(format: Format) -> float:
    """From this number on, the rounding error of a product is normal."""
    return format.smallest * 2.0 ** (format.mantissa + 4)


def _near_inverse_root(a: Lanes) -> Lanes:
    """a^(-1/3) within 3.5 %: the bits of a number approximate its logarithm."""
    format = FORMATS[a.width]
    kept = 20 if a.width == 64 else 12
    shift, one = format.mantissa - kept, 2.0**kept
    logarithm = ((a.bits() >> shift) | ((format.bias + format.mantissa) << format.mantissa)).floats(a.type)
    from_it = format.shifter + 2.0**format.mantissa / 3.0 + one * (format.bias * 4.0 / 3.0 - 0.068)
    return (logarithm.times_plus(-1.0 / 3.0, from_it).bits() << shift).floats(a.type)


def _itself_at_the_ends(x: Lanes, value: Lanes) -> Lanes:
    """The value, or x itself where x is 0, infinite or nan."""
    return x.where(abs(x).compare("olt", inf), value).where(x.compare("oeq", 0.0), x)


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
"""The replacement of each function."""
