"""Masked singularities and ties, one table under every transform: the mask decides, and no NaN gets out.

The table of docs/deviations.md says what derivatives are where none is defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import mlirad
from mlirad import nn
from mlirad.testing.interpreted import Interpreted

INF = np.inf

MASKED: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 2.0 * x), 0.0),
    "log": (lambda x: np.where(x > 0, np.log(x) + np.log2(x) + np.log10(x), 2.0 * x), 0.0),
    "log1p": (lambda x: np.where(x > -1, np.log1p(x), 2.0 * x), -1.0),
    "x log x": (lambda x: np.where(x > 0, x * np.log(x), 2.0 * x), 0.0),
    "x ** 0.5": (lambda x: np.where(x > 0, x**0.5, 2.0 * x), 0.0),
    "x ** 1.5": (lambda x: np.where(x > 0, x**1.5, 2.0 * x), 0.0),
    "x ** x": (lambda x: np.where(x > 0, x**x, 2.0 * x), 0.0),
    "0 ** x": (lambda x: np.where(x > 0, np.power(0.0 * x, x), 2.0 * x), 0.0),
    "cbrt": (lambda x: np.where(x > 0, np.cbrt(x), 2.0 * x), 0.0),
    "arcsin": (lambda x: np.where(x < 1, np.arcsin(x), 2.0 * x), 1.0),
    "arccos": (lambda x: np.where(x > -1, np.arccos(x), 2.0 * x), -1.0),
    "arctanh": (lambda x: np.where(x < 1, np.arctanh(x), 2.0 * x), 1.0),
    "arccosh": (lambda x: np.where(x > 1, np.arccosh(x), 2.0 * x), 1.0),
    "1 / x": (lambda x: np.where(x > 0, 1.0 / x + np.reciprocal(x), 2.0 * x), 0.0),
    "x / x": (lambda x: np.where(x > 0, x / x, 2.0 * x), 0.0),
    "sin x / x": (lambda x: np.where(x != 0, np.sin(x) / x, 2.0 * x), 0.0),
    "mod": (lambda x: np.where(x > 0, np.mod(1.0, x), 2.0 * x), 0.0),
    "hypot": (lambda x: np.where(x > 0, np.hypot(x, x), 2.0 * x), 0.0),
    "arctan2": (lambda x: np.where(x > 0, np.arctan2(x, 3.0 * x), 2.0 * x), 0.0),
    "norm": (lambda x: np.where(x > 0, np.sqrt(np.sum(np.stack([x, 2.0 * x]) ** 2)), 2.0 * x), 0.0),
    "norm in an if": (lambda x: np.sqrt(np.sum(np.stack([x, x]) ** 2)) if x > 0 else 2.0 * x, 0.0),
    "std": (lambda x: np.where(x > 0, np.std(np.stack([x, x])), 2.0 * x), 0.0),
    "exp": (lambda x: np.where(x < 100, np.exp(x), 2.0 * x), 1000.0),
    "log of sums of exp": (lambda x: np.where(x > 0, np.log(np.sum(np.exp(np.stack([x, x]) - INF))), 2.0 * x), 0.0),
    "logaddexp": (lambda x: np.where(x > 0, np.logaddexp(x - INF, -INF), 2.0 * x), 0.0),
    "gamma": (lambda x: np.where(x > 0, scipy.special.gammaln(x) + scipy.special.psi(x), 2.0 * x), 0.0),
    "logit": (lambda x: np.where(x > 0, scipy.special.logit(x), 2.0 * x), 0.0),
    "where=": (lambda x: np.sum(np.log(np.stack([x, x])), where=np.stack([x, x]) > 0) + 2.0 * x, 0.0),
    "selected": (lambda x: np.sum(np.sqrt(np.stack([x, x])[np.stack([x, x]) > 0])) + 2.0 * x, 0.0),
    "chosen": (lambda x: np.sum(np.choose(1 * (np.stack([x]) > 0), [2.0 * np.stack([x]), np.log(np.stack([x]))])), 0.0),
    "extremum": (lambda x: np.minimum(1.0 / x, 5.0) + 2.0 * x, 0.0),
}
"""Each is 2 x on the side of the mask that is taken, or has its slope."""

UNDEFINED: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    "abs": (lambda x: np.abs(x), 0.0, 0.0, 0.0),
    "maximum": (lambda x: np.maximum(x * x, 3.0 * x), 3.0, 4.5, 1.0),
    "minimum": (lambda x: np.minimum(x * x, 3.0 * x), 3.0, 4.5, 1.0),
    "clip": (lambda x: np.clip(x, 0.0, 2.0), 2.0, 0.5, 0.0),
    "max": (lambda x: np.max(np.stack([x, 3.0 * x, x + 2.0])), 1.0, 2.0, 0.0),
    "max of Python": (lambda x: max(x, 3.0 * x), 0.0, 1.0, 0.0),
    "sort": (lambda x: np.sort(np.stack([3.0 * x, x]))[1], 0.0, 1.0, 0.0),
    "median": (lambda x: np.median(np.stack([x, 3.0 * x])), 0.0, 2.0, 0.0),
    "cumulative max": (lambda x: np.maximum.accumulate(np.stack([x, 3.0 * x]))[1], 0.0, 2.0, 0.0),
    "hypot": (lambda x: np.hypot(x, 2.0 * x), 0.0, 0.0, 0.0),
    "x ** 0": (lambda x: x**0 + np.power(x, 0.0), 0.0, 0.0, 0.0),
    "x ** 2": (lambda x: x**2 + np.power(x, 2.0), 0.0, 0.0, 4.0),
    "0 ** x": (lambda x: np.power(0.0, x), 0.0, 0.0, 0.0),
    "prod": (lambda x: np.prod(np.stack([x, 2.0 * x])), 0.0, 0.0, 4.0),
    "sinc": (lambda x: np.sinc(x), 0.0, 0.0, -(math.pi**2) / 3),
    "interp": (lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0]), 1.0, 0.5, 0.0),
    "interp at its end": (lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0]), 3.0, 0.5, 0.0),
    "remainder": (lambda x: math.remainder(x, 2.0), 0.0, 1.0, 0.0),
    "1 / gamma at a pole": (lambda x: scipy.special.rgamma(x), -2.0, 2.0, -3.6911373403938686),
    "xlogy": (lambda x: scipy.special.xlogy(x, x + 2.0), 0.0, math.log(2.0), 1.0),
    "xlog1py": (lambda x: scipy.special.xlog1py(x, x + 1.0), 0.0, math.log(2.0), 1.0),
    "xlogy of 0": (lambda x: scipy.special.xlogy(x, 0.0 * x), 0.0, 0.0, 0.0),
    "logaddexp": (lambda x: np.logaddexp(x - INF, -INF), 0.0, 0.5, 0.0),
    "logaddexp with -inf": (lambda x: np.logaddexp(x, -INF), 0.0, 1.0, 0.0),
    "softmax with -inf": (lambda x: nn.softmax(np.stack([x, 2.0 * x, x - INF]))[0], 0.0, -0.25, 0.0),
}
"""The point, and the first and second derivative there."""

TABLE = [
    *((name, f, at, 2.0, 0.0) for name, (f, at) in MASKED.items()),
    *((name, *row) for name, row in UNDEFINED.items()),
]
FUNCTIONS = tuple(row[1] for row in TABLE)
AT = np.array([row[2] for row in TABLE])
ONES = np.ones(len(AT))


def packed(x):
    return np.stack([f(x[i]) * 1.0 for i, f in enumerate(FUNCTIONS)])


def total(x):
    return np.sum(packed(x))


def in_a_loop(x):
    s = 0.0
    for _ in range(2):
        s += 0.5 * total(x)
    return s


FIRST: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: mlirad.grad(total)(x),
    "vjp": lambda x: mlirad.vjp(packed, x)[1](ONES)[0],
    "jvp": lambda x: mlirad.jvp(packed, (x,), (ONES,))[1],
    "linearize": lambda x: mlirad.linearize(packed, x)[1](ONES),
    "vmap": lambda x: mlirad.vmap(mlirad.grad(total))(np.stack([x + 0.25, x]))[1],
    "checkpoint": lambda x: mlirad.grad(mlirad.checkpoint(total))(x),
    "in a loop": lambda x: mlirad.grad(in_a_loop)(x),
}
SECOND: dict[str, Callable[[Any], Any]] = {
    "hvp": lambda x: mlirad.hvp(total, (x,), (ONES,))[0],
    "reverse over reverse": lambda x: mlirad.grad(lambda x: np.sum(mlirad.grad(total)(x)))(x),
    "reverse over forward": lambda x: mlirad.grad(lambda x: np.sum(mlirad.jvp(packed, (x,), (ONES,))[1]))(x),
    "jet": lambda x: mlirad.jet(packed, (x,), ([ONES, 0.0 * ONES],))[1][1],
    "vmap of hvp": lambda x: mlirad.vmap(lambda x: mlirad.hvp(total, (x,), (ONES,))[0])(np.stack([x + 0.25, x]))[1],
}
MATRICES: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "jacfwd": (1, lambda x: mlirad.jacfwd(packed)(x)),
    "jacrev": (1, lambda x: mlirad.jacrev(packed)(x)),
    "hessian": (2, lambda x: mlirad.hessian(total)(x)),
}
"""The order, and a matrix with the derivatives on its diagonal."""


def check(found: Any, order: int) -> None:
    for (name, _, _, *expected), each in zip(TABLE, found, strict=True):
        np.testing.assert_allclose(each, expected[order - 1], rtol=1e-9, atol=1e-9, err_msg=name)


QUICK = ("grad", "jet", "vmap", "in a loop", "hvp")
"""The others, which are like these, are for `make full`."""


def names(table: dict[str, Any]) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in table]


@pytest.mark.parametrize("transform", names(FIRST))
def test_first_derivatives(transform: str) -> None:
    check((mlirad.jit if transform == "grad" else Interpreted)(FIRST[transform])(AT), 1)


@pytest.mark.parametrize("transform", names(SECOND))
def test_second_derivatives(transform: str) -> None:
    check(Interpreted(SECOND[transform])(AT), 2)


@pytest.mark.parametrize("transform", names(MATRICES))
def test_matrices(transform: str) -> None:
    order, matrix = MATRICES[transform]
    found = Interpreted(matrix)(AT)
    check(np.diag(found), order)
    np.testing.assert_array_equal(found - np.diag(np.diag(found)), 0.0 * found)
