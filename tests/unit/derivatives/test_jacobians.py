"""jacfwd, jacrev, hessian and hvp against differences, one another, and SciPy's Hessian of Rosenbrock's function."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import mlirad
from mlirad import tree

RNG = np.random.default_rng(7)
X, W = RNG.normal(size=4), RNG.normal(size=(4, 2))


@dataclass
class Result:
    states: Any
    total: Any


def chain(x, w):
    """A recurrence with a branch, and a loop with a trip count that depends on data."""
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = np.sin(y[i - 1]) * w["a"][i, 0] + x[i]
        if y[i] > 0.5:
            y[i] *= w["b"]
    total = y.sum()
    while abs(total) < 10.0:
        total = total * 1.5 + w["b"]
    return Result((y, 2.0), [total])


def rosen_hess(x: np.ndarray) -> np.ndarray:
    return np.asarray(optimize.rosen_hess(x))


def differences(function: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The Jacobian of a function of an array, by central differences."""
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    columns = [(np.asarray(function(x + s)) - np.asarray(function(x - s))) / (2 * h) for s in steps]
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


def test_all_parts_of_a_jacobian() -> None:
    w = {"a": W, "b": 1.25}

    @mlirad.jit
    def both(x, w):
        return mlirad.jacfwd(chain, argnums=(0, 1))(x, w), mlirad.jacrev(chain, argnums=(0, 1))(x, w)

    forward, reverse = both(X, w)
    (leaves, structure), (others, same) = tree.flatten(forward), tree.flatten(reverse)
    assert structure == same
    for leaf, other in zip(leaves, others, strict=True):
        assert np.shape(leaf) == np.shape(other)
        np.testing.assert_allclose(leaf, other, rtol=1e-12, atol=1e-14)
    assert isinstance(forward, Result)
    by_x, by_w = forward.states[0]
    np.testing.assert_allclose(by_x, differences(lambda x: chain(x, w).states[0], X), atol=1e-8)
    np.testing.assert_allclose(by_w["a"], differences(lambda a: chain(X, {**w, "a": a}).states[0], W), atol=1e-8)
    b = np.array(1.25)
    np.testing.assert_allclose(by_w["b"], differences(lambda b: chain(X, {**w, "b": b}).states[0], b), atol=1e-8)
    by_x, by_w = forward.states[1]  # of a constant
    assert not by_x.any() and by_x.shape == X.shape and not by_w["a"].any() and by_w["b"] == 0.0
    by_x, by_w = forward.total[0]
    np.testing.assert_allclose(by_x, differences(lambda x: chain(x, w).total[0], X), atol=1e-6)
    np.testing.assert_allclose(by_w["a"], differences(lambda a: chain(X, {**w, "a": a}).total[0], W), atol=1e-6)
    assert isinstance(by_w["b"], float)


def test_shapes_and_dtypes() -> None:
    def outer(x, y):
        return np.multiply.outer(x, y), x.sum() * y[0]

    x, y = RNG.normal(size=(2, 3)).astype(np.float32), RNG.normal(size=2).astype(np.float32)
    for transform in (mlirad.jacfwd, mlirad.jacrev):
        full, scalar = transform(outer, argnums=1)(x, y)
        assert full.shape == (2, 3, 2, 2) and full.dtype == scalar.dtype == np.float32
        np.testing.assert_allclose(full, np.multiply.outer(x, np.eye(2, dtype=np.float32)), rtol=1e-6)
        np.testing.assert_allclose(scalar, [x.sum(), 0.0], rtol=1e-6)
        empty = transform(lambda x: np.concatenate((x, x)))(np.zeros(0))
        assert empty.shape == (0, 0)
        assert transform(lambda x: x[:0])(y).shape == (0, 2)
        assert transform(lambda x: x * x * x)(2.0) == 12.0
        of_strided = transform(lambda x: x * x)(np.arange(6.0)[::-2])
        np.testing.assert_array_equal(of_strided, np.diag([10.0, 6.0, 2.0]))


def test_the_dtype_is_the_arguments() -> None:
    def mixed(x, y):
        return x.astype(np.float64) * y[0], (y * y).astype(np.float32), x[0] * 2

    x, y = np.ones(2, np.float32), np.ones(3)
    for transform in (mlirad.jacfwd, mlirad.jacrev):
        for by_x, by_y in transform(mixed, argnums=(0, 1))(x, y):
            assert (by_x.dtype, by_y.dtype) == (np.float32, np.float64)
        assert type(transform(lambda x: np.float32(x) * x)(2.0)) is float
    (xx, xy), (yx, yy) = mlirad.hessian(lambda x, y: np.sum(x * y[:2]) ** 2, argnums=(0, 1))(x, y)
    assert [each.dtype.name for each in (xx, xy, yx, yy)] == ["float32", "float64", "float32", "float64"]


def test_directions_at_once_are_directions_one_by_one() -> None:
    """Loops over single elements, and arrays of 5000 elements that all directions share."""

    def cell(p):
        h, y = np.zeros(4), np.zeros(3)
        for t in range(20):
            for i in range(4):
                h[i] = np.sin(h[i - 1] * p[i] + p[4]) if i else h[i] * p[5] + p[3]
            y[t % 3] += h[2]
        return y

    def decay(p):
        x, y = np.linspace(0, 1, 5000), np.zeros(5000)
        for k in range(3):
            y = y + p[2 * k] * np.exp(-p[2 * k + 1] * x) * np.cos(y)
        return np.array([y.sum(), y @ y])

    p = RNG.uniform(0.2, 0.8, size=6)
    for function in (cell, decay):
        found = mlirad.jacfwd(function)(p)
        np.testing.assert_allclose(found, mlirad.jacrev(function)(p), rtol=1e-11)
        np.testing.assert_allclose(found, differences(function, p), rtol=1e-5, atol=1e-6)
    text = mlirad.jacfwd(decay).lower(p).as_text("optimized")
    assert "tensor<6x5000xf64>" in text and text.count("nd.exp") == 1


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_loop(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2
        if x[i] != 1.0:
            total += (1.0 - x[i]) ** 2
    return total


@pytest.mark.parametrize("function", [rosenbrock, rosenbrock_by_loop])
def test_hessian_and_products(function: Any) -> None:
    x, v = RNG.normal(size=6), RNG.normal(size=6)
    np.testing.assert_allclose(mlirad.hessian(function)(x), rosen_hess(x), rtol=1e-12, atol=1e-11)
    (product,) = mlirad.hvp(function, (x,), (v,))
    np.testing.assert_allclose(product, rosen_hess(x) @ v, rtol=1e-11)


def test_second_derivatives_by_several_arguments() -> None:
    def energy(x, c, n):
        return c * np.sum(np.sin(x) ** n) + c**3, {"count": n}

    (xx, xc), (cx, cc) = mlirad.hessian(energy, argnums=(0, 1), has_aux=True)(X, 1.5, 2)[0]
    np.testing.assert_allclose(xx, np.diag(1.5 * 2 * np.cos(2 * X)), atol=1e-14)
    np.testing.assert_allclose(xc, np.sin(2 * X), atol=1e-14)
    np.testing.assert_array_equal(xc, cx)
    assert cc == pytest.approx(9.0)
    jacobian, aux = mlirad.jacrev(energy, argnums=1, has_aux=True)(X, 1.5, 2)
    assert jacobian == pytest.approx(np.sum(np.sin(X) ** 2) + 3 * 1.5**2) and aux == {"count": 2}
    value = lambda x, c, n: energy(x, c, n)[0]
    by_x, by_c, by_n = mlirad.hvp(value, (X, 1.5, 2), (W[:, 0], 0.5, None))
    np.testing.assert_allclose(by_x, xx @ W[:, 0] + xc * 0.5, atol=1e-14)
    assert by_c == pytest.approx(cx @ W[:, 0] + cc * 0.5) and by_n is None


def test_inside_other_transforms() -> None:
    @mlirad.jit
    def several(xs):
        squared = lambda x: np.sin(x) * x.sum()
        return (
            mlirad.vmap(mlirad.jacrev(squared))(xs),
            mlirad.vmap(mlirad.hessian(rosenbrock))(xs),
            mlirad.grad(lambda x: np.sum(mlirad.jacrev(squared)(x) ** 2))(xs[0]),
            mlirad.jacfwd(lambda x: mlirad.vmap(lambda a: a * x)(x))(xs[0]),
        )

    xs = RNG.normal(size=(2, 3))
    jacobians, hessians, slope, products = several(xs)

    def jacobian(x):
        return np.diag(np.cos(x) * x.sum()) + np.sin(x)[:, None]

    np.testing.assert_allclose(jacobians, [jacobian(x) for x in xs], rtol=1e-12)
    np.testing.assert_allclose(hessians, [rosen_hess(x) for x in xs], rtol=1e-11)
    np.testing.assert_allclose(slope, differences(lambda x: np.sum(jacobian(x) ** 2), xs[0]), rtol=1e-7)
    np.testing.assert_allclose(products, differences(lambda x: np.outer(x, x), xs[0]), atol=1e-9)


def test_one_forward_sweep() -> None:
    """The rows of a reverse-mode Jacobian share the forward sweep: its sine is not in the loop over the rows."""
    text = mlirad.jacrev(lambda x: np.sin(np.cumsum(x)) * x).lower(X).as_text("autodiff")
    _, _, body = text.split("{", 2)
    assert body.index("nd.sin") < body.index("tensor<4x4xf64>")
    assert text.count("nd.sin") == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mlirad.jacfwd(lambda x: x > 0)(X), "returns an array .* bool, which has no derivative"),
        (lambda: mlirad.jacrev(lambda x: (x, 3))(X), "the int 3, which has no derivative"),
        (lambda: mlirad.jacfwd(lambda x: x)(np.arange(3)), "int64, and only floats have derivatives"),
        (lambda: mlirad.hessian(lambda x: x)(X, argnums=3), "argnums"),
        (lambda: mlirad.jacrev(lambda x: x, argnums=1)(X), "argnums=1 of <lambda>, which is called with 1 argument"),
        (lambda: mlirad.jacrev(lambda x: x, has_aux=True)(X), "with has_aux=True returns no pair"),
        (lambda: mlirad.hvp(rosenbrock, (X,), (X, X)), "1 primals and 2 tangents"),
        (lambda: mlirad.hvp(lambda n: 1.0 * n, (3,), (None,)), "only floats have derivatives"),
        (lambda: mlirad.hvp(lambda x: x, (X,), (X,)), "the gradient of <lambda> needs a scalar"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def waves(p, x):
    """Functions in a loop, of what the parameters scale."""
    y = x
    for k in range(3):
        y = np.sin(y * p[k]) + np.exp(-y * y) * np.sqrt(1.0 + p[k] ** 2) / np.cosh(y)
    return y


def in_three_directions(f: Any) -> Any:
    return mlirad.jit(lambda p, x: mlirad.vmap(lambda v: mlirad.jvp(f, (p, x), (v, np.zeros_like(x)))[1])(np.eye(3)))


@pytest.mark.parametrize("transform", [mlirad.jacfwd, in_three_directions])
def test_functions_of_values_are_computed_once_for_all_directions(transform: Any) -> None:
    """All directions share the sines of the value: no function is computed on an array with an axis of directions."""
    text = transform(waves).lower(np.ones(3), np.ones(1100)).as_text("optimized")
    of_directions = "tensor<3x1100xf64>"
    computed = [line.split(" loc(")[0] for line in text.splitlines()]
    functions = [line for line in computed if re.search(r"nd\.(sin|cos|exp|sqrt|cosh|sinh|tanh) ", line)]
    assert len(functions) >= 4
    assert not [line for line in functions if of_directions in line]
    assert of_directions in text
