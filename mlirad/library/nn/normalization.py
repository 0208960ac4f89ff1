"""Layers that make the mean 0 and the variance 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def layer_norm(x: Any, scale: Any = None, bias: Any = None, *, axis: Any = -1, epsilon: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + epsilon), times scale, plus bias. Mean and variance are along the axis or axes.

    scale and bias broadcast to x; by default they have the shape of the last axes. float16 is computed in float32, and
    rounded once.
    """
    x, dtype = _wide(x)
    centred = x - np.mean(x, axis=axis, keepdims=True)
    variance = np.mean(centred * centred, axis=axis, keepdims=True)
    y = _scaled(centred / np.sqrt(variance + epsilon), scale, bias)
    return y.astype(dtype) if dtype == np.float16 else y


def batch_norm(
    x: Any,
    scale: Any = None,
    bias: Any = None,
    *,
    mean: Any = None,
    variance: Any = None,
    running: Any = None,
    momentum: float = 0.1,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), times scale, plus bias; each of these has one number per channel.

    mean, variance: by default the batch's own, along all axes but `axis`; for inference, those from training. running:
    a pair of arrays, updated in place: means += momentum * (the batch's mean - means), and the same for variances, with
    the batch's variance divided by n - 1, as in PyTorch. They have no derivative, and are only for training.

    float16 is computed in float32, and rounded once. Raises ValueError unless there is one number per channel, for
    `running` together with a mean or a variance, and for `running` if each channel has only one number.
    """
    x, dtype = _wide(x)
    others = tuple([each for each in range(x.ndim) if each != axis % x.ndim])
    shape = tuple([1 if each in others else x.shape[each] for each in range(x.ndim)])
    centre = np.mean(x, axis=others, keepdims=True) if mean is None else _along(mean, shape, "mean")
    centred = x - centre
    if variance is None:
        spread = np.mean(centred * centred, axis=others, keepdims=True)
    else:
        spread = _along(variance, shape, "variance")
    if running is not None:
        if mean is not None or variance is not None:
            raise ValueError("running statistics are of the batch: leave mean and variance out, or running")
        _run(running, centre, spread, x.size // max(shape), momentum)
    y = _scaled(
        centred / np.sqrt(spread + epsilon),
        None if scale is None else _along(scale, shape, "scale"),
        None if bias is None else _along(bias, shape, "bias"),
    )
    return y.astype(dtype) if dtype == np.float16 else y


def _wide(x: Any) -> tuple[Any, Any]:
    """The array to compute with, and the dtype of the result."""
    x = np.asarray(x)
    return (x.astype(np.float32) if x.dtype == np.float16 else x), x.dtype


def _run(running: Any, mean: Any, variance: Any, count: int, momentum: float) -> None:
    means, variances = running
    if np.size(means) != np.size(mean) or np.size(variances) != np.size(mean):
        raise ValueError(f"running statistics must have {np.size(mean)} numbers each, one for each channel")
    if count < 2:
        raise ValueError("the variance of one number in each channel is not known: make the batch larger")
    means += momentum * (np.reshape(mean, means.shape) - means)
    variances += momentum * (np.reshape(variance, variances.shape) * (count / (count - 1)) - variances)


def _along(numbers: Any, shape: tuple[int, ...], name: str) -> Any:
    if np.size(numbers) != max(shape):
        raise ValueError(f"{name} must have {max(shape)} numbers, one for each channel, not {np.size(numbers)}")
    return np.reshape(numbers, shape)


def _scaled(x: Any, scale: Any, bias: Any) -> Any:
    y = x if scale is None else x * scale
    return y if bias is None else y + bias
