"""Activation functions, element by element or along an axis. None overflows unless its value does."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.primitives import erfc


def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0."""
    x = np.asarray(x)
    return np.where(x <= 0, 0, x)


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x if it is positive, else negative_slope * x, which also gives the derivative at 0."""
    x = np.asarray(x)
    return np.where(x > 0, x, negative_slope * x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    x = np.asarray(x)
    is_negative = x < 0
    small = np.exp(np.where(is_negative, x, -x))
    return np.where(is_negative, small, 1) / (1 + small)


def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    return x * sigmoid(x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return np.logaddexp(x, 0)


def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the probability that a standard normal variable is smaller. approximate: "none", or "tanh" (Hendrycks and
    Gimpel)."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'approximate is "none" or "tanh", not {approximate!r}')
    x = np.asarray(x)
    if approximate == "none":
        return 0.5 * x * erfc(x * -0.7071067811865476)
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x), divided by its sum along one or several axes."""
    x = np.asarray(x)
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """The logarithm of softmax."""
    x = np.asarray(x)
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
