"""Loss functions. reduction: "mean", "sum", or "none" for one number per example."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.nn.activations import log_softmax


def cross_entropy(logits: Any, labels: Any, *, reduction: str = "mean") -> Any:
    """-log(softmax(logits)) at the labels, which are class numbers, or a probability for each class.

    logits: (..., C), classes last; labels: integers of shape (...), or floats (..., C). Raises ValueError for other
    shapes.
    """
    logarithms, chosen = log_softmax(logits), np.asarray(labels)
    if chosen.dtype.kind in "iu":
        if chosen.shape != logarithms.shape[:-1]:
            raise ValueError(f"labels of shape {chosen.shape} for logits of shape {logarithms.shape}")
        losses = -np.take_along_axis(logarithms, chosen[..., None], -1)[..., 0]
    elif chosen.shape != logarithms.shape:
        raise ValueError(f"labels of shape {chosen.shape} for logits of shape {logarithms.shape}")
    else:
        losses = -np.sum(chosen * logarithms, axis=-1)
    return _reduced(losses, reduction)


def mse(prediction: Any, target: Any, *, reduction: str = "mean") -> Any:
    """The squared differences. Raises ValueError for arrays of different shapes."""
    x, y = np.asarray(prediction), np.asarray(target)
    if x.shape != y.shape:
        raise ValueError(f"a prediction of shape {x.shape} for a target of shape {y.shape}")
    return _reduced((x - y) ** 2, reduction)


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction == "mean":
        return np.mean(losses)
    if reduction == "sum":
        return np.sum(losses)
    if reduction == "none":
        return losses
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
