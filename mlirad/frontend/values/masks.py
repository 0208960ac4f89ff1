"""Masks known only at run time, as index arrays: the places of their true elements.

Reads: arrays of booleans. Writes: the number of true elements, and their places. Leaves: Traced values whose length
depends on data.
"""

from __future__ import annotations

import numpy as np

from mlirad.dialect.arrays.places import count_of, places_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, where
from mlirad.dialect.ops.movement import broadcast, reshape
from mlirad.frontend.values import affine, sizes
from mlirad.frontend.values.known_facts import recall, remember
from mlirad.frontend.values.traced import DATA, Traced


def flat_places(mask: Expr) -> Traced:
    """The places of the true elements in row-major order; the same places for masks that are the same value."""
    found = recall(("places", mask.value))
    if found is None:
        found = places_of(mask, count_of(mask))
        remember(("places", mask.value), found)
    return Traced(found, origins=frozenset({DATA}))


def indices(mask: Traced) -> list[Traced]:
    """For each axis of a mask, the indices of its true elements in row-major order: `np.nonzero`."""
    flat = flat_places(mask.expr)
    shape, found = mask.shape, list[Traced]()
    left = flat.expr
    for size in reversed(shape[1:]):
        length = sizes.full(affine.as_expr(sizes.value_of(size)), flat.shape)
        found.append(Traced(apply(np.remainder, left, length), origins=flat.origins))
        left = apply(np.floor_divide, left, length)
    return [Traced(left, origins=flat.origins), *reversed(found)]


def is_mergeable(shape: sizes.Shape) -> bool:
    """Whether axes of an array of this shape can be merged into one."""
    return sizes.is_static(shape)


def merged(x: Expr, axes: tuple[int, ...]) -> Expr:
    """An array of known shape, with these adjacent axes merged into one."""
    shape = x.shape
    size = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
    return reshape(x, types.tensor((*shape[: axes[0]], size, *shape[axes[-1] + 1 :]), x.element))


def chosen(mask: Expr, axes: tuple[int, ...], new: Expr, old: Expr) -> Expr:
    """`new` where a mask of these axes of an array is true, else `old`."""
    shape = sizes.shape_of(old)
    own = sizes.fitted(mask, [shape[axis] for axis in axes])
    return where(broadcast(own, axes, sizes.pattern(shape), sizes.lengths(shape)), new, old)
