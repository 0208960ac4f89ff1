"""Layers that make the mean 0 and the variance 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def layer_norm(x: Any, scale: Any = None, bias: Any = None, *, axis: Any = -1, epsilon: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + epsilon), both along the axis or axes, times scale, plus bias.

    scale and bias broadcast to x: of the shape of the last axes, by default.
    """
    x = np.asarray(x)
    centred = x - np.mean(x, axis=axis, keepdims=True)
    variance = np.mean(centred * centred, axis=axis, keepdims=True)
    return _scaled(centred / np.sqrt(variance + epsilon), scale, bias)


def batch_norm(
    x: Any,
    scale: Any = None,
    bias: Any = None,
    *,
    mean: Any = None,
    variance: Any = None,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) for each channel, times scale, plus bias; each has one number a channel.

    mean, variance: by default the batch's own, along all axes but `axis`; for inference, those of the training.
    """
    x = np.asarray(x)
    others = tuple([each for each in range(x.ndim) if each != axis % x.ndim])
    shape = tuple([1 if each in others else x.shape[each] for each in range(x.ndim)])
    centred = x - (np.mean(x, axis=others, keepdims=True) if mean is None else _along(mean, shape, "mean"))
    if variance is None:
        spread = np.mean(centred * centred, axis=others, keepdims=True)
    else:
        spread = _along(variance, shape, "variance")
    return _scaled(
        centred / np.sqrt(spread + epsilon),
        None if scale is None else _along(scale, shape, "scale"),
        None if bias is None else _along(bias, shape, "bias"),
    )


def _along(numbers: Any, shape: tuple[int, ...], name: str) -> Any:
    if np.size(numbers) != max(shape):
        raise ValueError(f"{name} must have {max(shape)} numbers, one for each channel, not {np.size(numbers)}")
    return np.reshape(numbers, shape)


def _scaled(x: Any, scale: Any, bias: Any) -> Any:
    y = x if scale is None else x * scale
    return y if bias is None else y + bias
