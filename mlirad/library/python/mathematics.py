"""Functions of the module math."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("math.dist")
def dist(p: Any, q: Any, /) -> float:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    found = 0.0
    for a, b in zip(p, q):  # noqa: B905  (the lengths are compared above)
        found = math.hypot(found, float(a) - float(b))
    return found


@spells("math.prod")
def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    found = start
    for each in iterable:
        found = found * each
    return found


@spells("math.isclose", complex=True)
def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    x, y = float(a), float(b)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if x == y:
        return True
    if math.isinf(x) or math.isinf(y):
        return False
    distance = math.fabs(y - x)
    return distance <= math.fabs(rel_tol * y) or distance <= math.fabs(rel_tol * x) or distance <= abs_tol


@spells("math.gcd")
def gcd(*integers: Any) -> int:
    found = 0
    for each in integers:
        found = _common_divisor(found, operator.index(each))
    return found


@spells("math.lcm")
def lcm(*integers: Any) -> int:
    found = 1
    for each in integers:
        found = _common_multiple(found, operator.index(each))
    return found


def _common_divisor(x: int, y: int) -> int:
    x, y = abs(x), abs(y)
    while y:
        x, y = y, x % y
    return x


def _common_multiple(x: int, y: int) -> int:
    if x == 0 or y == 0:
        return 0
    return abs(x) // _common_divisor(x, y) * abs(y)


@spells("math.isqrt")
def isqrt(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = min(int(math.sqrt(n)), 3037000499)  # its square is the largest in 64 bits
    if root * root > n:
        return root - 1
    return root


@spells("math.factorial")
def factorial(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    return math.perm(n, n)


@spells("math.perm")
def perm(n: Any, k: Any = None, /) -> int:
    if k is None:
        return math.factorial(n)
    n, k = _not_negative(n, k)
    found = 1
    for i in range(min(k, n + 1)):  # a factor is 0 where k > n
        found = found * (n - i)
    return found


@spells("math.comb")
def comb(n: Any, k: Any, /) -> int:
    n, k = _not_negative(n, k)
    if k > n:
        return 0
    found = 1
    for i in range(1, min(k, n - k) + 1):  # exact, and never larger than the result
        common = _common_divisor(found, i)
        found = found // common * ((n - i + 1) // (i // common))
    return found


def _not_negative(n: Any, k: Any) -> tuple[int, int]:
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    return n, k


@spells("math.remainder")
def remainder(x: Any, y: Any, /) -> float:
    """x minus the nearest multiple of y, the even one of two equally near: every step is exact."""
    size, step = math.copysign(1.0, x) * x, math.fabs(y)  # fabs has the derivative 0 at 0
    if math.isinf(step) and math.isfinite(size):
        return float(x)
    below = math.fmod(size, step)
    above = step - below
    if below < above:
        found = below
    elif below > above:
        found = -above
    else:
        found = below - 2.0 * math.fmod(0.5 * (size - below), step)
    return math.copysign(1.0, x) * found


@spells("math.ulp")
def ulp(x: Any, /) -> float:
    size = math.fabs(x)
    if math.isinf(size):
        return size
    above = math.nextafter(size, math.inf)
    return size - math.nextafter(size, 0.0) if math.isinf(above) else above - size


@spells("math.fsum")
def fsum(seq: Any, /) -> float:
    """Shewchuk's algorithm: partial sums that do not overlap, with a total that is rounded once."""
    partial, count, infinite = np.zeros(48), 0, 0.0
    for each in seq:
        x, kept = float(each), 0
        if not math.isfinite(x):
            infinite = infinite + x
            x = 0.0
        for j in range(count):
            y = float(partial[j])
            if abs(x) < abs(y):
                x, y = y, x
            total = x + y
            lost = y - (total - x)
            if lost != 0.0:
                partial[kept] = lost
                kept += 1
            x = total
        partial[kept] = x
        count = kept + 1
    if infinite != 0.0:
        return infinite
    total, lost = 0.0, 0.0
    while count > 0 and lost == 0.0:
        count -= 1
        y = float(partial[count])
        rounded = total + y
        lost = y - (rounded - total)
        total = rounded
    if count > 0 and lost * float(partial[count - 1]) > 0.0:  # a tie: which side is the rest on?
        rounded = total + 2.0 * lost
        if rounded - total == 2.0 * lost:
            return rounded
    return total
