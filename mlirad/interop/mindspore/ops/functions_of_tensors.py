"""Functions of tensors.

Reads: tensors, arrays and numbers. Writes: nothing. Leaves: tensors, by NumPy's functions and the core's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad
from mlirad import nn as core_nn
from mlirad.interop.mindspore.modes import run
from mlirad.interop.mindspore.tensors import Tensor, data_of, float32


def matmul(x: Any, y: Any) -> Tensor:
    return Tensor(np.matmul(data_of(x), data_of(y)))


def ones(shape: Any, dtype: Any = float32) -> Tensor:
    return Tensor(np.ones(shape, dtype))


def zeros(shape: Any, dtype: Any = float32) -> Tensor:
    return Tensor(np.zeros(shape, dtype))


def ones_like(x: Any) -> Tensor:
    return Tensor(np.ones_like(data_of(x)))


def sin(x: Any) -> Tensor:
    return Tensor(np.sin(data_of(x)))


def relu(x: Any) -> Tensor:
    return Tensor(core_nn.relu(data_of(x)))


def stop_gradient(x: Any) -> Tensor:
    """x itself; no derivative flows through it."""
    return Tensor(mlirad.stop_gradient(data_of(x)))


def binary_cross_entropy_with_logits(
    logits: Any, label: Any, weight: Any, pos_weight: Any, reduction: str = "mean"
) -> Tensor:
    """-weight (pos_weight y log s + (1 - y) log(1 - s)), with s = sigmoid(logits) and y = label."""
    z, y = data_of(logits), data_of(label)
    of_positive = 1 + (data_of(pos_weight) - 1) * y
    losses = data_of(weight) * ((1 - y) * z + of_positive * core_nn.softplus(-z))
    return Tensor(_reduced(losses, reduction))


def cross_entropy(logits: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """-log(softmax(logits)) at the labels: numbers of classes, or a probability for each."""
    return Tensor(core_nn.cross_entropy(data_of(logits), data_of(labels), reduction=reduction))


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    return np.mean(losses) if reduction == "mean" else np.sum(losses) if reduction == "sum" else losses


def conv2d(x: Any, w: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid", padding: int = 0) -> Tensor:
    """The correlation of x (N, C, H, W) with w (O, C, K, L). pad_mode: "valid", "same", or "pad": `padding` zeros."""
    around = padding if pad_mode == "pad" else pad_mode
    return Tensor(core_nn.conv2d(data_of(x), data_of(w), stride, around, bias=data_of(bias)))


def conv2d_backprop_input(x_shape: Any, w: Any, dout: Any, stride: Any = 1, padding: Any = 0) -> Tensor:
    """The cotangent of a convolution's images, of shape x_shape, from the cotangent `dout` of its result."""
    return Tensor(run(_by_input, tuple(x_shape), data_of(w), data_of(dout), stride, padding))


def conv2d_backprop_filter(x: Any, w_shape: Any, dout: Any, stride: Any = 1, padding: Any = 0) -> Tensor:
    """The cotangent of a convolution's filters, of shape w_shape, from the cotangent `dout` of its result."""
    return Tensor(run(_by_filter, data_of(x), tuple(w_shape), data_of(dout), stride, padding))


@mlirad.jit(static_argnums=(0, 3, 4))
def _by_input(x_shape: Any, w: Any, dout: Any, stride: Any, padding: Any) -> Any:
    _, pullback = mlirad.vjp(lambda x: core_nn.conv2d(x, w, stride, padding), np.zeros(x_shape, w.dtype))
    return pullback(dout)[0]


@mlirad.jit(static_argnums=(1, 3, 4))
def _by_filter(x: Any, w_shape: Any, dout: Any, stride: Any, padding: Any) -> Any:
    _, pullback = mlirad.vjp(lambda w: core_nn.conv2d(x, w, stride, padding), np.zeros(w_shape, x.dtype))
    return pullback(dout)[0]
