"""Polynomials given by their coefficients, highest power first, as in NumPy's older functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.polyval", complex=True)
def polyval(p: Any, x: Any) -> Any:
    coefficients, at = np.asarray(p), np.asarray(x)
    if len(coefficients) == 0:
        return np.zeros_like(at)
    dtype = np.result_type(coefficients, at)
    value = np.zeros(at.shape, dtype) * at + coefficients[0]
    for k in range(1, len(coefficients)):
        value = value * at + coefficients[k]
    return value


@spells("numpy.polyadd", complex=True)
def polyadd(a1: Any, a2: Any) -> Any:
    x, y = _of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return x + y


@spells("numpy.polysub", complex=True)
def polysub(a1: Any, a2: Any) -> Any:
    x, y = _of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return x - y


def _of_one_length(x: Any, y: Any) -> Any:
    if len(x) < len(y):
        x = np.concatenate((np.zeros(len(y) - len(x), x.dtype), x))
    elif len(y) < len(x):
        y = np.concatenate((np.zeros(len(x) - len(y), y.dtype), y))
    return x, y


@spells("numpy.polymul", complex=True)
def polymul(a1: Any, a2: Any) -> Any:
    """The product, without leading zeros of either."""
    x, y = _not_empty(np.atleast_1d(a1)), _not_empty(np.atleast_1d(a2))
    first, other = _first(x), _first(y)
    made = np.zeros(len(x) + len(y) - 1, np.result_type(x, y))
    for k in range(len(x)):
        products = np.where((np.arange(len(y)) >= other) & (k >= first), x[k] * y, np.zeros((), made.dtype))
        made[k : k + len(y)] = made[k : k + len(y)] + products
    return made[first + other :]


def _first(x: Any) -> Any:
    """The index of the first nonzero coefficient, or of the last coefficient if all are 0."""
    is_kept = x != 0
    is_kept[-1] = True
    return np.argmax(is_kept)


def _from_first(x: Any) -> Any:
    """The coefficients from the first nonzero one on; the last one if all are 0."""
    given = _not_empty(x)
    return given[_first(given) :]


def _not_empty(x: Any) -> Any:
    if x.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    return x if len(x) > 0 else np.zeros(1, x.dtype)


@spells("numpy.polydiv")
def polydiv(u: Any, v: Any) -> Any:
    dividend, divisor = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    if dividend.ndim > 1 or divisor.ndim > 1:
        raise ValueError("the coefficients of a polynomial have one axis")
    order = len(divisor) - 1
    rest = (dividend[0] + divisor[0]) * 0 + dividend
    count = max(len(dividend) - order, 1)
    quotient = np.zeros(count, rest.dtype)
    scale = 1.0 / divisor[0]
    for k in range(len(dividend) - order):
        quotient[k] = scale * rest[k]
        rest[k : k + order + 1] -= quotient[k] * divisor
    is_kept = ~(np.abs(rest) <= 1e-8)
    is_kept[-1] = True
    return quotient, rest[np.argmax(is_kept) :]


@spells("numpy.poly1d")
def poly1d(c_or_r: Any, r: bool = False, variable: str = "x") -> Any:
    del variable  # only for printing
    return Polynomial(np.poly(c_or_r) if r else np.atleast_1d(c_or_r))


class Polynomial:
    """np.poly1d. held: its coefficients, including leading zeros."""

    def __init__(self, held: Any):
        if held.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self.held = held

    @property
    def c(self) -> Any:
        return _from_first(self.held)

    @property
    def coef(self) -> Any:
        return _from_first(self.held)

    @property
    def coeffs(self) -> Any:
        return _from_first(self.held)

    @property
    def coefficients(self) -> Any:
        return _from_first(self.held)

    @property
    def o(self) -> Any:
        return len(_from_first(self.held)) - 1

    @property
    def order(self) -> Any:
        return len(_from_first(self.held)) - 1

    def __call__(self, val: Any) -> Any:
        if isinstance(val, Polynomial):
            raise NotImplementedError("np.poly1d of np.poly1d is not compiled", "give it numbers or arrays")
        return np.polyval(self.held, val)

    def deriv(self, m: int = 1) -> Any:
        return Polynomial(np.polyder(self.held, m))

    def integ(self, m: int = 1, k: Any = 0) -> Any:
        return Polynomial(np.polyint(self.held, m, k))

    def __getitem__(self, power: int) -> Any:
        return self.held[len(self.held) - 1 - power] if 0 <= power < len(self.held) else self.held[0] * 0

    def __len__(self) -> Any:
        return len(_from_first(self.held)) - 1

    def __neg__(self) -> Any:
        return Polynomial(-self.held)

    def __add__(self, other: Any) -> Any:
        return Polynomial(np.polyadd(self.held, _held_by(other)))

    def __radd__(self, other: Any) -> Any:
        return Polynomial(np.polyadd(self.held, _held_by(other)))

    def __sub__(self, other: Any) -> Any:
        return Polynomial(np.polysub(self.held, _held_by(other)))

    def __rsub__(self, other: Any) -> Any:
        return Polynomial(np.polysub(_held_by(other), self.held))

    def __mul__(self, other: Any) -> Any:
        return Polynomial(np.convolve(self.held, _held_by(other)))

    def __rmul__(self, other: Any) -> Any:
        return Polynomial(np.convolve(self.held, _held_by(other)))

    def __truediv__(self, other: Any) -> Any:
        if np.ndim(_held_by(other)) == 0 or len(_held_by(other)) == 1:
            return Polynomial(self.held / other)
        raise NotImplementedError("np.poly1d / np.poly1d is not compiled", "use np.polydiv of the coefficients")

    def __pow__(self, exponent: int) -> Any:
        made = np.ones(1, self.held.dtype)
        for _ in range(exponent):
            made = np.convolve(made, self.held)
        return Polynomial(made)


def _held_by(other: Any) -> Any:
    return other.held if isinstance(other, Polynomial) else np.atleast_1d(other)


@spells("numpy.polyder", complex=True)
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    x = np.asarray(p)
    for _ in range(m):
        x = x[:-1] * np.arange(len(x) - 1, 0, -1)
    return x


@spells("numpy.polyint", complex=True)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    added = np.zeros(m) if k is None else np.atleast_1d(k)
    if len(added) == 1 and m > 1:
        added = added[0] * np.ones(m)
    if len(added) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = np.asarray(p)
    for number in range(m):
        x = np.concatenate((x / np.arange(len(x), 0, -1), added[number : number + 1]))
    return x


@spells("numpy.poly")
def poly(seq_of_zeros: Any) -> Any:
    if np.ndim(seq_of_zeros) == 0:
        raise TypeError("dispatcher for __array_function__ did not return an iterable")
    roots = np.asarray(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and len(roots) > 0:
        raise NotImplementedError("np.poly of a matrix is not compiled", "give the zeros, as a vector")
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(roots) == 0:
        return 1.0
    # Even for whole numbers, the dtype is a float dtype.
    dtype = np.float32 if roots.dtype == np.float32 else np.float64
    made = np.zeros(len(roots) + 1, dtype)
    made[0] = 1.0
    for k in range(len(roots)):
        made[1:] = made[1:] - roots[k] * made[:-1]
    return made


@spells("numpy.vander", complex=True)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    held = np.asarray(x)
    if held.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(held) if N is None else N
    made = np.ones((len(held), columns), np.promote_types(held.dtype, int))
    powers = made if increasing else made[:, ::-1]
    for k in range(1, columns):
        powers[:, k] = powers[:, k - 1] * held
    return made
