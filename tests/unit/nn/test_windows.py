"""Windows and layers on arrays of all kinds, their second derivatives, and what is refused, at the user's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import nn
from mlirad.library.nn.geometry import images_at_once
from mlirad.library.nn.windowing import overlap, windows

RNG = np.random.default_rng(7)
X, W = RNG.standard_normal((3, 2, 5, 6)), RNG.standard_normal((4, 2, 3, 3))


def naive_conv2d(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """The definition, element by element."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height, width = ((size + 2 * padding - k) // stride + 1 for size, k in zip(x.shape[2:], w.shape[2:], strict=True))
    y = np.zeros((x.shape[0], w.shape[0], height, width))
    for n, o, i, j in np.ndindex(y.shape):
        place = padded[n, :, i * stride : i * stride + w.shape[2], j * stride : j * stride + w.shape[3]]
        y[n, o, i, j] = np.sum(place * w[o])
    return y


@mlirad.jit
def strided(x, w):
    return nn.conv2d(x, w, 2, 1)


@pytest.mark.parametrize(
    "x", [X, X[:0], X[:1], X[:, ::-1, ::-1, ::-1], X[..., ::2], np.asfortranarray(X), X.astype(np.float32)]
)
def test_arrays_of_all_kinds(x: np.ndarray) -> None:
    np.testing.assert_allclose(strided(x, W), naive_conv2d(x, W, 2, 1), rtol=1e-6, atol=1e-6)


def test_integers_and_mixed_dtypes() -> None:
    x, w = (10 * X).astype(np.int32), (10 * W).astype(np.int64)
    assert strided(x, w).dtype == np.int64
    np.testing.assert_array_equal(strided(x, w), naive_conv2d(x, w, 2, 1))
    y, mean = mlirad.jit(lambda x: (nn.max_pool2d(x, 3, padding=1), nn.avg_pool2d(x, 2)))(x)
    np.testing.assert_array_equal(y, nn.max_pool2d(x.astype(float), 3, padding=1))
    np.testing.assert_array_equal(mean, nn.avg_pool2d(x.astype(float), 2))


def test_a_batch_of_a_length_that_only_the_run_knows() -> None:
    kernel = mlirad.jit(lambda x, w, count: nn.max_pool2d(nn.conv2d(x[:count], w), 2))
    for count in (0, 1, 3):
        np.testing.assert_allclose(kernel(X, W, count), kernel.numpy(X, W, count))


@pytest.mark.parametrize(("batch", "kernel", "padding"), [(8, 3, 1), (3, 1, 0)])
def test_images_that_share_a_product_are_those_alone(batch: int, kernel: int, padding: int) -> None:
    x, w = RNG.standard_normal((batch, 288, 8, 8)), RNG.standard_normal((64, 288, kernel, kernel))
    assert images_at_once(batch, 64, 288 * kernel * kernel, 64) == (4 if batch == 8 else 3)
    r = RNG.standard_normal((batch, 64, 8, 8))

    def product(x, w, r):
        return np.sum(nn.conv2d(x, w, 1, padding) * r)

    kernels = mlirad.jit(lambda x, w: nn.conv2d(x, w, 1, padding)), mlirad.grad(product, argnums=(0, 1))
    parts = [(kernels[0](x[n : n + 1], w), *kernels[1](x[n : n + 1], w, r[n : n + 1])) for n in range(batch)]
    values, images, weights = zip(*parts, strict=True)
    by_image, by_weights = kernels[1](x, w, r)
    np.testing.assert_allclose(kernels[0](x, w), np.concatenate(values), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(nn.conv2d(x, w, 1, padding), np.concatenate(values), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_image, np.concatenate(images), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_weights, sum(weights), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((4, 49, 4608, 512), 4),  # all images have 196 columns
        ((32, 49, 4608, 512), 8),  # the fewest with 256 columns
        ((61, 49, 4608, 512), 61),  # a prime number
        ((997, 49, 4608, 512), 1),  # too many, and no equal parts
        ((4, 784, 1152, 128), 1),  # enough places
        ((4, 49, 64, 512), 1),  # short sums
        ((4, 49, 4608, 16), 1),  # few results
        ((0, 49, 4608, 512), 1),
    ],
)
def test_images_of_few_places_share_a_product(sizes: tuple[int, int, int, int], count: int) -> None:
    assert images_at_once(*sizes) == count


def loss(x, w):
    y = nn.conv2d(x, w, (2, 1), "same", groups=1)
    z = nn.conv_transpose2d(np.tanh(y), w, 2, 1)
    return np.sum(nn.avg_pool2d(z * z, 2)) + np.sum(nn.max_pool2d(z, 2) ** 3)


def test_forward_and_reverse_mode_of_second_order_agree_with_differences() -> None:
    x, w = X[:1], W
    dx, dw = RNG.standard_normal(x.shape), RNG.standard_normal(w.shape)
    gradient = mlirad.grad(loss, argnums=(0, 1))

    def slope(x, w):
        gx, gw = gradient(x, w)
        return np.sum(gx * dx) + np.sum(gw * dw)

    _, forward = mlirad.jvp(loss, (x, w), (dx, dw))
    np.testing.assert_allclose(forward, slope(x, w), rtol=1e-10)
    h = 1e-6
    np.testing.assert_allclose(
        forward, (loss(x + h * dx, w + h * dw) - loss(x - h * dx, w - h * dw)) / (2 * h), rtol=1e-7
    )
    second = mlirad.grad(slope, argnums=(0, 1))(x, w)
    higher, lower = gradient(x + h * dx, w + h * dw), gradient(x - h * dx, w - h * dw)
    for found, one, other in zip(second, higher, lower, strict=True):
        np.testing.assert_allclose(found, (one - other) / (2 * h), rtol=1e-5, atol=1e-5)


def test_windows_and_overlap_are_transposes() -> None:
    rule = ((0, 1, 1, 0), (1, 2, 1, 2))
    x, y = RNG.standard_normal((7, 8)), RNG.standard_normal((3, 3, 4, 3))
    assert np.isclose(np.sum(windows(x, *rule, y.shape) * y), np.sum(x * overlap(y, *rule, x.shape)))


REFUSED = [
    (lambda x, w: nn.conv2d(x, w[:, :1]), ValueError, "w is for 1 * 1 channels, x has 2"),
    (lambda x, w: nn.conv2d(x[0], w), ValueError, "x must have 4 axes, not 3"),
    (lambda x, w: nn.conv2d(x, w, stride=0), ValueError, "stride must be at least 1, not 0"),
    (lambda x, w: nn.conv2d(x, w, stride=(1, 2, 3)), ValueError, "stride has 3 numbers, for 2 axes"),
    (lambda x, w: nn.conv2d(x, w, stride=1.5), TypeError, "stride must be an integer or 2 of them, not 1.5"),
    (
        lambda x, w: nn.conv2d(x, w, padding="full"),
        ValueError,
        "padding must be 'same', 'valid' or numbers, not 'full'",
    ),
    (lambda x, w: nn.conv2d(x, w, padding=-1), ValueError, "padding must be at least 0"),
    (lambda x, w: nn.conv2d(x, w, dilation=3), ValueError, "windows that span (7, 7) do not fit in (5, 6)"),
    (lambda x, w: nn.conv2d(x, w, groups=3), ValueError, "2 channels and 4 results are not in 3 groups"),
    (lambda x, w: nn.conv2d(x, w, layout="CHWN"), ValueError, "layout must be 'NCHW' or 'NHWC', not 'CHWN'"),
    (lambda x, w: nn.conv2d(x, w, bias=w[0, 0]), ValueError, "bias must have the shape (4,), not (3, 3)"),
    (lambda x, w: nn.conv_transpose2d(x, w), ValueError, "w is for 4 channels, x has 2"),
    (lambda x, w: nn.conv_transpose2d(x, w[:2], output_padding=1), ValueError, "output_padding (1, 1) must be smaller"),
    (lambda x, w: nn.max_pool2d(x, 2, padding=2), ValueError, "padding must be at most half the size"),
    (lambda x, w: nn.avg_pool2d(x, 8), ValueError, "windows of size (8, 8) do not fit in (5, 6)"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_what_does_not_fit_is_refused_in_kernels_and_outside(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as outside:
        call(X, W)
    compiled: Any = mlirad.jit(call)
    with pytest.raises(error) as inside:
        compiled(X, W)
    assert message in str(outside.value)
    assert message in str(inside.value)
    assert "test_windows.py" in str(inside.value)
    assert "/library/" not in str(inside.value)


def test_windows_with_a_single_place_along_an_axis_may_end_before_it() -> None:
    x, w = RNG.standard_normal((1, 2, 6, 18)), RNG.standard_normal((5, 2, 5, 4))
    compiled: Any = mlirad.jit(lambda x, w: nn.conv2d(x, w, 2))
    np.testing.assert_allclose(compiled(x, w), naive_conv2d(x, w, 2, 0), rtol=1e-12)


def test_sizes_of_images_must_be_known() -> None:
    with pytest.raises(mlirad.CompileError, match="known at compile time"):
        mlirad.jit(lambda x, w, n: nn.conv2d(x[:, :, : int(x[0, 0, 0, 0])], w))(X, W, 4)


def test_nn_is_imported_when_it_is_first_used() -> None:
    assert mlirad.nn is nn
