"""Rounding to decimal places, and sin(pi x)/(pi x)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.round", method="round")
def round_(a: Any, decimals: int = 0) -> Any:
    if isinstance(decimals, (float, tuple, list, np.ndarray)):
        raise TypeError(f"'{type(decimals).__name__}' object cannot be interpreted as an integer")
    x = np.asarray(a)
    is_integer = np.issubdtype(x.dtype, np.integer)
    if decimals >= 0 and is_integer:
        return np.positive(x)
    if decimals == 0:
        return np.rint(x)
    if x.dtype.kind == "b":
        raise TypeError(
            f"Cannot cast ufunc '{'multiply' if decimals > 0 else 'divide'}' output from dtype('float64') to "
            "dtype('bool') with casting rule 'same_kind'"
        )
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return np.rint(x * power) / power
    rounded = np.rint(x / power) * power
    return rounded.astype(x.dtype) if is_integer else rounded


@spells("numpy.around")
def around(a: Any, decimals: int = 0) -> Any:
    return np.round(a, decimals)


@spells("numpy.fix")
def fix(x: Any) -> Any:
    return np.trunc(x)


@spells("numpy.sinc")
def sinc(x: Any) -> Any:
    """Near 0, use the series: its derivatives are those of sinc."""
    y = np.pi * np.asarray(x)
    is_near = np.abs(y) < 1.0
    square = np.where(is_near, y * y, 0.0)
    series = 1.0
    for k in range(18, 0, -2):
        series = 1.0 - square / (k * (k + 1)) * series
    far = np.where(is_near, 1.0, y)
    return np.positive(np.where(is_near, series, np.sin(far) / far))
