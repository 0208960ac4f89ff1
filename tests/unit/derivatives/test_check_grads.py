"""check_grads finds wrong derivatives and passes right ones; stop_gradient, and what `has_aux` may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.dialect.functions.trigonometry import ArctanOp

X = np.array([0.5, -1.5, 2.0])


def looped(x, p, n):
    y = x.copy()
    for i in range(1, n):
        y[i] = np.arctan(y[i - 1]) * p["scale"] + y[i]
    while np.abs(y[0]) < 3.0:
        y[0] = y[0] * 1.5
    return {"y": y, "n": n}, y.sum() ** 2


def test_right_derivatives_pass() -> None:
    mlirad.check_grads(looped, (X, {"scale": 0.7}, 3))
    mlirad.check_grads(lambda x: np.sum(x * x), (X.astype(np.float32),), order=1)
    mlirad.check_grads(mlirad.grad(lambda x: np.sum(np.sin(x) ** 3)), (X,), modes="rev", order=1)
    mlirad.check_grads(mlirad.vmap(lambda a: a**3), (X,), modes=["fwd"], order=2)


def test_tolerances_the_step_and_the_seed_are_used() -> None:
    nearly = mlirad.custom_jvp(lambda x: x * x)
    nearly.defjvps(lambda t, out, x: 2.001 * x * t)
    options: tuple[dict[str, Any], ...] = ({"rtol": 0.01}, {"atol": 0.1})
    for each in options:
        mlirad.check_grads(nearly, (3.0,), order=1, **each)
    with pytest.raises(AssertionError, match="order 1"):
        mlirad.check_grads(nearly, (3.0,), order=1)
    with pytest.raises(AssertionError, match="order 1"):  # a long step makes the differences wrong
        mlirad.check_grads(np.exp, (0.0,), order=1, eps=0.5)
    steps: list[set[float]] = [set(), set()]
    for seed, seen in enumerate(steps):

        def watched(x: Any, seen: set[float] = seen) -> Any:
            seen.add(float(x)) if isinstance(x, float) else None
            return x * 1.0

        with mlirad.disable_jit():
            mlirad.check_grads(watched, (1.0,), order=1, modes="fwd", seed=seed)
    assert steps[0] and steps[1] and steps[0] != steps[1]


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_derivatives_are_found(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    monkeypatch.setattr(ArctanOp, "vjp", lambda _self, g, _out, x: g / (1.0 + x * x * x))
    with pytest.raises(AssertionError, match=f"order 1, {mode}"):
        mlirad.check_grads(lambda x: np.sum(np.arctan(x)), (X,), order=1, modes=(mode,))


def test_a_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    cut = lambda _self, g, _out, x: g / (1.0 + mlirad_stopped(x) * x)
    monkeypatch.setattr(ArctanOp, "vjp", cut)
    function = lambda x: np.sum(np.arctan(x))
    mlirad.check_grads(function, (X,), order=1)
    with pytest.raises(AssertionError, match="order 2, fwd of fwd"):
        mlirad.check_grads(function, (X,), modes=("fwd",))


def mlirad_stopped(x: Any) -> Any:
    from mlirad.dialect.ad.tape import StopOp
    from mlirad.dialect.core.expr import emit

    return emit(StopOp, x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mlirad.check_grads(np.sin, (X,), modes=("forward",)), ValueError, "modes are 'fwd' and 'rev'"),
        (lambda: mlirad.check_grads(np.sin, (X,), order=0), ValueError, "order must be 1 or more"),
        (lambda: mlirad.check_grads(np.sin, "x"), TypeError, "args must be a tuple"),
        (lambda: mlirad.check_grads(np.sin, (3,)), TypeError, "no argument has floats"),
    ],
)
def test_wrong_calls(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- stop_gradient ------------------------------------------------------------------------------------------------


def stopped(x, w):
    still = mlirad.stop_gradient({"x": x, "w": w, "n": 2})
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * still["x"][i] * w + mlirad.stop_gradient(total) * 0.5
    return total * still["w"] * still["n"]


def test_stop_gradient() -> None:
    @mlirad.jit
    def several(x, w):
        return (
            stopped(x, w),
            mlirad.grad(stopped, argnums=(0, 1))(x, w),
            mlirad.jvp(stopped, (x, w), (np.ones(3), 0.0))[1],
            mlirad.grad(lambda x: mlirad.grad(lambda y: np.sum(y**2 * mlirad.stop_gradient(y)))(x).sum())(x),
            mlirad.vmap(lambda a: mlirad.grad(lambda b: mlirad.stop_gradient(b) * b)(a))(x),
        )

    value, (by_x, by_w), along, second, lanes = several(X, 1.5)
    assert value == pytest.approx(stopped(X, 1.5), rel=1e-14)
    np.testing.assert_allclose(by_x, X * 1.5 * 1.5 * 2)
    assert by_w == pytest.approx(np.sum(X * X) * 1.5 * 2) and along == pytest.approx(by_x.sum())
    np.testing.assert_allclose(second, 2 * X)  # of 2 y stop(y)
    np.testing.assert_allclose(lanes, X)


def test_stop_gradient_copies() -> None:
    def f(x):
        y = mlirad.stop_gradient(x)
        y[0] = 9.0
        return y, x

    for found in (f(X), mlirad.jit(f)(X)):
        np.testing.assert_array_equal(found, ([9.0, *X[1:]], X))


# --- aux ----------------------------------------------------------------------------------------------------------


def test_aux_of_several_values() -> None:
    def f(x):
        return np.sum(x * x), x.shape[0], [x]

    gradient, (count, (same,)) = mlirad.grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    np.testing.assert_array_equal(same, X)
    (value, aux), _ = mlirad.value_and_grad(f, has_aux=True)(X)
    assert value == np.sum(X * X) and aux[0] == count == 3
    out, pullback, aux = mlirad.vjp(f, X, has_aux=True)
    np.testing.assert_array_equal(pullback(1.0)[0], 2 * X)
    assert out == value and aux[0] == 3
    jacobian, aux = mlirad.jacrev(f, has_aux=True)(X)
    np.testing.assert_array_equal(jacobian, 2 * X)
    assert aux[0] == 3
