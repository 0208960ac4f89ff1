"""mlirad.linearize: the linear function is what jvp gives along each tangent, and does not run the function again."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mlirad
from mlirad.jit.kernel import kernel_of
from mlirad.options import Options
from mlirad.requests.kinds_of_derivatives import Linearize

RNG = np.random.default_rng(3)


def march(x, c):
    """Writes in place, a branch, a `while`, and loops in a loop."""
    y = x.copy()
    for i in range(1, x.shape[0]):
        for k in range(i):
            y[i] += np.sin(y[k]) * c
        if y[i] > 0.3:
            y[i] *= x[i - 1]
    total = y @ x
    while abs(total) < 5.0:
        total = total * 1.5 + c
    return {"y": y, "total": [total, 3]}


def power(x, n):
    return x if n == 0 else np.sin(x) * power(x * 0.5 + x[::-1], n - 1)


def helper(x, k):
    for i in range(x.shape[0]):
        x = x * np.cos(x) + k * i
    return x


def shared(x, k):
    return helper(helper(x, 0.5), k) + helper(helper(x * 2, k), 0.25)


def chosen(x, k):
    order = np.argsort(x)
    return np.where(x > 0, np.sqrt(x), 0.0)[order] * k, np.max(x), x[x > k]


def of_rows(a, x):
    return np.exp(a @ x) / np.sum(a, axis=0)[0], a[:0]


X = RNG.uniform(0.1, 1.0, 6)
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (march, (X, 0.7)),
    (power, (X, 3)),
    (shared, (X, 0.3)),
    (chosen, (RNG.normal(size=6), 0.2)),
    (of_rows, (RNG.uniform(size=(4, 3)).astype(np.float32)[::-1], np.arange(6.0, dtype=np.float32)[::2])),
    (lambda x: x * x, (np.array(3.0),)),
]


def tangent_of(primal: Any) -> Any:
    if isinstance(primal, int):
        return None
    return np.asarray(RNG.normal(size=np.shape(primal)), getattr(primal, "dtype", float))[()]


@pytest.mark.parametrize(("function", "primals"), CASES, ids=lambda each: getattr(each, "__name__", None))
def test_is_jvp_along_every_tangent(function: Any, primals: tuple[Any, ...]) -> None:
    out, linear = mlirad.linearize(function, *primals)
    for _ in range(2):
        tangents = tuple(map(tangent_of, primals))
        expected, along = mlirad.jvp(function, primals, tangents)
        (leaves, structure), (others, same) = (
            mlirad.tree.flatten((out, linear(*tangents))),
            mlirad.tree.flatten((expected, along)),
        )
        assert structure == same
        for leaf, other in zip(leaves, others, strict=True):
            assert type(leaf) is type(other) and getattr(leaf, "dtype", None) == getattr(other, "dtype", None)
            assert_allclose(leaf, other, rtol=1e-5 if np.result_type(leaf) == np.float32 else 1e-12, atol=1e-12)


def test_inside_a_kernel_and_under_other_transforms() -> None:
    t = RNG.normal(size=6)

    @mlirad.jit
    def several(x, t):
        _, linear, aux = mlirad.linearize(lambda x, c: (march(x, c), x.shape), x, 0.7, has_aux=True)
        total = 0.0
        for k in range(3):
            total += linear(t * k, 1.0)["total"][0]
        transposed = mlirad.grad(lambda t: linear(t, 0.0)["total"][0])(t)
        lanes = mlirad.vmap(lambda t: linear(t, 1.0)["y"])(np.stack((t, 2 * t)))
        return total, transposed, lanes, aux

    total, transposed, lanes, aux = several(X, t)
    along = lambda t, c: mlirad.jvp(march, (X, 0.7), (t, c))[1]
    assert total == pytest.approx(sum(along(t * k, 1.0)["total"][0] for k in range(3)))
    assert_allclose(transposed, mlirad.grad(lambda x: march(x, 0.7)["total"][0])(X), rtol=1e-12)
    assert_allclose(lanes, [along(t, 1.0)["y"], along(2 * t, 1.0)["y"]], rtol=1e-12)
    assert aux == (6,)
    second = mlirad.grad(lambda x: mlirad.linearize(march, x, 0.7)[1](t, 1.0)["total"][0])(X)
    assert_allclose(second, mlirad.grad(lambda x: mlirad.jvp(march, (x, 0.7), (t, 1.0))[1]["total"][0])(X), rtol=1e-11)


def test_the_function_runs_once() -> None:
    kernel = kernel_of(Linearize(lambda x: np.sin(np.exp(x)) * 2.0), Options())
    text = kernel.lower(X).as_text("autodiff")
    forward, linear = text.split("func.func public")[1:3]
    assert "nd.exp" in forward and "nd.sin" in forward
    assert "nd.exp" not in linear and "nd.sin" not in linear
    # The pullback itself is gone, because its cotangents are not needed.
    loop = kernel_of(Linearize(march), Options()).lower(X, 0.7).as_text("autodiff")
    assert "ad.transpose" not in loop and "nd.transpose" not in loop


def test_a_tangent_that_is_zero_annihilates() -> None:
    _, linear = mlirad.linearize(lambda x: np.sqrt(x) + np.power(x, 0.5), np.array([0.0, 4.0]))
    assert_array_equal(linear(np.array([0.0, 1.0])), [0.0, 0.5])
    assert_array_equal(linear(np.array([1.0, 0.0])), [np.inf, 0.0])


def test_sizes_that_only_the_run_knows() -> None:
    _, linear = mlirad.linearize(lambda x: x[x > 0.5] ** 2, X)
    assert_allclose(linear(np.ones(6)), 2 * X[X > 0.5])
    squares = mlirad.jit(lambda x: mlirad.linearize(lambda v: v * v, x[x > 0.5]))
    out, linear = squares(X)
    assert_allclose(linear(np.ones(out.size)), 2 * X[X > 0.5])
    with pytest.raises(ValueError, match="a tangent has the shape"):
        linear(np.ones(out.size + 1))


def test_refusals() -> None:
    _, linear = mlirad.linearize(lambda x, n: x * n, X, 2)
    assert copy.copy(linear) is linear
    with pytest.raises(TypeError, match="a linear function holds compiled code"):
        pickle.dumps(linear)
    with pytest.raises(ValueError, match="the tangent of a primal without a derivative must be None"):
        linear(X, 1)
    with pytest.raises(ValueError, match=r"the tangent has the structure [^N]*, and the primal [^N]*$"):
        linear(X)
    with pytest.raises(ValueError, match=r"a tangent has the shape \(2,\), and the primal \(6,\)"):
        linear(np.ones(2), None)
    with pytest.raises(TypeError, match="a tangent has the dtype complex128"):
        linear(X + 1j, None)
    with pytest.raises(mlirad.DifferentiationError, match=r"no argument of .* is of floats"):
        mlirad.linearize(lambda n: n * 2.0, 3)
    inside = mlirad.jit(lambda x, t: mlirad.linearize(np.sin, x)[1](t, t))
    with pytest.raises(mlirad.ShapeError, match="a linear function of 1 primals is given 2 tangents"):
        inside(X, X)
