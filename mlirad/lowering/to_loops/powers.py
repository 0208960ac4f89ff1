"""Powers on vectors of f32 or f64, within a unit in the last place: 2^(y log2 x), the logarithm to twice the precision.

Reads: vectors. Writes: arith, math and vector ops. Leaves: nothing.
"""

from __future__ import annotations

from math import inf, nan

from mlirad.lowering.to_loops.lanes import Lanes
from mlirad.lowering.to_loops.vector_math import FORMATS, bounded, exp2_of_sum, fast_sum, quotient, reduced


def power(x: Lanes, y: Lanes) -> Lanes:
    """C's pow: 1 if x is 1 or y is 0, even if the other is nan; the sign of x counts if y is odd."""
    a = abs(x)
    is_infinite = a.compare("oeq", inf)
    high, low = _log2(a)
    high = high.where(a.compare("oeq", 0.0), -inf).where(is_infinite, inf)
    wide = 2.0 ** (FORMATS[x.width].mantissa + 16)  # |y| beyond it decides the result, unless x is 1 or -1
    z = bounded(y, -wide, wide)
    exponent = z * high
    rest = z.times_plus(low, z.times_plus(high, -exponent)).where(abs(exponent).compare("ogt", 4096.0), 0.0)
    value = exp2_of_sum(exponent, rest)
    of_fraction = value.where(x.compare("olt", 0.0), nan).where(is_infinite, value)
    half = y * 0.5
    value = value.where(half.floor().compare("olt", half), value.with_sign_of(x))
    value = value.where(y.floor().compare("olt", y), of_fraction)
    value = value.where(x.compare("uno", x), nan).where(x.compare("oeq", 1.0), 1.0)
    return value.where(y.compare("oeq", 0.0), 1.0)


def _log2(a: Lanes) -> tuple[Lanes, Lanes]:
    """log2(a), and what rounding it left out: k + s (c + z (d + z p(z))) for s = f / (2 + f) and z = s^2.

    All but p(z) is computed to twice the precision; z^2 p(z) is less than 2^-12 of the sum.
    """
    table = FORMATS[a.width].table
    k, f, _ = reduced(a)
    total, lost = fast_sum(a.number(2.0), f)
    s, s_low = quotient(f, f.number(0.0), total, lost)
    z = s * s
    z_low = (s + s).times_plus(s_low, s.times_plus(s, -z))
    p = z.polynomial(table.log2)
    c, c_low = table.log2_first
    d, d_low = table.log2_third
    third = z.times_plus(p, d)
    third_low = z.times_plus(p, (d - third) + d_low)
    product = z * third
    product_low = z_low.times_plus(third, z.times_plus(third_low, z.times_plus(third, -product)))
    first, first_low = fast_sum(a.number(c), product)
    first_low = first_low + (product_low + c_low)
    log = s * first
    log_low = s_low.times_plus(first, s.times_plus(first_low, s.times_plus(first, -log)))
    high, low = fast_sum(k, log)
    return high, low + log_low
