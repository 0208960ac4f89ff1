"""Dropout, with random numbers from a source of the caller's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.random.keys import uniform


def dropout(x: Any, rate: float = 0.5, *, key: Any = None, rng: Any = None) -> Any:
    """x with each element set to 0 with probability `rate`, and the others divided by 1 - rate, which preserves the
    mean.

    key: a key of mlirad.random; the same key drops the same elements. rng: a numpy.random.Generator, which draws a
    number for each element. Pass exactly one of them. Do not call dropout for inference. Raises ValueError for a rate
    outside [0, 1], and TypeError without a source of numbers, or with two.
    """
    x = np.asarray(x)
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout takes a rate from 0 to 1, not {rate}")
    if (key is None) == (rng is None):
        raise TypeError("dropout draws from one source: dropout(x, rate, key=key) or dropout(x, rate, rng=rng)")
    drawn = rng.random(x.shape) if key is None else uniform(key, x.shape, np.float32)
    return np.where(drawn >= rate, x * (1 / (1 - rate) if rate < 1 else 0.0), 0)
