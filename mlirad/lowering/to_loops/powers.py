"""Powers on vectors of f32 or f64, within 2 units in the last place: 2^(y log2 x), with the logarithm in double-double
precision.

Reads: vectors. Writes: arith, math, vector and scf ops. Leaves: nothing.

Code for unusual numbers is in branches, which vectors of usual numbers do not take.
"""

from __future__ import annotations

from math import inf, nan

from mlirad.lowering.to_loops.lanes import Lanes, if_usual, in_all_lanes
from mlirad.lowering.to_loops.vector_math import FORMATS, bounded, exp2_of_sum, fast_sum, half_inverse, lifted, reduced


def power(x: Lanes, y: Lanes) -> Lanes:
    """C's pow."""
    format = FORMATS[x.width]
    wide = 2.0 ** (format.mantissa + 16)  # a larger |y| determines the result, unless |x| is 1
    masks = x.compare("ogt", format.smallest), x.compare("olt", inf), abs(y).compare("olt", wide)
    is_usual = in_all_lanes(x.builder, *masks)
    a, lift, z = if_usual(is_usual, [x, x.number(0.0), y], lambda: [*lifted(abs(x)), bounded(y, -wide, wide)])
    high, low = _log2(a, lift)
    exponent = z * high
    rest = z.times_plus(low, z.times_plus(high, -exponent))
    value = exp2_of_sum(exponent, bounded(rest, -0.25, 0.25))
    return if_usual(is_usual, [value], lambda: [_at_the_edges(x, y, value)])[0]


def _at_the_edges(x: Lanes, y: Lanes, value: Lanes) -> Lanes:
    """The power for any x and y; the value is |x|^y if both are finite and x is not 0."""
    a = abs(x)
    is_infinite, rises = a.compare("oeq", inf), y.compare("ogt", 0.0)
    value = value.where(a.compare("oeq", 0.0), x.number(inf).where(rises, 0.0))
    value = value.where(is_infinite, x.number(0.0).where(rises, inf))
    of_fraction = value.where(x.compare("olt", 0.0), nan).where(is_infinite, value)
    half = y * 0.5
    value = value.where(half.floor().compare("olt", half), value.with_sign_of(x))  # for an odd y
    value = value.where(y.floor().compare("olt", y), of_fraction)
    value = value.where(x.compare("uno", y), nan).where(x.compare("oeq", 1.0), 1.0)
    return value.where(y.compare("oeq", 0.0), 1.0)


def _log2(a: Lanes, lift: Lanes) -> tuple[Lanes, Lanes]:
    """log2(a) - lift, and its rounding error: k + s (c + z (d + z p(z))) for s = f / (2 + f) and z = s^2.

    All but p(z) is computed in double-double precision; z^2 p(z) is less than 2^-12 of the sum.
    """
    table = FORMATS[a.width].table
    k, f = reduced(a, lift)
    total, lost = fast_sum(a.number(2.0), f)
    inverse = half_inverse(f)
    s = f * inverse
    s_low = (-s).times_plus(lost, (-s).times_plus(total, f)) * inverse
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
    first_low = (first_low + c_low) + product_low
    log = s * first
    log_low = s.times_plus(first_low, s_low.times_plus(first, s.times_plus(first, -log)))
    high, low = fast_sum(k, log)
    return high, low + log_low
