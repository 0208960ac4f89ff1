"""Calls of functions of the library that make arrays, whose sizes are known only at run time too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

np: Any = numpy  # its types would refuse the calls that raise an exception


def size(a: Any) -> Any:
    return np.count_nonzero(a > 0.1)


def _window(window: Callable[..., Any]) -> list[Callable[[Any], Any]]:
    return [
        lambda a: window(size(a)) * np.sum(a),
        lambda a: [window(size(a[:1]) // 4 * (1 - k)) for k in (0, 1, 2)],
        lambda a: window(size(a) + 0.5),
    ]


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "numpy.tril_indices": [
        lambda a: a[np.tril_indices(min(a.shape))],
        lambda a: np.tril_indices(size(a), -1),
        lambda a: np.tril_indices(size(a), k=1, m=3),
    ],
    "numpy.triu_indices": [
        lambda a: a[np.triu_indices(min(a.shape), 1)],
        lambda a: np.triu_indices(size(a), -1, size(a) + 1),
    ],
    "numpy.diag_indices": [lambda a: a[np.diag_indices(min(a.shape))], lambda a: np.diag_indices(size(a), 3)],
    "numpy.mask_indices": [
        lambda a: a[np.mask_indices(min(a.shape), np.triu)],
        lambda a: np.mask_indices(size(a), np.tril, -1),
    ],
    "numpy.indices": [
        lambda a: np.indices(a.shape) * a,
        lambda a: np.indices((size(a), 2)),
        lambda a: np.indices((3, size(a)), float, sparse=True),
        lambda a: np.indices(()),
    ],
    "numpy.logspace": [
        lambda a: np.logspace(np.max(a[:1]) / 200 if a.size else 0.5, 2.0, 4),
        lambda a: np.logspace(0, 1, size(a), endpoint=False, base=2.0),
        lambda a: np.logspace([0.0, 1.0], np.sum(a) / 9000, 3, axis=-1, dtype=np.float32),
        lambda a: np.logspace(0.0, 1.0, 3, base=np.array([2.0, 3.0, 4.0])) + a[:1, :1],
    ],
    "numpy.geomspace": [
        lambda a: np.geomspace(1.0, 2.0 + np.sum(a * a), 5),
        lambda a: np.geomspace(-1.0, -2.0 - np.sum(a * a), 4, endpoint=False),
        lambda a: np.geomspace([1.0, 2.0], [4.0, 2.5 + np.sum(a * a)], 3, axis=1),
        lambda a: np.geomspace(1, 256, num=9 if a.size else 1, dtype=int),
        lambda a: np.geomspace(0.0, 2.0 + np.sum(a)),
    ],
    "numpy.hanning": _window(np.hanning),
    "numpy.hamming": _window(np.hamming),
    "numpy.blackman": _window(np.blackman),
    "numpy.bartlett": _window(np.bartlett),
    "numpy.kaiser": [
        lambda a: np.kaiser(4, np.sum(a * a)),
        lambda a: np.kaiser(size(a), 5),
        lambda a: [np.kaiser(size(a[:1]) // 4 * (1 - k), 14.0) for k in (0, 1, 2)],
    ],
    "numpy.i0": [lambda a: np.i0(a), lambda a: np.i0(a * 10), lambda a: np.i0(0.5)],
}
