"""Optimizers. They change parameters in place.

Reads: gradients. Writes: the arrays of parameters, and the optimizer's own. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mlirad
from mlirad.interop.mindspore.modes import run
from mlirad.interop.mindspore.tensors import Parameter, data_of, require_floats


class _Optimizer:
    """optimizer(gradients) takes a step: a kernel changes the arrays of the parameters and `states` in place."""

    def __init__(self, params: Sequence[Parameter], learning_rate: float, states: int, weight_decay: float):
        self.parameters = tuple(params)
        require_floats(self.parameters)
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self._states = [tuple(np.zeros_like(each.data) for each in self.parameters) for _ in range(states)]

    def _step(self, kernel: Callable[..., None], gradients: Sequence[Any], *numbers: float) -> None:
        if len(gradients) != len(self.parameters):
            raise ValueError(f"{len(gradients)} gradients for {len(self.parameters)} parameters")
        arrays = tuple([data_of(each) for each in self.parameters])
        slopes = tuple([data_of(each) for each in gradients])
        run(kernel, arrays, slopes, *self._states, self.learning_rate, self.weight_decay, *numbers)


class SGD(_Optimizer):
    """w = w - learning_rate v, with v = momentum v + gradient + weight_decay w."""

    def __init__(
        self,
        params: Sequence[Parameter],
        learning_rate: float = 0.1,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, learning_rate, 1, weight_decay)
        self.momentum = momentum

    def __call__(self, gradients: Sequence[Any]) -> None:
        self._step(_momentum, gradients, self.momentum)


class Momentum(SGD):
    """SGD with momentum."""

    def __init__(self, params: Sequence[Parameter], learning_rate: float, momentum: float, weight_decay: float = 0.0):
        super().__init__(params, learning_rate, momentum, weight_decay)


class Adam(_Optimizer):
    """Adam, as MindSpore scales it: w = w - learning_rate sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)."""

    def __init__(
        self,
        params: Sequence[Parameter],
        learning_rate: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, learning_rate, 2, weight_decay)
        self.beta1, self.beta2, self.eps, self.steps = beta1, beta2, eps, 0

    def __call__(self, gradients: Sequence[Any]) -> None:
        self.steps += 1
        corrected = np.sqrt(1 - self.beta2**self.steps) / (1 - self.beta1**self.steps)
        self._step(_adam, gradients, float(corrected), self.beta1, self.beta2, self.eps)


@mlirad.jit
def _momentum(parameters: Any, gradients: Any, moments: Any, rate: float, weight_decay: float, momentum: float) -> None:
    for x, g, v in zip(parameters, gradients, moments, strict=True):
        v[...] = momentum * v + g + weight_decay * x
        x -= rate * v


@mlirad.jit
def _adam(
    parameters: Any,
    gradients: Any,
    means: Any,
    squares: Any,
    rate: float,
    weight_decay: float,
    corrected: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> None:
    for x, gradient, m, v in zip(parameters, gradients, means, squares, strict=True):
        g = gradient + weight_decay * x
        m += (1 - beta1) * (g - m)
        v += (1 - beta2) * (g * g - v)
        x -= rate * corrected * m / (np.sqrt(v) + eps)
