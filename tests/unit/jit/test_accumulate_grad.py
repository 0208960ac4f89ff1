"""`mlirad.accumulate_grad`: the loss of a batch and its gradient, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((10, 8, 8)) * 0.4
X, Y = RNG.standard_normal((64, 8)), RNG.standard_normal((64, 8))


def loss(weights, x, y):
    h = x
    for w in weights:
        h = np.tanh(np.sin(h @ w) + h)
    return np.mean((h - y) ** 2)


def test_the_gradient_is_that_of_the_batch_and_needs_the_memory_of_a_part() -> None:
    whole = mlirad.value_and_grad(loss)
    expected, memory = whole(WEIGHTS, X, Y), whole.last_memory()
    assert memory is not None
    for parts, share in ((1, 1.1), (4, 0.3), (64, 0.1)):
        in_parts = mlirad.value_and_grad(mlirad.accumulate_grad(loss, parts))
        value, gradient = in_parts(WEIGHTS, X, Y)
        np.testing.assert_allclose(value, expected[0], rtol=1e-13)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-16)
        report = in_parts.lower(WEIGHTS, X, Y).memory()
        assert report.is_exact and report.total.static == in_parts.last_memory() <= share * memory


def summed(params, batch, scale):
    """A sum over examples, which are along axis 1 of one array, and a metric of arrays."""
    residual = params["w"] @ batch["x"] - batch["y"]
    return np.sum(residual**2) * scale, {"per row": np.sum(residual, axis=1)}


def test_which_arguments_are_cut_and_along_which_axis() -> None:
    params = {"w": RNG.standard_normal((3, 5))}
    batch = {"x": RNG.standard_normal((5, 6)), "y": RNG.standard_normal((3, 6))}
    in_parts = mlirad.accumulate_grad(summed, 3, in_axes=(None, {"x": 1, "y": -1}, None), reduce="sum")
    (value, aux), gradient = mlirad.value_and_grad(in_parts, has_aux=True)(params, batch, 0.5)
    expected_value, expected_aux = summed(params, batch, 0.5)
    np.testing.assert_allclose(value, expected_value)
    np.testing.assert_allclose(aux["per row"], expected_aux["per row"])
    residual = params["w"] @ batch["x"] - batch["y"]
    np.testing.assert_allclose(gradient["w"], residual @ batch["x"].T, rtol=1e-12)


def test_inside_of_a_kernel_and_twice() -> None:
    v = np.cos(WEIGHTS)

    def product(f: Any) -> Any:
        return mlirad.jit(lambda w, v: mlirad.hvp(lambda w: f(w, X, Y), (w,), (v,))[0])(WEIGHTS, v)

    in_parts = product(lambda *args: mlirad.accumulate_grad(loss, n_micro=2)(*args))
    np.testing.assert_allclose(in_parts, product(loss), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mlirad.accumulate_grad(loss, 3)(WEIGHTS, X, Y), "64 examples cannot be cut into 3 equal parts"),
        (lambda: mlirad.accumulate_grad(loss, 2, in_axes=(None, 0))(WEIGHTS, X, Y), "2 items for 3 arguments"),
        (lambda: mlirad.accumulate_grad(loss, 0), "n_micro is a number of parts, and 0 is less than 1"),
        (lambda: mlirad.accumulate_grad(loss, 2.0), "n_micro is a number of parts, not 2.0"),  # pyright: ignore[reportArgumentType] - it is refused
        (lambda: mlirad.accumulate_grad(loss, 2, reduce="max"), "reduce is 'mean' or 'sum'"),
        (lambda: mlirad.accumulate_grad(lambda w, x: len(x), 2)(WEIGHTS, X), "added up for all parts"),
        (lambda: mlirad.accumulate_grad(lambda w, x: x.fill(0), 2)(WEIGHTS, X), "changes something outside of it"),
    ],
)
def test_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, mlirad.CompileError), match=message):
        call()
