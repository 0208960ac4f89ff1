"""Networks and regressions learn on the simulator as on the cpu: the same losses, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import mlirad

datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn, of the extra `examples`, is not installed")
Array = np.ndarray[Any, Any]
TRAINED, BATCH = 1500, 100
BANDS: dict[Any, float] = {np.float32: 1e-5, np.float16: 5e-3}
"""The tolerance of the losses of a whole training, relative to float32 on the cpu."""


def network_loss(w: Array, b: Array, u: Array, c: Array, x: Array, y: Array) -> Any:
    z = np.maximum(x @ w + b, 0) @ u + c
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


def regression_loss(w: Array, b: Array, x: Array, y: Array) -> Any:
    z = x @ w + b
    return np.mean(np.logaddexp(np.zeros_like(z), z) - y * z)


def digits(dtype: Any) -> tuple[Array, Array]:
    data = datasets.load_digits()
    return (data.data / 16).astype(dtype), np.eye(10, dtype=dtype)[data.target]


def network(dtype: Any) -> list[Array]:
    rng = np.random.default_rng(0)
    start = rng.standard_normal((64, 32)) / 8, np.zeros(32), rng.standard_normal((32, 10)) / 6, np.zeros(10)
    return [each.astype(dtype) for each in start]


def train(
    gradient: Any, parameters: Sequence[Array], batches: Sequence[tuple[Array, Array]], rate: float
) -> tuple[list[float], list[Array]]:
    """The losses, and the learned parameters."""
    curve, learned = list[float](), list(parameters)
    for batch in batches:
        loss, slopes = gradient(*learned, *batch)
        learned = [(p - p.dtype.type(rate) * g).astype(p.dtype) for p, g in zip(learned, slopes, strict=True)]
        curve.append(float(loss))
    return curve, learned


def digits_curve(dtype: Any, target: str, count: int, size: int, epochs: int) -> tuple[list[float], float]:
    """The losses of the batches, and the share of the test images that is recognised."""
    x, y = digits(dtype)
    batches = [(x[first : first + size], y[first : first + size]) for first in range(0, count, size)] * epochs
    gradient = mlirad.value_and_grad(network_loss, argnums=(0, 1, 2, 3), target=target)
    curve, (w, b, u, c) = train(gradient, network(dtype), batches, 0.3)
    scores = np.maximum(x[count:].astype(np.float64) @ w + b, 0) @ u + c
    return curve, float((scores.argmax(1) == y[count:].argmax(1)).mean())


def test_a_network_learns_digits_as_on_the_cpu() -> None:
    found, expected = (digits_curve(np.float32, target, 48, 48, 6)[0] for target in ("ascend", "cpu"))
    np.testing.assert_allclose(found, expected, 1e-4)
    assert found[-1] < 0.95 * found[0]


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), BANDS.items())
def test_a_whole_training(dtype: Any, band: float) -> None:
    """Ten epochs of 1,500 images. The network recognises as many of the other 297 as the cpu's."""
    found, recognised = digits_curve(dtype, "ascend", TRAINED, BATCH, 10)
    expected, known = digits_curve(np.float32, "cpu", TRAINED, BATCH, 10)
    print(np.dtype(dtype), found[0], found[-1], np.abs(np.divide(found, expected) - 1).max(), recognised, known)
    np.testing.assert_allclose(found, expected, band)
    assert found[-1] < 0.15 * found[0]
    assert recognised > known - 0.01 > 0.85


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), [(np.float32, 1e-5), (np.float16, 2e-3)])
def test_a_logistic_regression_has_the_loss_curve_of_the_cpu(dtype: Any, band: float) -> None:
    """On scikit-learn's breast-cancer data: 569 rows of 30 features."""
    data = datasets.load_breast_cancer()
    x, y = (data.data - data.data.mean(0)) / data.data.std(0), data.target

    def curve(dtype: Any, target: str) -> list[float]:
        step = mlirad.value_and_grad(regression_loss, argnums=(0, 1), target=target)
        return train(step, [np.zeros(30, dtype), dtype(0)], [(x.astype(dtype), y.astype(dtype))] * 40, 1.0)[0]

    found = curve(dtype, "ascend")
    assert found[-1] < 0.15 * found[0]
    np.testing.assert_allclose(found, curve(np.float32, "cpu"), band, band)
