"""Checks the parameters of distributions as NumPy does, with its messages. Each function raises ValueError."""

from __future__ import annotations

from typing import Any

import numpy as np

_MOST = 9.223372006484771e18
"""The largest mean of a Poisson distribution: 2**63 - 1, minus ten standard deviations."""


def require_non_negative(x: Any, name: str) -> None:
    if np.asarray(x).dtype.kind == "f":
        wrong = np.logical_and(np.logical_not(np.isnan(x)), np.signbit(x))
    else:
        wrong = np.less(x, 0)
    if np.any(wrong):
        raise ValueError(f"{name} < 0")


def require_positive(x: Any, name: str) -> None:
    if np.any(np.less_equal(x, 0)):
        raise ValueError(f"{name} <= 0")


def require_probability(p: Any, name: str) -> None:
    if not np.all(np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1))):
        raise ValueError(f"{name} < 0, {name} > 1 or {name} {_nan(p)}")


def require_positive_probability(p: Any, name: str) -> None:
    if not np.all(np.logical_and(np.greater(p, 0), np.less_equal(p, 1))):
        raise ValueError(f"{name} <= 0, {name} > 1 or {name} contains NaNs")


def require_probability_below_1(p: Any, name: str) -> None:
    if not np.all(np.logical_and(np.greater_equal(p, 0), np.less(p, 1))):
        raise ValueError(f"{name} < 0, {name} >= 1 or {name} {_nan(p)}")


def require_above_1(x: Any, name: str) -> None:
    if not np.all(np.greater(x, 1)):
        raise ValueError(f"{name} <= 1 or {name} {_nan(x)}")


def require_mean(lam: Any, name: str) -> None:
    if not np.all(np.greater_equal(lam, 0)):
        raise ValueError(f"{name} < 0 or {name} {_nan(lam)}")
    if np.any(np.greater(lam, _MOST)):
        raise ValueError(f"{name} value too large")


def require_mean_of_failures(n: Any, p: Any) -> None:
    if np.any(np.isnan(n)):
        raise ValueError("n must not be NaN")
    require_positive(n, "n")
    require_positive_probability(p, "p")
    if np.any(np.greater((1 - p) / p * (n + 10 * np.sqrt(n)), _MOST)):
        raise ValueError("n too large or p too small, see Generator.negative_binomial Notes")


def _nan(x: Any) -> str:
    return "is NaN" if np.ndim(x) == 0 else "contains NaNs"
