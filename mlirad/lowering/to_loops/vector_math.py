"""Exponentials, logarithms, angles and hyperbolic functions on vectors of f32 or f64.

They are within 2 units in the last place everywhere.

Reads: vectors. Writes: arith, math, vector and (for huge angles) scf ops. Leaves: nothing.

The code is the same for both types, with a table of coefficients and a format for each. Fused multiply-adds keep the
errors of range reduction small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.lanes import Bits, Lanes, if_usual, in_all_lanes
from mlirad.lowering.to_loops.polynomials import TABLES, Table


@dataclass(frozen=True)
class Format:
    """A binary format.

    `shifter` added to a small number rounds it to an integer, which is then in the low bits. exp is 0 at `lowest` and
    inf at `highest`, tanh(x/2) is 1 at `flat`, and `widest` is the largest angle that is reduced.
    """

    table: Table
    mantissa: int
    bias: int
    half_root: int
    lowest: float
    highest: float
    flat: float
    widest: float

    @property
    def shifter(self) -> float:
        return 1.5 * 2.0**self.mantissa

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.mantissa

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)


FORMATS = {
    32: Format(TABLES[32], 23, 127, 0x3F3504F3, -105.0, 89.0, 20.0, 2.0**17),
    64: Format(TABLES[64], 52, 1023, 0x3FE6A09E667F3BCD, -750.0, 710.0, 44.0, 2.0**30),
}


def rounded(x: Lanes, scale: float, format: Format) -> tuple[Lanes, Bits]:
    """x * scale rounded to an integer: as floats, and in the low bits of integers."""
    shifted = x.times_plus(scale, format.shifter)
    return shifted - format.shifter, shifted.bits()


def power_of_two(exponent: Bits, x: Lanes, format: Format) -> Lanes:
    """2^n for an n in the low bits; the bits above them are shifted out."""
    return ((exponent << format.mantissa) + format.one).floats(x.type)


def difference(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """a - b, and its rounding error."""
    total = a - b
    part = total - a
    return total, (a - (total - part)) - (b + part)


def bounded(x: Lanes, low: float, high: float) -> Lanes:
    """x clamped to the bounds; nan stays nan."""
    below = x.where(x.compare("ogt", high), high)
    return below.where(below.compare("olt", low), low)


def exp(x: Lanes) -> Lanes:
    """e^x = 2^n e^r with |r| <= ln2/2."""
    return shifted_exp(x, 0)


def shifted_exp(x: Lanes, shift: int) -> Lanes:
    """e^x / 2^shift, which may be finite where e^x is not, for a shift of 0 or 1."""
    format = FORMATS[x.width]
    high, low = format.table.ln2
    x = bounded(x, format.lowest, format.highest + shift)
    n, n_bits = rounded(x, format.table.log2_e[0], format)
    r = n.times_plus(-low, n.times_plus(-high, x))
    value = 1.0 + (r * r).times_plus(r.polynomial(format.table.exp), r)
    return _scaled(value, n_bits, shift)


def exp2(x: Lanes) -> Lanes:
    return exp2_of_sum(x, None)


def exp2_of_sum(x: Lanes, low: Lanes | None) -> Lanes:
    """2^(x + low) = 2^n (1 + r q(r)) with |r| <= 1/2."""
    format = FORMATS[x.width]
    x = bounded(x, format.lowest * 1.5, format.bias + 2.0)
    n, n_bits = rounded(x, 1.0, format)
    r = x - n if low is None else (x - n) + low
    return _scaled(r.times_plus(r.polynomial(format.table.exp2), 1.0), n_bits, 0)


def _scaled(value: Lanes, n: Bits, shift: int) -> Lanes:
    """value * 2^(n - shift). The power is applied in two steps, so that it may under- or overflow."""
    format = FORMATS[value.width]
    half, rest = n >> 1, (n + 1) >> 1
    return value * power_of_two(half, value, format) * power_of_two(rest + -shift, value, format)


def hyperbolic(x: Lanes, sign: float) -> Lanes:
    """(e^a + sign e^-a) / 2 for a = |x|; 2 e^a may overflow where e^a / 2 does not."""
    half = shifted_exp(abs(x), 1)
    return half + sign * 0.25 / half


def sinh(x: Lanes) -> Lanes:
    """x + x^3 p(x^2) for |x| < 1; elsewhere e^-|x| is small enough for the formula."""
    z = x * x
    near = (x * z).times_plus(z.polynomial(FORMATS[x.width].table.sinh), x)
    return hyperbolic(x, -1.0).with_sign_of(x).where(abs(x).compare("olt", 1.0), near)


def _scaled_expm1(x: Lanes, shift: int) -> tuple[Lanes, Lanes]:
    """(e^x - 1) / 2^shift, and its rounding error: 2^n (1 + r + ...) - 1 with |r| <= ln2/2."""
    format = FORMATS[x.width]
    high, low = format.table.ln2
    n, n_bits = rounded(x, format.table.log2_e[0], format)
    r, lost = difference(n.times_plus(-high, x), n * low)
    scale = power_of_two(n_bits + -shift, x, format)
    first, lost_too = difference(scale - 2.0**-shift, -(scale * r))
    rest = (r * r).times_plus(r.polynomial(format.table.exp), lost)
    small = scale.times_plus(rest, lost_too)
    value = first + small
    return value, (first - value) + small


def expm1(x: Lanes) -> Lanes:
    """Computes one half of it, because 2^n may overflow where e^x - 1 does not. For the smallest x, e^x - 1 is x."""
    format = FORMATS[x.width]
    half, _ = _scaled_expm1(bounded(x, -format.flat, format.highest), 1)
    return (half + half).where(abs(x).compare("olt", 2.0 ** (-format.mantissa - 2)), x)


def tanh(x: Lanes) -> Lanes:
    """x + x^3 p(x^2) for |x| < 1, and 1 - 2 / (e^(2|x|) + 1) elsewhere."""
    format = FORMATS[x.width]
    high, low = format.table.ln2
    z = x * x
    near = (x * z).times_plus(z.polynomial(format.table.tanh), x)
    y = abs(x) + abs(x)
    y = y.where(y.compare("ogt", format.flat), format.flat)
    n, n_bits = rounded(y, format.table.log2_e[0], format)
    r = n.times_plus(-low, n.times_plus(-high, y))
    power = (1.0 + (r * r).times_plus(r.polynomial(format.table.exp), r)) * power_of_two(n_bits, x, format)
    far = 1.0 - 2.0 / (power + 1.0)
    return far.where(abs(x).compare("olt", 1.0), near).with_sign_of(x)


def log(x: Lanes) -> Lanes:
    """k ln2 + log(m) with sqrt(1/2) <= m < sqrt(2). For f64, log(1+f) = f - f^2/2 + s (f^2/2 + p(s^2)) with s =
    f/(2+f); for f32, f - f^2/2 + f^3 p(f), because a division costs more than a longer polynomial."""
    return _of_positive(x, lambda a, lift: log_of_normal(a, lift, None))


def log1p(x: Lanes) -> Lanes:
    """log of the sum 1 + x, plus its rounding error divided by the sum; x itself where that is 0."""
    total = x + 1.0
    value = log_of_sum(total, (x - (total - 1.0)) / total)
    return value.where(x.compare("oeq", 0.0), x)


def log_of_sum(x: Lanes, lost: Lanes, more: Lanes | None = None) -> Lanes:
    """log(x 2^more) + `lost`, which is small and applies only where the result is finite; x is not denormal."""
    return _at_the_ends(x, log_of_normal(x, x.number(0.0) if more is None else -more, lost))


def log_of_normal(x: Lanes, lift: Lanes, lost: Lanes | None) -> Lanes:
    """log(x / 2^lift) + `lost`, which is small, for normal numbers."""
    high, low = FORMATS[x.width].table.ln2_short
    k, f = reduced(x, lift)
    half_square = f * f * 0.5
    rest = k * low if lost is None else k.times_plus(low, lost)
    return k.times_plus(high, f - (half_square - (_correction(f, half_square) + rest)))


def _at_the_ends(x: Lanes, value: Lanes) -> Lanes:
    """A logarithm of x where x is 0, infinite, negative or nan, otherwise the value."""
    value = x.where(x.compare("olt", inf), value).where(x.compare("olt", 0.0), nan)
    return value.where(x.compare("oeq", 0.0), -inf)


def log2(x: Lanes) -> Lanes:
    return _of_positive(x, lambda a, lift: _log_to_base(a, lift, None, FORMATS[x.width].table.log2_e))


def log10(x: Lanes) -> Lanes:
    table = FORMATS[x.width].table
    return _of_positive(x, lambda a, lift: _log_to_base(a, lift, table.log10_2_short, table.log10_e))


def _log_to_base(x: Lanes, lift: Lanes, of_two: tuple[float, ...] | None, of_e: tuple[float, ...]) -> Lanes:
    """k of_two + f of_e, each in double-double precision, plus the rest, which is at most a quarter of the second
    term."""
    high, low = of_e
    k, f = reduced(x, lift)
    half_square = f * f * 0.5
    product = f * high
    small = f.times_plus(low, f.times_plus(high, -product))
    small = (_correction(f, half_square) - half_square).times_plus(high, small)
    whole = k if of_two is None else k * of_two[0]
    small = small if of_two is None else k.times_plus(of_two[1], small)
    total, lost = fast_sum(whole, product)
    return total + (lost + small)


def _of_positive(x: Lanes, formula: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
    """A logarithm, by a formula of normal numbers and of the exponents that make them normal."""
    masks = x.compare("ogt", FORMATS[x.width].smallest), x.compare("olt", inf)
    is_usual = in_all_lanes(x.builder, *masks)
    value = formula(*if_usual(is_usual, [x, x.number(0.0)], lambda: lifted(x)))
    return if_usual(is_usual, [value], lambda: [_at_the_ends(x, value)])[0]


def lifted(x: Lanes) -> tuple[Lanes, Lanes]:
    """x times a power of two that makes denormals normal, and the exponent of that power."""
    format = FORMATS[x.width]
    lift = format.mantissa + 2
    is_small = x.compare("olt", format.smallest)
    return x.where(is_small, x * 2.0**lift), x.number(0.0).where(is_small, float(lift))


def reduced(x: Lanes, lift: Lanes) -> tuple[Lanes, Lanes]:
    """For a normal number: k and f with x = 2^(k + lift) (1+f) and sqrt(1/2) <= 1+f < sqrt(2)."""
    format = FORMATS[x.width]
    bits = x.bits() + (format.one - format.half_root)
    exponent = (bits >> format.mantissa) | ((format.bias + format.mantissa) << format.mantissa)
    k = exponent.floats(x.type) - (lift + (2.0**format.mantissa + format.bias))
    return k, ((bits & ((1 << format.mantissa) - 1)) + format.half_root).floats(x.type) - 1.0


def half_inverse(f: Lanes) -> Lanes:
    """1 / (2 + f) for an f of `reduced`, by Newton's method: a division is slower."""
    below = f + 2.0
    found = f.polynomial(FORMATS[f.width].table.half_inverse)
    for _ in range(2):
        found = found.times_plus((-below).times_plus(found, 1.0), found)
    return found


def _correction(f: Lanes, half_square: Lanes) -> Lanes:
    """log(1+f) - f + f^2/2."""
    table = FORMATS[f.width].table
    if f.width == 32:
        return f * f * f * f.polynomial(table.log)
    s = f * half_inverse(f)
    z = s * s
    return s * (half_square + z * z.polynomial(table.log))


def _sine_part(r: Lanes, low: Lanes, z: Lanes, table: Table) -> Lanes:
    """sin(r + low) for |r| <= pi/4 and z = r^2."""
    return r + (z * r).times_plus(z.polynomial(table.sin), low * z.times_plus(-0.5, 1.0))


def _cosine_part(r: Lanes, low: Lanes, z: Lanes, table: Table) -> Lanes:
    """cos(r + low): 1 - z/2 is rounded, and its rounding error is added again."""
    half = z * 0.5
    first = 1.0 - half
    return first + (((1.0 - first) - half) + (z * z).times_plus(z.polynomial(table.cos), -(r * low)))


def _remaining_angle(x: Lanes) -> tuple[Bits, Lanes, Lanes]:
    """The number of quarter turns in x, for |x| <= widest, and the remaining angle in double-double precision."""
    format = FORMATS[x.width]
    first, second, third = format.table.half_pi
    n, turns = rounded(x, format.table.two_over_pi[0], format)
    product = n * second
    r, lost = difference(n.times_plus(-first, x), product)
    return turns, r, n.times_plus(-third, lost - n.times_plus(second, -product))


def _turned(x: Lanes, quarter: int) -> Lanes:
    """sin(x + quarter * pi/2) for |x| <= widest."""
    format = FORMATS[x.width]
    turns, r, low = _remaining_angle(x)
    z, turns = r * r, turns + quarter
    sine, cosine = _sine_part(r, low, z, format.table), _cosine_part(r, low, z, format.table)
    value = sine.where(turns.has(1), cosine)
    return value.where(turns.has(2), -value)


def _or_by_library(x: Lanes, value: Lanes, op: Operation) -> Lanes:
    """The value, or the C library's if the angle is too wide: a branch that is hardly ever taken."""
    builder, type = x.builder, x.type
    assert isinstance(type, VectorType)
    is_wide = abs(x).compare("ogt", FORMATS[x.width].widest)
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
    is_any = builder.op(vector.ReductionOp, [is_wide], i1, kind=kind, fastmath=arith.FastMathFlagsAttr("none"))

    def called() -> list[SSAValue]:
        return [value.where(is_wide, Lanes(builder, by_lanes(builder, op, [x.value], type))).value]

    return Lanes(builder, builder.either(is_any, [type], called, lambda: [value.value])[0])


def by_lanes(builder: LoopBuilder, op: Operation, operands: Sequence[SSAValue], type: VectorType) -> SSAValue:
    """Apply a scalar op of the same kind to one lane after the other."""

    def lane(index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        scalars = [builder.extract(operand, index, _element(operand)) for operand in operands]
        scalar = builder.op(op.__class__, scalars, type.element_type, **op.properties)
        return [builder.put(scalar, carried[0], index)]

    return builder.loop(0, type.get_shape()[0], 1, [builder.number(0, type)], lane)[0]


def _element(value: SSAValue) -> Attribute:
    assert isinstance(value.type, VectorType)
    return value.type.element_type


def sin(op: Operation, x: Lanes) -> Lanes:
    value = _turned(x, 0)
    return _or_by_library(x, value.where(x.compare("oeq", 0.0), x), op)


def cos(op: Operation, x: Lanes) -> Lanes:
    return _or_by_library(x, _turned(x, 1), op)


def tan(op: Operation, x: Lanes) -> Lanes:
    """r + r^3 p(r^2) for |r| <= pi/4; after an odd number of quarter turns, -1 divided by it, in double-double
    precision."""
    turns, r, low = _remaining_angle(x)
    z = r * r
    slope = z.times_plus(z, z + 1.0)  # 1 + tan^2, accurate enough
    near, lost = fast_sum(r, (r * z).times_plus(z.polynomial(FORMATS[x.width].table.tan), low * slope))
    inverse = -1.0 / near
    far = inverse.times_plus(inverse.times_plus(lost, inverse.times_plus(near, 1.0)), inverse)
    value = (near + lost).where(turns.has(1), far)
    return _or_by_library(x, value.where(x.compare("oeq", 0.0), x), op)


def fast_sum(large: Lanes, small: Lanes) -> tuple[Lanes, Lanes]:
    """large + small, and its rounding error."""
    total = large + small
    return total, small - (total - large)


def quotient(above: Lanes, above_low: Lanes, below: Lanes, below_low: Lanes) -> tuple[Lanes, Lanes]:
    """(above + above_low) / (below + below_low), rounded, and its rounding error, where the quotient is finite."""
    inverse = 1.0 / below
    first = above * inverse
    left = (-first).times_plus(below, above) + (-first).times_plus(below_low, above_low)
    low = left * inverse
    return first + low, low - ((first + low) - first)


EXPANSIONS: dict[type[Operation], Callable[..., Lanes]] = {
    math.ExpOp: lambda _, x: exp(x),
    math.Exp2Op: lambda _, x: exp2(x),
    math.ExpM1Op: lambda _, x: expm1(x),
    math.LogOp: lambda _, x: log(x),
    math.Log1pOp: lambda _, x: log1p(x),
    math.Log2Op: lambda _, x: log2(x),
    math.Log10Op: lambda _, x: log10(x),
    math.SinOp: sin,
    math.CosOp: cos,
    math.TanOp: tan,
    math.TanhOp: lambda _, x: tanh(x),
    math.SinhOp: lambda _, x: sinh(x),
    math.CoshOp: lambda _, x: hyperbolic(x, 1.0),
}
"""The replacement of each function; the op is passed on for arguments that only the C library handles."""
