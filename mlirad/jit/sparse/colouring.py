"""Colours of the columns of a sparsity pattern, such that columns of one colour can be computed together.

Reads: patterns. Writes: nothing. Leaves: a colour for each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def column_colours(pattern: Any) -> np.ndarray:
    """Colours such that no row has two columns of the same colour. pattern: a scipy.sparse matrix of shape (m, n).

    Curtis, Powell and Reid, On the Estimation of Sparse Jacobian Matrices, 1974. Returns n integers.
    """
    rows = pattern.tocsr()
    columns = pattern.tocsc()
    colours = np.full(pattern.shape[1], -1)
    for column in _by_degree(columns):
        near = (rows.indices[rows.indptr[row] : rows.indptr[row + 1]] for row in _indices(columns, column))
        colours[column] = _least_free({int(colours[each]) for those in near for each in those})
    return colours


def star_colours(pattern: Any) -> np.ndarray:
    """Colours for a symmetric pattern: adjacent columns differ, and each path of four has at least three colours.

    Then each entry can be read off the sum of one colour's columns.
    Gebremedhin, Manne and Pothen, What Color Is Your Jacobian?, 2005, algorithm 4.1. pattern: symmetric, n by n.
    """
    columns = pattern.tocsc()
    near = [[int(w) for w in _indices(columns, v) if w != v] for v in range(pattern.shape[0])]
    colours = np.full(pattern.shape[0], -1)
    for v in _by_degree(columns):
        forbidden: set[int] = set()
        for w in near[v]:
            forbidden.add(int(colours[w]))
            for x in near[w]:
                if x == v or colours[x] < 0:
                    continue
                if colours[w] < 0 or any(y != w and colours[y] == colours[w] for y in near[x]):
                    forbidden.add(int(colours[x]))
        colours[v] = _least_free(forbidden)
    return colours


def _by_degree(columns: Any) -> np.ndarray:
    """The columns, those with most entries first: this needs fewer colours than the natural order, except for bands."""
    lengths = np.diff(columns.indptr)
    return np.argsort(-lengths, kind="stable")


def _indices(columns: Any, number: int) -> np.ndarray:
    return columns.indices[columns.indptr[number] : columns.indptr[number + 1]]


def _least_free(taken: set[int]) -> int:
    colour = 0
    while colour in taken:
        colour += 1
    return colour
