"""Layers and losses, as cells.

Reads: tensors. Writes: nothing. Leaves: tensors, by the core's functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad import nn as core_nn
from mlirad.interop.mindspore import ops
from mlirad.interop.mindspore.nn.cells import Cell
from mlirad.interop.mindspore.tensors import Parameter, Tensor, data_of

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Seed the initial parameters of cells that are created from now on."""
    global _generator
    _generator = np.random.default_rng(seed)


def _begun(given: Any, shape: tuple[int, ...], terms: int) -> Parameter:
    """The given parameter, or random numbers between +-1 / sqrt(terms), like MindSpore's initial parameters."""
    if given is None:
        bound = 1 / np.sqrt(terms)
        return Parameter(Tensor(_generator.uniform(-bound, bound, shape).astype(np.float32)))
    made = Parameter(Tensor(data_of(given)))
    if made.shape != shape:
        raise ValueError(f"the layer needs numbers of shape {shape}, but was given {made.shape}")
    return made


class Dense(Cell):
    """x @ weight.T + bias, for x (..., in_channels) and weight (out_channels, in_channels)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
    ):
        super().__init__()
        self.has_bias = has_bias
        self.weight = _begun(weight_init, (out_channels, in_channels), in_channels)
        if has_bias:
            self.bias = _begun(bias_init, (out_channels,), in_channels)

    def construct(self, x: Any) -> Tensor:
        result = ops.matmul(x, self.weight.T)
        return result + self.bias if self.has_bias else result


class Conv2d(Cell):
    """Convolutions of x (N, in_channels, H, W). pad_mode: "same", "valid", or "pad", by `padding` zeros."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
    ):
        super().__init__()
        self.stride, self.pad_mode, self.padding, self.has_bias = stride, pad_mode, padding, has_bias
        terms = in_channels * kernel_size**2
        self.weight = _begun(weight_init, (out_channels, in_channels, kernel_size, kernel_size), terms)
        if has_bias:
            self.bias = _begun(bias_init, (out_channels,), terms)

    def construct(self, x: Any) -> Tensor:
        bias = self.bias if self.has_bias else None
        return ops.conv2d(x, self.weight, bias, self.stride, self.pad_mode, self.padding)


class MaxPool2d(Cell):
    """The largest number of each window of x (N, C, H, W)."""

    def __init__(self, kernel_size: int = 1, stride: int = 1):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride

    def construct(self, x: Any) -> Tensor:
        return Tensor(core_nn.max_pool2d(data_of(x), self.kernel_size, self.stride))


class Flatten(Cell):
    """x (N, ...) as (N, M)."""

    def construct(self, x: Any) -> Tensor:
        array = data_of(x)
        return Tensor(np.reshape(array, (len(array), -1)))


class ReLU(Cell):
    """max(x, 0), with derivative 0 at 0."""

    def construct(self, x: Any) -> Tensor:
        return ops.relu(x)


class BCEWithLogitsLoss(Cell):
    """Binary cross entropy of the sigmoid of logits."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Tensor:
        ones = ops.ones_like(logits)
        return ops.binary_cross_entropy_with_logits(logits, labels, ones, ones, self.reduction)


class CrossEntropyLoss(Cell):
    """Cross entropy of the softmax of logits (N, C); labels are numbers of classes, or probabilities."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.cross_entropy(logits, labels, self.reduction)
