"""Calls of functions of the library that arrange elements. NumPy's exception is expected where it raises one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

np: Any = numpy  # whose types would refuse the calls that raise an exception


def filled(fill: Callable[[Any], None]) -> Callable[[Any], Any]:
    """What an array is after something has been written in it."""

    def written(a: Any) -> Any:
        copy = a.copy()
        fill(copy)
        return copy

    return written


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "numpy.array_split": [
        lambda a: np.array_split(a, 3, 1)[1],
        lambda a: np.array_split(a, 2),
        lambda a: np.array_split(a[0], [1, 3]),
        lambda a: np.array_split(a, 0),
    ],
    "numpy.split": [
        lambda a: np.split(a, [1, 2])[1],
        lambda a: np.split(a, 2, axis=1),
        lambda a: np.split(a, 2),
        lambda a: np.split(a[0], (1, -1)),
    ],
    "numpy.hsplit": [
        lambda a: np.hsplit(a, 2)[1],
        lambda a: np.hsplit(a[0], [1]),
        lambda a: np.hsplit(a, 3),
        lambda a: np.hsplit(a[0, 0] if a.size else 1.5, 1),
    ],
    "numpy.vsplit": [lambda a: np.vsplit(a, 3)[1], lambda a: np.vsplit(a, [1]), lambda a: np.vsplit(a[0], 1)],
    "numpy.dsplit": [lambda a: np.dsplit(a[None], 2)[1], lambda a: np.dsplit(a, [1])],
    "numpy.unstack": [lambda a: np.unstack(a)[0], lambda a: np.unstack(a, axis=1), lambda a: np.unstack(a, axis=3)],
    "numpy.resize": [
        lambda a: np.resize(a, (3, 5)),
        lambda a: np.resize(a, 7),
        lambda a: np.resize(a, (2, 3)),
        lambda a: np.resize(a, (0, 2)),
        lambda a: np.resize(a, (-1, 2)),
    ],
    "numpy.insert": [
        lambda a: np.insert(a, 1, 2.5, axis=0),
        lambda a: np.insert(a, 1, a[:, 0], axis=1),
        lambda a: np.insert(a, [1, 3], [7, 8]),
        lambda a: np.insert(a, [2, 0, 2], a[0, :3], axis=1),
        lambda a: np.insert(a[0], slice(1, 3), 4),
        lambda a: np.insert(a, [1], [[1], [2], [3]], axis=1),
        lambda a: np.insert(a, 9, 2, 0),
        lambda a: np.insert(a, -1, 2, 1),
        lambda a: np.insert(a, [1, 9], 2, 0),
    ],
    "numpy.delete": [
        lambda a: np.delete(a, 1, 0),
        lambda a: np.delete(a, [0, 2, -1], axis=1),
        lambda a: np.delete(a, slice(None, None, 2), 1),
        lambda a: np.delete(a, -1),
        lambda a: np.delete(a, a[0] > 0, 1),
        lambda a: np.delete(a, 4, 1),
        lambda a: np.delete(a, [0, 9], 0),
        lambda a: np.delete(a, a[0] > 0, 0),
    ],
    "numpy.pad": [
        lambda a: np.pad(a, ((1, 2), (0, 3)), "reflect"),
        lambda a: np.pad(a, 1),
        lambda a: np.pad(a, (1, 2), constant_values=(3, 4)),
        lambda a: np.pad(a, ((1, 2), (2, 1)), "constant", constant_values=((1, 2), (3, 4))),
        lambda a: np.pad(a, (2, 3), "edge"),
        lambda a: np.pad(a, (6, 7), "reflect"),
        lambda a: np.pad(a, (6, 7), "reflect", reflect_type="odd"),
        lambda a: np.pad(a, (6, 7), "symmetric"),
        lambda a: np.pad(a, 9, "symmetric", reflect_type="odd"),
        lambda a: np.pad(a, (6, 7), mode="wrap"),
        lambda a: np.pad(a, {1: (1, 2)}, "linear_ramp", end_values=(5, -4)),
        lambda a: np.pad(a, 2, "maximum"),
        lambda a: np.pad(a * 1.5, 2, "mean", stat_length=2),
        lambda a: np.pad(a, ((1, 2),), "minimum", stat_length=((2, 3), (1, 1))),
        lambda a: np.pad(a, 1.5),
        lambda a: np.pad(a, -1),
        lambda a: np.pad(a, 1, "reflecting"),
        lambda a: np.pad(a, 1, "edge", end_values=2),
        lambda a: np.pad(a, (1, 2, 3)),
        lambda a: np.pad(a, ((1, 2), (2, 1), (3, 3))),
    ],
    "numpy.dstack": [
        lambda a: np.dstack((a, a * 2)),
        lambda a: np.dstack([a[0], [1, 2, 3, 4]]),
        lambda a: np.dstack(a),
        lambda a: np.dstack((a, a[0])),
    ],
    "numpy.block": [
        lambda a: np.block([[a, a * 2], [a[::-1], np.ones((3, 4))]]),
        lambda a: np.block([a[0], 1.5]),
        lambda a: np.block(a),
        lambda a: np.block([[a], [a[0]]]),
        lambda a: np.block([[a[:, :1], a[:, :1]], [3, 4]]),
        lambda a: np.block([[[a], [a]], [[a], [a]]]),
        lambda a: np.block([[a], a]),
        lambda a: np.block([(a, a)]),
        lambda a: np.block([[a, a[:1]]]),
        lambda a: np.block([]),
    ],
    "numpy.diagflat": [
        lambda a: np.diagflat(a),
        lambda a: np.diagflat(a[0], 1),
        lambda a: np.diagflat([[1, 2], [3, 4]], -1) * a[0, 0] if a.size else 1,
    ],
    "numpy.fill_diagonal": [
        filled(lambda b: np.fill_diagonal(b, b[0, 0] * 3 if b.size else 1)),
        filled(lambda b: np.fill_diagonal(b, 5)),
        filled(lambda b: np.fill_diagonal(b, [1, 2])),
        filled(lambda b: np.fill_diagonal(b.T[:, :2], 7, wrap=True)),
        filled(lambda b: np.fill_diagonal(b[0], 7)),
        filled(lambda b: np.fill_diagonal(b[:1, :1, None] * np.ones((3, 3, 3)), 7)),
        filled(lambda b: np.fill_diagonal(b[None], 7)),
    ],
    "numpy.diag_indices_from": [
        lambda a: a[:3, :3][np.diag_indices_from(a[:3, :3])],
        lambda a: np.diag_indices_from(a),
    ],
    "numpy.tril_indices_from": [
        lambda a: a[np.tril_indices_from(a)],
        lambda a: np.tril_indices_from(a, 1),
        lambda a: np.tril_indices_from(a[0]),
    ],
    "numpy.triu_indices_from": [
        lambda a: a[np.triu_indices_from(a)],
        lambda a: np.triu_indices_from(a, k=-1),
        lambda a: np.triu_indices_from(a[0]),
    ],
    "numpy.choose": [
        lambda a: np.choose([[0], [1], [0]], (a, a * 2)),
        lambda a: np.choose((a > 0).astype(int), [a, -1]),
        lambda a: (a > 0).choose([1, 2.5]),
        lambda a: np.choose((a // 1).astype(int), [1, 2, 3]),
        lambda a: np.choose((a // 1).astype(np.int64), [1, 2, 3], mode="wrap"),
        lambda a: np.choose((a // 1).astype(np.int64), (a, 2), mode="clip"),
        lambda a: np.choose(a, [1, 2]),
        lambda a: np.choose([0, 1, 2], a),
    ],
    "numpy.select": [
        lambda a: np.select([a > 1, a > 0], [a * 2, a], -a) if a.dtype != bool and a.dtype != np.uint8 else 0,
        lambda a: np.select([a > 1, a[0] > 0], [1, 2.5]),
        lambda a: np.select([a > 1], [a]),
        lambda a: np.select([a[0, 0] > 1] if a.size else [True], [7], 3),
        lambda a: np.select([a], [1]),
        lambda a: np.select([a > 1], [1, 2]),
        lambda a: np.select([], []),
        lambda a: np.select([a > 1, a[:, 0] > 1], [1, 2]),
    ],
    "numpy.piecewise": [
        lambda a: np.piecewise(a, [a > 0, a <= 0], [lambda x: x * x, 3]),
        lambda a: np.piecewise(a, [a > 0], [lambda x: x * 2, lambda x: x + 1]),
        lambda a: np.piecewise(a[0], a[0] > 0, [2, 3]),
        lambda a: np.piecewise(a, [a > 0], [1, 2, 3]),
        lambda a: np.piecewise(a, [a > 0, a > 1], [lambda x, y, z=1: x * y + z, 5], 2, z=3),
        lambda a: np.piecewise(a[0, 0], [a[0, 0] > 0], [lambda x: x * 2, 5]) if a.size else 0,
        lambda a: np.piecewise(a[0, 0], a[0, 0] > 0, [4, 5]) if a.size else 0,
    ],
    "numpy.place": [
        filled(lambda b: np.place(b, b > 0, b[0] * 2)),
        filled(lambda b: np.place(b, b > 0, [1, 2, 3])),
        filled(lambda b: np.place(b, b[0] > 0, [1, 2, 3])),
        filled(lambda b: np.place(b, b > 0, [])),
        filled(lambda b: np.place(b, b > 0, 2)),
    ],
    "numpy.putmask": [
        filled(lambda b: np.putmask(b, b > 0, b * b)),
        filled(lambda b: np.putmask(b, b > 0, [1, 2, 3])),
        filled(lambda b: np.putmask(b, b[0] > 0, 1)),
        filled(lambda b: np.putmask(b, b > 0, [])),
    ],
    "numpy.put_along_axis": [
        filled(lambda b: np.put_along_axis(b, np.array([[1], [0], [1]]), b[:, :1] * 2, 1)),
        filled(lambda b: np.put_along_axis(b, np.argmax(b, 0, keepdims=True), 9, axis=0)),
        filled(lambda b: np.put_along_axis(b, np.array([1]), 9, axis=0)),
        filled(lambda b: np.put_along_axis(b, np.array([[7]]), 9 if b.size else 1, axis=0 if b.size else 5)),
    ],
    "numpy.cumulative_sum": [
        lambda a: np.cumulative_sum(a, axis=1),
        lambda a: np.cumulative_sum(a[0], include_initial=True),
        lambda a: np.cumulative_sum(a, axis=0, include_initial=True, dtype=np.float32),
        lambda a: np.cumulative_sum(a),
    ],
    "numpy.cumulative_prod": [
        lambda a: np.cumulative_prod(a, axis=0),
        lambda a: np.cumulative_prod(a[0], include_initial=True),
        lambda a: np.cumulative_prod(a),
    ],
    "numpy.broadcast_arrays": [
        lambda a: np.broadcast_arrays(a, a[:, :1])[1],
        lambda a: np.broadcast_arrays(a[0], 2, a),
        lambda a: np.broadcast_arrays(a, [1, 2]),
    ],
    "numpy.meshgrid": [
        lambda a: np.meshgrid(a[0], a[:, 0])[1],
        lambda a: np.meshgrid(a[0], [1, 2], indexing="ij"),
        lambda a: np.meshgrid(a[0], a[:, 0], [1, 2], sparse=True),
        lambda a: np.meshgrid(a[0], a[:, 0], copy=False)[0],
        lambda a: np.meshgrid(a[0]),
        lambda a: np.meshgrid(a[0], 2, indexing="xx"),
    ],
    "numpy.unravel_index": [
        lambda a: a * np.unravel_index(np.argmax(a), a.shape)[1],
        lambda a: np.unravel_index(np.arange(6) * a.size // 6, a.shape),
        lambda a: np.unravel_index(np.arange(5), (2, 3), order="F") if a.size else 0,
        lambda a: np.unravel_index((a // 1).astype(int), (2, 3)),
        lambda a: np.unravel_index(a * 0.5, (2, 3)),
    ],
    "numpy.ravel_multi_index": [
        lambda a: a * np.ravel_multi_index((np.argmax(a), 1), (13, 4)) if a.size else 1.5,
        lambda a: np.ravel_multi_index((a > 0) * 1, (2, 3, 1)) if a.size else 1.5,
        lambda a: np.ravel_multi_index(
            [[1, 2], [0, 1], (a[0, :2] // 1).astype(int)], (4, 3, 5), mode=("clip", "wrap", "wrap"), order="F"
        ),
        lambda a: np.ravel_multi_index([(a[0, :2] // 1).astype(int)], (2,)),
    ],
    "numpy.apply_along_axis": [
        lambda a: np.apply_along_axis(lambda x: x * np.sum(x), 0, a),
        lambda a: np.apply_along_axis(np.max, 1, a),
        lambda a: np.apply_along_axis(lambda x: x[::-1] * 2, -1, a),
        lambda a: np.apply_along_axis(lambda x, y, k=1: np.outer(x, x)[:, :1] * y + k, 0, a, 2, k=3),
        lambda a: np.apply_along_axis(np.sum, 0, a[0]),
        lambda a: np.apply_along_axis(np.diff, 1, a, n=2),
        lambda a: np.apply_along_axis(np.sum, 3, a),
    ],
    "numpy.apply_over_axes": [
        lambda a: np.apply_over_axes(np.sum, a, [0, 1]),
        lambda a: np.apply_over_axes(np.sum, a[None], (0, -1)),
        lambda a: np.apply_over_axes(lambda x, axis: np.max(x, axis, keepdims=True), a, 1),
    ],
    "numpy.fromfunction": [
        lambda a: np.fromfunction(lambda i, j: i + 2 * j, (3, 4)) * a,
        lambda a: np.fromfunction(lambda i: a[0] * i, (4,), dtype=int),
    ],
    "numpy.asarray_chkfinite": [
        lambda a: np.asarray_chkfinite(a),
        lambda a: np.asarray_chkfinite(a, dtype=np.float32),
        lambda a: np.asarray_chkfinite(np.sqrt(a * 1.0)),
    ],
    "numpy.s_": [lambda a: a[np.s_[1:, ::2]], lambda a: a[np.s_[0]], lambda a: np.insert(a, np.s_[:2], 1, 1)],
    "numpy.index_exp": [lambda a: a[np.index_exp[0]], lambda a: a[:, np.index_exp[1:3][0]]],
    "numpy.mgrid": [
        lambda a: np.mgrid[0:3, 0:1:4j][1] * a,
        lambda a: (np.mgrid[: a.shape[0], 1:4], np.mgrid[1:2:0.25], np.mgrid[0:1:3j], a),
    ],
    "numpy.ogrid": [lambda a: np.ogrid[0:3, 0:4][1] * a, lambda a: (np.ogrid[: a.shape[0], 0.5:4], np.ogrid[2:5], a)],
    "numpy.r_": [
        lambda a: np.r_[a[0], 1, a[1]],
        lambda a: (np.r_[a[0], 0.5, 1:4], np.r_[a, a], np.r_[a[0]], np.r_[0:1:3j, 2]),
        lambda a: np.r_[a, a[0]],
    ],
    "numpy.c_": [
        lambda a: np.c_[a[0], a[1]],
        lambda a: (np.c_[a, a[:, :1]], np.c_[a[:, 0], a], np.c_[a[0]]),
        lambda a: np.c_[a, a[0]],
    ],
}
