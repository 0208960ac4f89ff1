"""What training needs beside layers: running statistics and dropout, with PyTorch's numbers, and losses in float16.

The constants are what PyTorch 2.13 gives in float64 for batch_norm(x, m, v, s, b, training=True), twice, and
then with training=False.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import nn, random


def sines(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape), dtype=np.float32) * 0.7).reshape(shape).astype(np.float32)


def require(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


S, B = np.array([0.5, 2.0, 1.5]), np.array([0.1, -0.2, 0.3])


def test_batch_norm_keeps_running_statistics_in_place() -> None:
    def loss(x: Any, s: Any, b: Any, means: Any, variances: Any) -> Any:
        y = nn.batch_norm(x, s, b, running=(means, variances))
        return np.sum(y**3), y

    x, means, variances = sines(4, 3, 2, 2).astype(np.float64), np.zeros(3), np.ones(3)
    plain = means.copy(), variances.copy()
    gradient = mlirad.grad(loss, (0, 1, 2), has_aux=True)
    for _ in range(2):
        (dx, ds, db), y = gradient(x, S, B, means, variances)
        nn.batch_norm(x, S, B, running=plain)
    require(means, [0.030710413421038543, -0.023486109313089403, 0.013547884150175379])
    require(variances, [0.9078087616848385, 0.9079636929977195, 0.9081093772763714])
    require(plain, (means, variances))
    # PyTorch has added the gradients of both turns.
    require(2 * ds, [0.7346623290620421, -32.48695147088664, 91.50148358626177])
    require(2 * db, [24.959502713342573, 387.83205599670316, 224.63553813336262])
    require(2 * dx[1, 2], [[20.79663330724473, 6.188894039108994], [-26.10195325877293, -16.298055316769336]])
    require(y[1, 2], [[2.281897659345139, 1.9695972917012858], [0.7997610841296322, -0.6774209205497829]])
    known = nn.batch_norm(x, S, B, mean=means, variance=variances)
    require(known[1, 2], [[1.8379449770546354, 1.609926727659331], [0.7558002783625292, -0.3227269654137585]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: nn.batch_norm(x, running=(S, B), mean=S), "leave mean and variance out"),
        (lambda x: nn.batch_norm(x, running=(S[:2], B)), "must have 3 numbers each"),
        (lambda x: nn.batch_norm(x[:1, :, 0, 0], running=(S, B)), "make the batch larger"),
        (lambda x: nn.dropout(x, 1.5, key=random.key(0)), "from 0 to 1"),
    ],
)
def test_what_has_no_statistics_is_refused(wrong: Any, message: str) -> None:
    for function in (wrong, mlirad.jit(wrong)):
        with pytest.raises(ValueError, match=message):
            function(sines(4, 3, 2, 2))


def test_dropout_of_a_key_and_of_a_generator() -> None:
    """Kept elements are divided by 1 - p, as in PyTorch; its gradients for p = 0.3 are 0 and 1.4285714626312256."""

    def by_key(x: Any, key: Any) -> Any:
        y = nn.dropout(x, 0.3, key=key)
        return np.sum(y), y, nn.dropout(x, 1.0, key=key), nn.dropout(x, 0.0, key=key)

    def by_generator(x: Any, rng: Any) -> Any:
        return np.sum(nn.dropout(x, 0.3, rng=rng))

    x, key = sines(10, 400), random.key(3)
    y = by_key(x, key)[1]
    _, again, none, all_ = mlirad.jit(by_key)(x, key)
    np.testing.assert_array_equal(y, again)
    assert y.dtype == np.float32 and not none.any() and (all_ == x).all()
    slope = mlirad.grad(lambda x, key: by_key(x, key)[0])(x, key)
    assert set(np.unique(slope).tolist()) == {0.0, 1.4285714626312256}
    np.testing.assert_array_equal(slope[x != 0] != 0, y[x != 0] != 0)
    assert abs(np.mean(slope == 0) - 0.3) < 0.03  # more than four standard deviations
    assert not np.array_equal(y, by_key(x, random.key(4))[1])

    one, other = np.random.default_rng(5), np.random.default_rng(5)
    value, slope = mlirad.value_and_grad(by_generator)(x, one)
    np.testing.assert_allclose(value, by_generator(x, other), rtol=1e-5)
    assert one.bit_generator.state == other.bit_generator.state  # drawn once, value and gradient together
    np.testing.assert_array_equal(slope != 0, np.random.default_rng(5).random(x.shape) >= 0.3)
    with pytest.raises(TypeError, match="draws from one source"):
        mlirad.jit(lambda x: nn.dropout(x))(x)


def test_products_and_norms_of_float16_are_added_in_float32() -> None:
    ones, tenths = np.ones(2, np.float16), np.full((5000, 2), 0.1, np.float16)

    def loss(w: Any, x: Any) -> Any:
        return np.sum((x * w).astype(np.float32))

    exact = 5000 * float(np.float16(0.1))
    assert abs(mlirad.grad(loss)(ones, tenths)[0] - exact) < exact * 2**-11  # half a unit in the last place
    large = (sines(4, 3, 2, 2) * 2000).astype(np.float16)  # their squares are infinite
    for norm in (nn.batch_norm, nn.layer_norm):
        found = mlirad.jit(norm)(large)
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, norm(large.astype(np.float64)), rtol=2**-11, atol=1e-3)


def descent(scaler: nn.LossScaler, steps: int) -> tuple[Any, list[float]]:
    """Training of w by a loss so flat that its gradient in float16 is less than the least number there, 6e-8."""

    def scaled_loss(params: Any, x: Any, scale: Any) -> Any:
        w = nn.cast(params, np.float16)["w"]
        error = (x * w - x).astype(np.float32)
        return 2e-6 * np.mean(error * error) * scale

    params, x = {"w": np.zeros(4, np.float32)}, np.full((8, 4), 0.1, np.float16)
    gradient, scales = mlirad.grad(scaled_loss), []
    for _ in range(steps):
        found = scaler.unscaled(gradient(params, x, scaler.scale))
        scales.append(scaler.scale)
        if scaler.adjust(found):
            params = {"w": params["w"] - 5e7 * found["w"]}
    return params["w"], scales


def test_a_loss_whose_gradient_underflows_trains_only_with_the_scaler() -> None:
    without, _ = descent(nn.LossScaler(scale=1.0, interval=10**9), 20)
    assert not without.any(), "the gradient is not 0: the loss is not flat enough for this test"
    trained, scales = descent(nn.LossScaler(scale=2.0**15, interval=4), 20)
    np.testing.assert_allclose(trained, 1.0, atol=0.05)
    assert scales[3:6] == [2.0**15, 2.0**16, 2.0**16]


def test_the_scale_doubles_after_good_steps_and_halves_at_inf_and_nan() -> None:
    scaler = nn.LossScaler(scale=8.0, interval=2)
    good = {"w": (np.ones(2, np.float16), np.float32(1.0))}
    scales = []
    for bad in (None, None, np.inf, None, np.nan, None, None):
        gradients = good if bad is None else {"w": (np.array([1.0, bad], np.float16), np.float32(1.0))}
        assert scaler.adjust(gradients) == (bad is None)
        scales.append(scaler.scale)
    assert scales == [8.0, 16.0, 8.0, 8.0, 4.0, 4.0, 8.0]
    unscaled = scaler.unscaled(good)["w"]
    assert unscaled[0].dtype == np.float32 and unscaled[0].tolist() == [0.125] * 2
    for _ in range(100):
        scaler.adjust({"w": np.float32(np.inf)})
    assert scaler.scale == 1.0
