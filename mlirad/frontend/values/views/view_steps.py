"""The steps of a view: from an array to a slice of it, to another shape, to its windows.

Static data is in the steps (which are hashable); the starts of slices, and sizes known only at run time, are in the
params.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.layers.windows import WindowsOp
from mlirad.dialect.ops.movement import TransposeOp, broadcast, reshape
from mlirad.frontend.values import affine, sizes
from mlirad.frontend.values.sizes import TRACED, Dim, Pattern, Shape, Size

UNKNOWN_STRIDE = 2**40
"""Strides this large mean only that the array is neither C- nor F-contiguous."""


# The start of a slice, in elements of its base axis: checked and not negative. An Expr is an i64. Also used for sizes.
Start = int | Expr


# In the sizes of an Affine step: all of a base axis with a size known only at run time.
WHOLE = -2


@dataclass(frozen=True)
class New:
    """A result axis without a base axis: of size 1 (np.newaxis), or stretched (np.broadcast_to)."""

    size: int


@dataclass(frozen=True)
class Affine:
    """A strided slice of every base axis, and the order of the axes.

    sizes, strides: one per base axis of `base`; a size may be WHOLE, or TRACED; a traced size is in the params, after
    the starts. axes: for each result axis its base axis, or New. A base axis missing there has size 1 and is dropped.
    """

    base: Pattern
    sizes: Pattern
    strides: tuple[int, ...]
    axes: tuple[int | New, ...]

    @property
    def param_count(self) -> int:
        return len(self.base) + self.sizes.count(TRACED)

    @property
    def pattern(self) -> Pattern:
        return tuple(axis.size if isinstance(axis, New) else max(self.sizes[axis], TRACED) for axis in self.axes)

    @property
    def is_whole(self) -> bool:
        """Whether every element of the base is in the view."""
        pairs = zip(self.sizes, self.base, strict=True)
        return all(size == WHOLE or size == base >= 0 for size, base in pairs) and set(self.strides) <= {1}

    @property
    def is_identity(self) -> bool:
        return self.is_whole and self.axes == tuple(range(len(self.base)))

    @property
    def is_relabelling(self) -> bool:
        """Whether the result has the base's elements in the base's order: only axes of size 1 are added or dropped."""
        unit = all(axis.size == 1 for axis in self.axes if isinstance(axis, New))
        return self.is_whole and unit and self.kept == tuple(sorted(self.kept))

    @property
    def kept(self) -> tuple[int, ...]:
        """The base axes that are result axes, in the result's order."""
        return tuple(axis for axis in self.axes if not isinstance(axis, New))

    @property
    def _permutation(self) -> tuple[int, ...]:
        ordered = sorted(self.kept)
        return tuple(ordered.index(axis) for axis in self.kept)

    def shape(self, params: Sequence[Start], base: Shape, origins: frozenset[Hashable]) -> Shape:
        """The shape of the slice in the axis order of the base; `base`: the base's shape."""
        own = iter(params[len(self.base) :])
        return tuple(
            whole if size == WHOLE else as_dim(next(own), origins, whole) if size == TRACED else size
            for size, whole in zip(self.sizes, base, strict=True)
        )

    def get(self, contents: Expr, params: Sequence[Start], shape: Shape) -> Expr:
        """Read the view's elements from the base's: a scalar for the shape (). `shape`: the slice's."""
        starts = params[: len(self.base)]
        if not self.kept:
            element = emit(ExtractOp, contents, *_exprs(starts))
            return self._with_new_axes(element, shape)
        part = contents
        if not self.is_whole:
            part = extract_slice(part, _exprs(starts), [sizes.value_of(size) for size in shape], self.strides)
        permutation = self._permutation
        if permutation != tuple(sorted(permutation)):
            part = reshape(part, types.tensor([part.shape[axis] for axis in sorted(self.kept)], part.element))
            part = emit(TransposeOp, part, permutation=permutation)
        return self._with_new_axes(part, shape)

    def _with_new_axes(self, part: Expr, shape: Shape) -> Expr:
        if all(axis.size == 1 for axis in self.axes if isinstance(axis, New)):
            return reshape(part, types.of_shape(self.pattern, part.element))
        part = reshape(part, sizes.of_shape([shape[axis] for axis in self.kept], part.element))
        places = [place for place, axis in enumerate(self.axes) if not isinstance(axis, New)]
        return broadcast(part, places, self.pattern, sizes.lengths([shape[axis] for axis in self.kept]))

    def put(self, contents: Expr, params: Sequence[Start], new: Expr, shape: Shape) -> Expr:
        """The base's elements, with the view's elements replaced by `new`."""
        starts = params[: len(self.base)]
        if not self.kept:
            return emit(InsertOp, reshape(new, new.element), contents, *_exprs(starts))
        permutation = self._permutation
        own = sizes.pattern(shape)
        part = reshape(new, types.tensor([own[axis] for axis in self.kept], new.element))
        if permutation != tuple(sorted(permutation)):
            part = emit(TransposeOp, part, permutation=np.argsort(permutation))
        part = reshape(part, types.tensor(own, new.element))
        return part if self.is_whole else insert_slice(part, contents, _exprs(starts), self.strides)


@dataclass(frozen=True)
class Reshape:
    """The elements of the base in row-major order, in another shape. All sizes are static."""

    base: Pattern
    pattern: Pattern

    @property
    def is_relabelling(self) -> bool:
        return True

    @property
    def param_count(self) -> int:
        return 0

    def get(self, contents: Expr) -> Expr:
        return reshape(contents, types.of_shape(self.pattern, contents.element))

    def put(self, contents: Expr, new: Expr) -> Expr:
        return reshape(new, contents.type)


@dataclass(frozen=True)
class Windows:
    """Result axis r walks along axis `axes[r]` of the base, in steps of `steps[r]`. All sizes are static.

    The elements overlap if several axes walk along one. They are read-only.
    """

    base: Pattern
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    pattern: Pattern

    @property
    def is_relabelling(self) -> bool:
        return False

    @property
    def param_count(self) -> int:
        return 0

    def get(self, contents: Expr) -> Expr:
        result_type = types.tensor(self.pattern, contents.element)
        return emit(WindowsOp, contents, axes=self.axes, steps=self.steps, result_type=result_type)


ViewStep = Affine | Reshape | Windows


def is_same_start(one: Start, other: Start) -> bool:
    """Whether two starts are certainly the same."""
    if isinstance(one, Expr) or isinstance(other, Expr):
        return isinstance(one, Expr) and isinstance(other, Expr) and one.value is other.value
    return one == other


def _exprs(starts: Sequence[Start]) -> list[Expr]:
    return [affine.as_expr(start) for start in starts]


def as_dim(length: Start, origins: frozenset[Hashable], whole: Size | None = None) -> Dim:
    """The size in the params for an axis of `whole` elements."""
    affine.remember_size(length, whole if isinstance(whole, int) else None)
    return Dim(affine.as_expr(length), origins)
