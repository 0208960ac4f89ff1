"""Intervals between edges, and interpolation between points."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.numpy.searching import places_among
from mlirad.library.spells import spells


@spells("numpy.digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = np.asarray(bins)
    if edges.ndim != 1:
        raise ValueError(f"object {'too deep' if edges.ndim else 'of too small depth'} for desired array")
    if np.all(edges[1:] >= edges[:-1]):
        return places_among(edges, np.asarray(x), not right)[()]
    if np.any(edges[1:] > edges[:-1]):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return (len(edges) - places_among(edges[::-1], np.asarray(x), not right))[()]


@spells("numpy.interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    at, known, heights = np.asarray(x, np.float64), np.asarray(xp, np.float64), np.asarray(fp, np.float64)
    if known.ndim != 1 or heights.ndim != 1:
        is_deep = known.ndim > 1 or heights.ndim > 1
        if period is not None:
            raise ValueError("Data points must be 1-D sequences")
        raise ValueError(f"object {'too deep' if is_deep else 'of too small depth'} for desired array")
    if len(known) != len(heights):
        raise ValueError("fp and xp are not of the same length.")
    if len(known) == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        every = np.abs(period)
        at, known = at % every, known % every
        order = np.argsort(known)
        known, heights = known[order], heights[order]
        known = np.concatenate((known[-1:] - every, known, known[:1] + every))
        heights = np.concatenate((heights[-1:], heights, heights[:1]))
        left = right = None
    below = heights[0] if left is None else left
    above = heights[-1] if right is None else right
    if len(known) == 1:
        return np.where(at < known[0], below, np.where(at > known[0], above, heights[0]))[()]
    place = np.clip(places_among(known, at, True) - 1, 0, len(known) - 2)
    start, end, low, high = known[place], known[place + 1], heights[place], heights[place + 1]
    slope = (high - low) / (end - start)
    found = slope * (at - start) + low
    found = np.where(np.isnan(found), slope * (at - end) + high, found)
    found = np.where(np.isnan(found) & (low == high), low, found)
    # At a point, its own value, even if the slope is infinite; between points, with the slope as the derivative. The
    # last point is the end.
    found = np.where(at == end, slope * (at - end) + high, found)
    found = np.where(np.isfinite(found), found, np.where(at == end, high, np.where(at == start, low, found)))
    found = np.where(at > known[-1], above, np.where(at < known[0], below, found))
    return np.where(np.isnan(at), at, found)[()]
