"""Calls of functions of the library that sort, or look for elements. NumPy's exceptions are expected too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

np: Any = numpy  # its types would refuse the calls that raise an exception

_METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"),
    *("weibull", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
)


def _some_nan(a: Any) -> Any:
    return np.where(a > 0.5, np.nan, a)


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "numpy.partition": [
        lambda a: np.sort(np.partition(a, 2, axis=0), 0),
        lambda a: np.partition(a, 1)[:, 1],
        lambda a: np.partition(a, -3, None)[-3],
        lambda a: np.partition(a, 9),
        lambda a: np.partition(a, (0, 2), kind="introselect")[:, 2],
        lambda a: np.partition(a, 1.0),
        lambda a: np.partition(a, 0, kind="quicksort"),
        lambda a: np.partition(a, [[0, 1]]),
    ],
    "numpy.argpartition": [
        lambda a: np.take_along_axis(a, np.argpartition(a, 2, axis=1)[:, 2:3], 1),
        lambda a: a[0][a[0].argpartition(1)[1]],
        lambda a: np.argpartition(a, 9, kind="introselect"),
        lambda a: np.ravel(a)[np.argpartition(a, -1, None)[-1]],
    ],
    "numpy.lexsort": [
        lambda a: a[0, np.lexsort((a[0], a[-1] // 1 if len(a) else a[0]))],
        lambda a: np.lexsort((a, a > 0)),
        lambda a: np.lexsort((a, a > 0), axis=0),
        lambda a: np.lexsort(a),
        lambda a: np.lexsort(()),
        lambda a: np.lexsort((a, a[0])),
    ],
    "numpy.median": [
        lambda a: np.median(a),
        lambda a: np.median(a, axis=0),
        lambda a: np.median(a, -1, keepdims=True),
        lambda a: np.median(a, keepdims=True, overwrite_input=True),
        lambda a: np.median(a, axis=5),
        lambda a: np.median(a, (0, 1), keepdims=True),
        lambda a: np.median(np.where(a > 0.5, np.nan, a), 1),
    ],
    "numpy.quantile": [
        lambda a: np.quantile(a, 0.3),
        lambda a: np.quantile(a, [0.0, 0.25, 0.6, 1.0], axis=0),
        lambda a: np.quantile(a, 0.9, -1, keepdims=True),
        lambda a: np.quantile(a, 1.5),
        lambda a: np.quantile(_some_nan(a), 0.5, 1),
        lambda a: [np.quantile(a, 0.37, method=method) for method in _METHODS[::3]],
        lambda a: [np.quantile(a, [0.0, 0.5, 1.0], axis=1, method=method) for method in _METHODS[1::3]],
        lambda a: np.quantile(a, [[0.1, 0.9]], (0, 1), keepdims=True),
        lambda a: np.quantile(a, 1, axis=0),
        lambda a: np.quantile(a, 0.5, method="middle"),
        lambda a: np.quantile(a, [0.2, 0.8], axis=0, weights=np.abs(a) + 1, method="inverted_cdf"),
        lambda a: np.quantile(a, [0.2, 0.8], axis=1, weights=[1, 2, 0, 3], method="inverted_cdf"),
        lambda a: np.quantile(a, 0.5, weights=[1, 2], method="inverted_cdf"),
        lambda a: np.quantile(a, 0.5, weights=a, method="linear"),
    ],
    "numpy.percentile": [
        lambda a: np.percentile(a, 70, 1),
        lambda a: np.percentile(a, [5, 95]),
        lambda a: np.percentile(a, -1),
        lambda a: np.percentile(a, np.array([10.0, 50.0]), (0, 1), method="higher", overwrite_input=True),
    ],
    "numpy.nanmedian": [
        lambda a: np.nanmedian(_some_nan(a)),
        lambda a: np.nanmedian(_some_nan(a), axis=1),
        lambda a: np.nanmedian(a, (0, 1), keepdims=True),
        lambda a: np.nanmedian(a * np.nan, axis=0),
    ],
    "numpy.nanquantile": [
        lambda a: np.nanquantile(_some_nan(a), 0.3),
        lambda a: np.nanquantile(_some_nan(a), [0.1, 0.7], axis=0),
        lambda a: [np.nanquantile(_some_nan(a), 0.6, axis=1, method=method) for method in _METHODS[2::3]],
        lambda a: np.nanquantile(a, 0.6, axis=1, keepdims=True),
        lambda a: np.nanquantile(a * np.nan, [0.6, 0.2], axis=-1, keepdims=True),
    ],
    "numpy.nanpercentile": [
        lambda a: np.nanpercentile(_some_nan(a), 30, axis=1),
        lambda a: np.nanpercentile(_some_nan(a), [30, 110]),
    ],
    "numpy.searchsorted": [
        lambda a: np.searchsorted(np.sort(a[0]), a) + a,
        lambda a: np.searchsorted(np.sort(a, None), a[0], side="right"),
        lambda a: np.sort(a, None).searchsorted(0.5),
        lambda a: np.searchsorted(np.sort(np.append(a, np.nan)), [np.nan, 0.0], side="right"),
        lambda a: np.searchsorted(np.sort(np.append(a, np.nan)), [np.nan, 0.0]),
        lambda a: np.searchsorted(np.arange(len(a) * 7.0), a),
        lambda a: np.searchsorted(np.sort(a[a > 0.1]), a[0]),
        lambda a: np.searchsorted(np.sort(a[a > 0.1]), a, side="right"),
        lambda a: np.searchsorted(np.sort(np.round(a), None), np.round(a)),
        lambda a: np.searchsorted(a, 1.0),
        lambda a: np.searchsorted(a[0], 1.0, side="middle"),
        lambda a: np.searchsorted(a[0], a[-1] if len(a) else [1.0], sorter=np.argsort(a[0])),
        lambda a: np.searchsorted(a[0], 1.0, sorter=[0, 1]),
        lambda a: np.searchsorted(a[0], 1.0, sorter=a[0] / 1),
    ],
    "numpy.unique": [
        lambda a: np.unique(a),
        lambda a: np.unique(np.round(a / 40)),
        lambda a: np.unique(np.where(a > 0, np.nan, a)),
        lambda a: np.unique(a[a > 0] // 1),
        lambda a: np.unique(a // 1, True, True, True),
        lambda a: np.unique(_some_nan(a), return_counts=True, sorted=True),
        lambda a: np.unique(np.round(a / 40), return_inverse=True, equal_nan=False),
        lambda a: np.unique(np.round(a / 40), axis=0),
        lambda a: np.unique(np.round(a / 20), True, True, True, -1),
        lambda a: np.unique(a, axis=2),
    ],
    "numpy.unique_values": [lambda a: np.sort(np.unique_values(a)), lambda a: np.sort(np.unique_values(a > 0))],
    "numpy.unique_counts": [lambda a: np.unique_counts(a).values, lambda a: np.unique_counts(_some_nan(a)).counts],
    "numpy.unique_inverse": [
        lambda a: np.unique_inverse(a)[0][::-1],
        lambda a: np.unique_inverse(a).inverse_indices,
    ],
    "numpy.unique_all": [
        lambda a: np.unique_all(a).values,
        lambda a: np.unique_all(a // 1).indices,
        lambda a: np.unique_all(a // 1).inverse_indices,
        lambda a: np.unique_all(a // 1).counts,
    ],
    "numpy.union1d": [lambda a: np.union1d(a, a[0] * 2), lambda a: np.union1d(np.round(a), [1, 2, 3])],
    "numpy.intersect1d": [
        lambda a: np.intersect1d(a, a[1:] if len(a) > 1 else a),
        lambda a: np.intersect1d(a // 2, a // 1, return_indices=True),
        lambda a: np.intersect1d(a[0], a[0], True, True),
        lambda a: np.intersect1d(a[0], a[0], assume_unique=True),
    ],
    "numpy.setxor1d": [
        lambda a: np.setxor1d(a, a[1:]),
        lambda a: np.setxor1d(a // 2, a // 1),
        lambda a: np.setxor1d(a[0], a[0], assume_unique=True),
    ],
    "numpy.setdiff1d": [
        lambda a: np.setdiff1d(a, a[1:]),
        lambda a: np.setdiff1d(a // 1, [0, 1]),
        lambda a: np.setdiff1d(a, [0, 1], assume_unique=True),
    ],
    "numpy.isin": [
        lambda a: np.isin(a, a[0]) * a,
        lambda a: np.isin(a // 1, [0, 1, 20], invert=True),
        lambda a: np.isin(a, 0.5, assume_unique=True),
        lambda a: np.isin(_some_nan(a), [np.nan, 0.5]),
        lambda a: np.isin(a, [], kind="sort"),
        lambda a: np.isin(a, [1, 2], kind="table"),
        lambda a: np.isin(a, [1, 2], kind="hash"),
    ],
}
