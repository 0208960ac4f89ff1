"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

import numpy as np


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """softmax(query @ key^T * scale) @ value, for arrays (..., L, E), (..., S, E) and (..., S, V). The result is (...,
    L, V).

    mask: the keys that each query attends to, as a boolean array that broadcasts to (..., L, S), or as numbers to add.
    is_causal: query i attends to the keys up to i. scale: by default 1 / sqrt(E). A query that attends to nothing gives
    zeros. Raises ValueError if the shapes do not fit.
    """
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"query, key and value of shapes {q.shape}, {k.shape} and {v.shape} do not fit")
    factor = 1.0 / q.shape[-1] ** 0.5 if scale is None else scale
    scores = (q * factor) @ np.swapaxes(k, -1, -2)
    if is_causal:
        scores = np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -np.inf)
    if mask is not None:
        m = np.asarray(mask)
        scores = np.where(m, scores, -np.inf) if m.dtype == bool else scores + m
    largest = np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(largest == -np.inf, 0, largest))
    sums = np.sum(weights, axis=-1, keepdims=True)
    return weights / np.where(sums == 0, 1, sums) @ v
