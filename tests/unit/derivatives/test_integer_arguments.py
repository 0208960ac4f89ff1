"""jvp and vjp where some arguments are counts, indices or options: these have no derivative."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad
from mlirad.errors import DifferentiationError

X = np.array([0.5, 1.5, -2.0])


def iterated(x, n):
    y = x
    for _ in range(n):
        y = np.sin(y) * x
    return np.sum(y)


def picked(x, index, options):
    return np.sum(x[index] ** 2) * options["k"] * (2.0 if options["mode"] == "double" else 1.0)


def difference(function, x, t):
    h = 1e-6
    return (function(x + h * t) - function(x - h * t)) / (2 * h)


def test_jvp() -> None:
    t = np.array([1.0, -1.0, 0.5])
    for tangent in (None, 0, False, 0.0):
        out, slope = mlirad.jvp(iterated, (X, 3), (t, tangent))
        assert out == pytest.approx(iterated(X, 3), rel=1e-15)
        assert slope == pytest.approx(difference(lambda x: iterated(x, 3), X, t), rel=1e-8)
    index, options = np.array([0, 2, 2]), {"k": 3, "mode": "double"}
    _, slope = mlirad.jvp(picked, (X, index, options), (t, None, {"k": None, "mode": None}))
    assert slope == pytest.approx(difference(lambda x: picked(x, index, options), X, t), rel=1e-8)


def test_vjp_is_dual_to_jvp() -> None:
    index, options = np.array([0, 2, 2]), {"k": 3, "mode": "double"}
    for function, rest, none in (
        (iterated, (4,), (None,)),
        (picked, (index, options), (None, {"k": None, "mode": None})),
    ):
        out, pullback = mlirad.vjp(function, X, *rest)
        cotangent, *others = pullback(1.0)
        assert out == pytest.approx(function(X, *rest), rel=1e-15) and tuple(others) == none
        for t in np.eye(3):
            assert cotangent @ t == pytest.approx(mlirad.jvp(function, (X, *rest), (t, *none))[1], rel=1e-12)


def test_inside_a_kernel() -> None:
    @mlirad.jit
    def both(x, n):
        _, pullback = mlirad.vjp(iterated, x, n)
        first, second = pullback(1.0)
        assert second is None
        return first, mlirad.jvp(iterated, (x, n), (x, None))[1]

    first, along = both(X, 2)
    assert np.allclose(first, mlirad.grad(iterated)(X, 2), rtol=1e-14) and along == pytest.approx(first @ X, rel=1e-12)


def test_second_order() -> None:
    def slope(x, n):
        return mlirad.jvp(lambda y, k: y**k, (x, n), (1.0, None))[1]

    assert mlirad.grad(slope)(2.0, 4) == 48.0


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="the tangent of a Python int, which has no derivative, is None"):
        mlirad.jvp(iterated, (X, 3), (X, 1))
    with pytest.raises(TypeError, match=r"a tangent or cotangent of an array .* is None"):
        mlirad.jvp(iterated, (X, 3), (None, None))
    for call in (lambda: mlirad.vjp(lambda n: n * 2, 3), lambda: mlirad.jvp(lambda n: n * 2, (3,), (None,))):
        with pytest.raises(DifferentiationError, match="is of floats"):
            call()
    with pytest.raises(DifferentiationError) as caught:
        mlirad.grad(iterated, argnums=1)(X, 3)
    assert caught.value.hint is not None and caught.value.hint.startswith("leave it out of argnums= if it is a count")
    with pytest.raises(DifferentiationError, match=r"pass x.astype\(float\)"):
        mlirad.grad(lambda x: np.sum(x))(np.arange(3))
