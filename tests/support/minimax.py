"""Reads: nothing. Writes: the coefficients of `mlirad/lowering/to_loops/polynomials.py`, computed. Leaves: nothing.

`python tests/support/minimax.py` prints the table. Every function is summed from its Taylor series in 60 decimal digits
and interpolated at Chebyshev nodes, whose polynomial is nearly the best one; coefficients are then rounded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext

getcontext().prec = 60

Function = Callable[[Decimal], Decimal]
TERMS = 60


def series(coefficient: Callable[[int], Decimal]) -> Function:
    """The function that is the sum of coefficient(n) x^n."""
    coefficients = [coefficient(n) for n in range(TERMS)]

    def value(x: Decimal) -> Decimal:
        total = Decimal(0)
        for c in reversed(coefficients):
            total = total * x + c
        return total

    return value


def factorial(n: int) -> Decimal:
    return Decimal(1) if n < 2 else n * factorial(n - 1)


def arctan_of_inverse(n: int) -> Decimal:
    """atan(1/n)."""
    return sum((Decimal((-1) ** i) / ((2 * i + 1) * Decimal(n) ** (2 * i + 1)) for i in range(90)), Decimal(0))


PI = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
LN2, LN10 = Decimal(2).ln(), Decimal(10).ln()

# (e^r - 1 - r) / r^2; then (sin r - r) / r^3, (cos r - 1 + r^2/2) / r^4 and (2 atanh(s) - 2s) / s^3 of the square.
EXP = series(lambda n: 1 / factorial(n + 2))
SIN = series(lambda n: (-1) ** (n + 1) / factorial(2 * n + 3))
COS = series(lambda n: (-1) ** n / factorial(2 * n + 4))
LOG = series(lambda n: Decimal(2) / (2 * n + 3))
# (log(1+f) - f + f^2/2) / f^3, of f itself: more coefficients, and no division.
SHORT_LOG = series(lambda n: Decimal((-1) ** n) / (n + 3))


# (2^r - 1) / r; and (2 atanh(s) - 2s - 2 s^3/3) / s^5 / ln2 of the square.
EXP2 = series(lambda n: LN2 ** (n + 1) / factorial(n + 1))
LOG2 = series(lambda n: Decimal(2) / (2 * n + 5) / LN2)


# (asin x - x) / x^3, (atan x - x) / x^3 and (sinh x - x) / x^3 of the square; the inverse cube root.
ASIN = series(lambda n: factorial(2 * n + 2) / (4 ** (n + 1) * factorial(n + 1) ** 2 * (2 * n + 3)))
ATAN = series(lambda n: Decimal((-1) ** (n + 1)) / (2 * n + 3))
SINH = series(lambda n: 1 / factorial(2 * n + 3))


def arctan_rest(z: Decimal) -> Decimal:
    """(atan x - x) / x^3 of the square, where its series converges slowly: by half of the angle."""
    if z < Decimal("0.2"):
        return ATAN(z)
    x = z.sqrt()
    y = x / (1 + (1 + z).sqrt())
    return (2 * (y + y**3 * arctan_rest(y * y)) - x) / (x * z)


def tan_rest(z: Decimal) -> Decimal:
    """(tan x - x) / x^3 of the square."""
    return (SIN(z) + Decimal("0.5") - z * COS(z)) / (1 - z / 2 + z * z * COS(z))


def tanh_rest(z: Decimal) -> Decimal:
    """(tanh x - x) / x^3 of the square: tan_rest(-z), up to its sign, further than that is needed for angles."""
    cosh = series(lambda n: 1 / factorial(2 * n))(z)
    return (SINH(z) - series(lambda n: 1 / factorial(2 * n + 2))(z)) / cosh


def half_inverse(f: Decimal) -> Decimal:
    return 1 / (2 + f)


def inverse_root(e: Decimal) -> Decimal:
    """(1 / cbrt(1 - e) - 1) / e."""
    return ((-(1 - e).ln() / 3).exp() - 1) / e if abs(e) > Decimal("1e-25") else Decimal(1) / 3


# A little more than the ranges that reduction leaves: ln2/2, 1/2, (pi/4)^2, and the square of
# (sqrt(2) - 1) / (sqrt(2) + 1).
EXP_RANGE = (-LN2 * Decimal("0.501"), LN2 * Decimal("0.501"))
EXP2_RANGE = (Decimal("-0.501"), Decimal("0.501"))
TURN_RANGE = (Decimal(0), (PI / 4 * Decimal("1.01")) ** 2)
LOG_RANGE = (Decimal(0), Decimal("0.02945"))
SHORT_LOG_RANGE = (Decimal("-0.2929"), Decimal("0.4143"))
# Halves of angles: 1/2^2, tan(pi/8)^2; and 1^2.
ASIN_RANGE = (Decimal(0), Decimal("0.2501"))
ATAN_RANGE = (Decimal(0), Decimal("0.1717"))
SINH_RANGE = (Decimal(0), Decimal("1.01"))
ROOT_RANGE = (Decimal("-0.1025"), Decimal("0.1025"))
UNIT_RANGE = (Decimal(0), Decimal("1.001"))


@dataclass(frozen=True)
class Fit:
    """A polynomial of `count` coefficients for a function on a range."""

    function: Function
    range: tuple[Decimal, Decimal]
    count: int


FITS: dict[str, dict[str, Fit]] = {
    "f64": {
        "exp": Fit(EXP, EXP_RANGE, 11),
        "sin": Fit(SIN, TURN_RANGE, 6),
        "cos": Fit(COS, TURN_RANGE, 6),
        "log": Fit(LOG, LOG_RANGE, 7),
        "exp2": Fit(EXP2, EXP2_RANGE, 12),
        "log2": Fit(LOG2, LOG_RANGE, 8),
        "asin": Fit(ASIN, ASIN_RANGE, 13),
        "atan": Fit(ATAN, ATAN_RANGE, 11),
        "sinh": Fit(SINH, SINH_RANGE, 7),
        "tan": Fit(tan_rest, TURN_RANGE, 15),
        "tanh": Fit(tanh_rest, UNIT_RANGE, 16),
        "half_inverse": Fit(half_inverse, SHORT_LOG_RANGE, 4),
        "inverse_root": Fit(inverse_root, ROOT_RANGE, 3),
    },
    "f32": {
        "exp": Fit(EXP, EXP_RANGE, 6),
        "sin": Fit(SIN, TURN_RANGE, 3),
        "cos": Fit(COS, TURN_RANGE, 3),
        "log": Fit(SHORT_LOG, SHORT_LOG_RANGE, 9),
        "exp2": Fit(EXP2, EXP2_RANGE, 7),
        "log2": Fit(LOG2, LOG_RANGE, 4),
        "asin": Fit(ASIN, ASIN_RANGE, 6),
        "atan": Fit(arctan_rest, UNIT_RANGE, 11),
        "sinh": Fit(SINH, SINH_RANGE, 4),
        "tan": Fit(tan_rest, TURN_RANGE, 7),
        "tanh": Fit(tanh_rest, UNIT_RANGE, 8),
        "half_inverse": Fit(half_inverse, SHORT_LOG_RANGE, 3),
        "inverse_root": Fit(inverse_root, ROOT_RANGE, 3),
    },
}


def cosine(x: Decimal) -> Decimal:
    return 1 - x * x / 2 + x**4 * COS(x * x)


def fit(wanted: Fit) -> list[Decimal]:
    """Coefficients, lowest first, of the polynomial through the function at Chebyshev nodes."""
    low, high = wanted.range
    nodes = [
        (low + high) / 2 + (high - low) / 2 * cosine(PI * (2 * i + 1) / (2 * wanted.count)) for i in range(wanted.count)
    ]
    table = [wanted.function(node) for node in nodes]
    for order in range(1, wanted.count):  # divided differences
        for i in range(wanted.count - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = [Decimal(0)]
    for node, difference in zip(reversed(nodes), reversed(table), strict=True):  # result * (x - node) + difference
        shifted = [Decimal(0), *result]
        result = [a - node * b for a, b in zip(shifted, [*result, Decimal(0)], strict=True)]
        result[0] += difference
    return result[: wanted.count]


def rounded(value: Decimal, type: str, zeros: int = 0) -> float:
    """The nearest number of the type, or the nearest that ends in `zeros` zero bits."""
    code, bits = ("<f", 24) if type == "f32" else ("<d", 53)
    if zeros:
        exponent = 0
        while Decimal(2) ** exponent > value:
            exponent -= 1
        unit = Decimal(2) ** (exponent + 1 - bits + zeros)
        value = (value / unit).to_integral_value() * unit
    return struct.unpack(code, struct.pack(code, float(value)))[0]


def parts(value: Decimal, type: str, count: int, zeros: int = 0) -> list[float]:
    """A number as a sum of numbers of the type, each the nearest to what is left."""
    result: list[float] = []
    for i in range(count):
        result.append(rounded(value, type, zeros if i == 0 else 0))
        value -= Decimal(result[-1])
    return result


def table() -> dict[str, dict[str, Sequence[float]]]:
    """All that polynomials.py has."""
    result: dict[str, dict[str, Sequence[float]]] = {}
    for type, fits in FITS.items():
        result[type] = {name: [rounded(c, type) for c in fit(wanted)] for name, wanted in fits.items()}
        result[type]["ln2"] = parts(LN2, type, 2)
        result[type]["ln2_short"] = parts(LN2, type, 2, zeros=9 if type == "f32" else 11)
        result[type]["half_pi"] = parts(PI / 2, type, 3)
        result[type]["log2_e"] = parts(1 / LN2, type, 2)
        result[type]["log2_first"] = parts(2 / LN2, type, 2)
        result[type]["log2_third"] = parts(2 / LN2 / 3, type, 2)
        result[type]["log10_e"] = parts(1 / LN10, type, 2)
        result[type]["log10_2_short"] = parts(LN2 / LN10, type, 2, zeros=9 if type == "f32" else 11)
        result[type]["two_over_pi"] = [rounded(2 / PI, type)]
    return result


def worst(wanted: Fit, coefficients: Sequence[float], weight: Function) -> float:
    """The largest weighted error of the polynomial, on a grid."""
    low, high = wanted.range
    largest = Decimal(0)
    for i in range(401):
        x = low + (high - low) * i / 400
        value = Decimal(0)
        for c in reversed(coefficients):
            value = value * x + Decimal(c)
        largest = max(largest, abs(value - wanted.function(x)) * weight(x))
    return float(largest)


# The error of the polynomial, relative to the function that it serves.
WEIGHTS: dict[str, Function] = {
    "exp": lambda r: r * r / r.exp(),
    "sin": lambda z: z,
    "cos": lambda z: z * z * Decimal("1.42"),
    "log": lambda z: z / 2,
    "exp2": lambda r: abs(r) / (r * LN2).exp(),
    "log2": lambda z: 4096 * z * z * LN2 / 2,
    "asin": lambda z: z,
    "atan": lambda z: z * (1 + z * Decimal("0.27")),
    "tan": lambda z: z / (1 + z / 3),
    "tanh": lambda z: z * Decimal("1.32"),
    "sinh": lambda z: z,
    "half_inverse": lambda f: 2 + f,
    "inverse_root": lambda e: abs(e),
}

if __name__ == "__main__":
    for type, rows in table().items():
        print(f'    "{type}": Table(')
        for name, values in rows.items():
            print(f"        {name}=({', '.join(map(repr, values))},),")
        print("    ),")
        bits = 24 if type == "f32" else 53
        for name, wanted in FITS[type].items():
            error = worst(wanted, table()[type][name], WEIGHTS[name])
            print(f"    # {name}: {error * 2**bits:.3f} ulp")
