"""Weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mlirad.library.spells import spells


@spells("numpy.average", complex=True)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    x = np.asarray(a)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim, "axis")
    total: Any = None
    if weights is None:
        found = np.mean(x, axis=axes, keepdims=keepdims)
        if returned:
            total = np.asarray(x.size / np.size(found), found.dtype)[()]
    else:
        factors = weights_of(np.asarray(weights), x, axes)
        dtype = np.result_type(x, factors) if x.dtype.kind in "fc" else np.result_type(x, factors, np.float64)
        total = np.sum(factors, axis=axes, dtype=dtype, keepdims=keepdims)
        if np.any(total == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        found = np.sum(x.astype(dtype) * factors.astype(dtype), axis=axes, keepdims=keepdims) / total
    if not returned:
        return found
    return found, total if np.shape(total) == np.shape(found) else np.broadcast_to(total, np.shape(found)).copy()


def weights_of(weights: Any, x: Any, axes: Any) -> Any:
    """The weights, in a shape that broadcasts with x."""
    if weights.shape == x.shape:
        return weights
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple([x.shape[axis] for axis in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = [place for _, place in sorted([(axes[place], place) for place in range(len(axes))])]
    return np.reshape(np.transpose(weights, order), [x.shape[k] if k in axes else 1 for k in range(x.ndim)])


@spells("numpy.cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = np.asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if y is not None and np.ndim(y) > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x, np.float64) if y is None else np.result_type(x, np.asarray(y), np.float64)
    rows = np.atleast_2d(x).astype(dtype)
    if not rowvar and x.ndim != 1:
        rows = rows.T
    if rows.shape[0] == 0:
        return np.zeros((0, 0))
    if y is not None:
        others = np.atleast_2d(np.asarray(y)).astype(dtype)
        rows = np.concatenate((rows, others.T if not rowvar and others.shape[0] != 1 else others), 0)
    weights = _sample_weights(fweights, aweights, rows.shape[1])
    means, totals = average(rows, 1, weights, True)
    removed = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        freedom = rows.shape[1] - removed
    elif removed == 0:
        freedom = totals[0]
    elif aweights is None:
        freedom = totals[0] - removed
    else:
        freedom = totals[0] - removed * np.sum(weights * aweights) / totals[0]
    centered = rows - means[:, None]
    products = np.dot(centered, (centered if weights is None else centered * weights).T)
    return np.squeeze(products * np.true_divide(1, np.maximum(freedom, 0.0)).astype(dtype))


def _sample_weights(fweights: Any, aweights: Any, count: int) -> Any:
    found = None
    if fweights is not None:
        found = np.asarray(fweights, float)
        if np.any(found % 1.0 != 0.0):
            raise TypeError("fweights must be integer")
        if found.ndim > 1:
            raise RuntimeError("cannot handle multidimensional fweights")
        if found.shape[0] != count:
            raise RuntimeError("incompatible numbers of samples and fweights")
        if np.any(found < 0):
            raise ValueError("fweights cannot be negative")
    if aweights is not None:
        weights = np.asarray(aweights, float)
        if weights.ndim > 1:
            raise RuntimeError("cannot handle multidimensional aweights")
        if weights.shape[0] != count:
            raise RuntimeError("incompatible numbers of samples and aweights")
        if np.any(weights < 0):
            raise ValueError("aweights cannot be negative")
        found = weights if found is None else found * weights
    return found


@spells("numpy.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    deviations = np.sqrt(np.diag(found))
    return np.clip(found / deviations[:, None] / deviations[None, :], -1, 1)
