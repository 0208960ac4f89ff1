"""Checks of derivatives, for tests: central differences, and `<v, vjp u> == <jvp v, u>`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
Function = Callable[..., Arrays]


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The sum of the products of all the elements."""
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in zip(xs, ys, strict=True)))


def directional(f: Function, xs: Sequence[Any], vs: Sequence[Any], eps: float = 1e-6) -> Arrays:
    """The derivative of f at xs along vs, by central differences."""
    up = f(*(np.asarray(x + eps * v) for x, v in zip(xs, vs, strict=True)))
    down = f(*(np.asarray(x - eps * v) for x, v in zip(xs, vs, strict=True)))
    return tuple((np.asarray(a) - np.asarray(b)) / (2 * eps) for a, b in zip(up, down, strict=True))


def random_like(xs: Sequence[Any], seed: int) -> Arrays:
    """Random directions with the shapes and dtypes of xs."""
    generator = np.random.default_rng(seed)
    return tuple(np.asarray(generator.standard_normal(np.shape(x)), np.asarray(x).dtype) for x in xs)


def check_vjp(f: Function, vjp: Function, xs: Sequence[Any], rtol: float = 1e-6, seeds: int = 3) -> None:
    """Compare `vjp(*xs, *us)`, the cotangents of xs, with central differences of f along random directions."""
    for seed in range(seeds):
        vs, us = random_like(xs, seed), random_like(f(*xs), 100 + seed)
        expected = inner(directional(f, xs, vs), us)
        gradients = vjp(*xs, *us)
        for x, gradient in zip(xs, gradients, strict=True):
            assert np.shape(x) == np.shape(gradient), f"a cotangent of shape {np.shape(gradient)} for {np.shape(x)}"
        np.testing.assert_allclose(inner(vs, gradients), expected, rtol=rtol, atol=rtol)


def check_jvp(f: Function, jvp: Function, xs: Sequence[Any], rtol: float = 1e-6, seeds: int = 3) -> None:
    """Compare `jvp(*xs, *vs)`, the tangents of f's results, with central differences."""
    for seed in range(seeds):
        vs = random_like(xs, seed)
        for tangent, expected in zip(jvp(*xs, *vs), directional(f, xs, vs), strict=True):
            np.testing.assert_allclose(tangent, expected, rtol=rtol, atol=rtol)


def check_transpose(f: Function, vjp: Function, jvp: Function, xs: Sequence[Any]) -> None:
    """Compare `<v, vjp u>` with `<jvp v, u>`, which are equal up to rounding."""
    for seed in range(3):
        vs, us = random_like(xs, seed), random_like(f(*xs), 100 + seed)
        np.testing.assert_allclose(inner(vs, vjp(*xs, *us)), inner(jvp(*xs, *vs), us), rtol=1e-10, atol=1e-12)
