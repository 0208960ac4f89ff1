"""Views of arrays as lenses: how the elements of a view lie in its base, and reading and writing through that.

Reads: shapes, steps, starts. Writes: nd ops. Leaves: Views; the contents of a base, or new contents of it.

A View is a normalised chain: Affine after Affine is one Affine, Reshape after Reshape one Reshape, and the identity is
no step at all. What is static is in the steps (which are hashable); where the slices start is in the params.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, constant, emit
from mlirad.dialect.indexing import ExtractOp, ExtractSliceOp, InsertOp, InsertSliceOp
from mlirad.dialect.movement import TransposeOp, broadcast, reshape
from mlirad.errors import StaticValueError

# Where a slice starts, in elements of its base axis: checked and not negative. An Expr is an i64.
Start = int | Expr
Shape = tuple[int, ...]


@dataclass(frozen=True)
class New:
    """A result axis that no base axis is: of size 1 (np.newaxis), or stretched (np.broadcast_to)."""

    size: int


@dataclass(frozen=True)
class Affine:
    """A strided slice of every base axis, and the order of the axes.

    sizes, strides: one per base axis of `base`. axes: the base axis, or New, that each result axis is; a base axis
    that is not among them is dropped (its size is 1).
    """

    base: Shape
    sizes: Shape
    strides: tuple[int, ...]
    axes: tuple[int | New, ...]

    @property
    def shape(self) -> Shape:
        return tuple(axis.size if isinstance(axis, New) else self.sizes[axis] for axis in self.axes)

    @property
    def is_whole(self) -> bool:
        """Whether every element of the base is in the view."""
        return self.sizes == self.base and all(stride == 1 for stride in self.strides)

    @property
    def is_identity(self) -> bool:
        return self.is_whole and self.axes == tuple(range(len(self.base)))

    @property
    def is_relabelling(self) -> bool:
        """Whether the result has the base's elements, in the base's order: axes of size 1 come and go."""
        unit = all(axis.size == 1 for axis in self.axes if isinstance(axis, New))
        return self.is_whole and unit and self.kept == tuple(sorted(self.kept))

    @property
    def kept(self) -> tuple[int, ...]:
        """The base axes that are result axes, in the order of the result."""
        return tuple(axis for axis in self.axes if not isinstance(axis, New))

    @property
    def _permutation(self) -> tuple[int, ...]:
        ordered = sorted(self.kept)
        return tuple(ordered.index(axis) for axis in self.kept)

    def get(self, contents: Expr, starts: Sequence[Start]) -> Expr:
        """The view's elements, of the base's: a scalar for the shape ()."""
        if not self.kept:
            element = emit(ExtractOp, contents, *_exprs(starts))
            return self._with_new_axes(element)
        part = contents
        if not self.is_whole:
            part = emit(ExtractSliceOp, contents, *_exprs(starts), sizes=self.sizes, strides=self.strides)
        permutation = self._permutation
        if permutation != tuple(sorted(permutation)):
            part = reshape(part, types.tensor([self.sizes[axis] for axis in sorted(self.kept)], part.element))
            part = emit(TransposeOp, part, permutation=permutation)
        return self._with_new_axes(part)

    def _with_new_axes(self, part: Expr) -> Expr:
        if all(axis.size == 1 for axis in self.axes if isinstance(axis, New)):
            return reshape(part, types.of_shape(self.shape, part.element))
        part = reshape(part, types.of_shape([self.sizes[axis] for axis in self.kept], part.element))
        places = [place for place, axis in enumerate(self.axes) if not isinstance(axis, New)]
        return broadcast(part, places, self.shape)

    def put(self, contents: Expr, starts: Sequence[Start], new: Expr) -> Expr:
        """The base's elements with those of the view replaced by `new`."""
        if not self.kept:
            return emit(InsertOp, reshape(new, new.element), contents, *_exprs(starts))
        permutation = self._permutation
        part = reshape(new, types.tensor([self.sizes[axis] for axis in self.kept], new.element))
        if permutation != tuple(sorted(permutation)):
            part = emit(TransposeOp, part, permutation=np.argsort(permutation))
        part = reshape(part, types.tensor(self.sizes, new.element))
        if self.is_whole:
            return part
        return emit(InsertSliceOp, part, contents, *_exprs(starts), sizes=self.sizes, strides=self.strides)


@dataclass(frozen=True)
class Reshape:
    """The elements of the base in row-major order, in another shape."""

    base: Shape
    shape: Shape

    @property
    def is_relabelling(self) -> bool:
        return True

    def get(self, contents: Expr, starts: Sequence[Start]) -> Expr:
        assert not starts
        return reshape(contents, types.of_shape(self.shape, contents.element))

    def put(self, contents: Expr, starts: Sequence[Start], new: Expr) -> Expr:
        assert not starts
        return reshape(new, contents.type)


Step = Affine | Reshape


@dataclass(frozen=True, eq=False)
class View:
    """An array seen through steps.

    params: the starts of all Affine steps, one per base axis each. strides: in elements, what NumPy's array has (-1,
    -2 are flips; NumPy answers from them whether a reshape is a view); they play no part in get and put.
    """

    base: Shape
    dtype: np.dtype
    steps: tuple[Step, ...]
    params: tuple[Start, ...]
    strides: tuple[int, ...]
    readonly: bool = False

    @staticmethod
    def of(shape: Shape, dtype: np.dtype, strides: Sequence[int] | None = None, readonly: bool = False) -> View:
        """A whole array; `strides` in elements where it is not C-contiguous."""
        strides = c_strides(shape) if strides is None else tuple(strides)
        return View(tuple(shape), np.dtype(dtype), (), (), strides, readonly)

    @property
    def shape(self) -> Shape:
        return self.steps[-1].shape if self.steps else self.base

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether the view is the base itself."""
        return not self.steps

    def chain(self) -> Iterator[tuple[Step, tuple[Start, ...]]]:
        """The steps, each with its starts."""
        position = 0
        for step in self.steps:
            count = len(step.base) if isinstance(step, Affine) else 0
            yield step, self.params[position : position + count]
            position += count

    def affine(self, step: Affine, starts: Sequence[Start]) -> View:
        """The view of this view that `step` is; `starts` are valid for it."""
        strides = tuple(0 if isinstance(a, New) else self.strides[a] * step.strides[a] for a in step.axes)
        step, starts = _canonical(step, starts)
        stretched = any(isinstance(axis, New) and axis.size > 1 for axis in step.axes)
        steps, params = self.steps, self.params
        if steps and isinstance(steps[-1], Affine):
            *_, (below, starts_below) = self.chain()
            assert isinstance(below, Affine)
            step, starts = _canonical(*_composed(below, starts_below, step, starts))
            steps, params = steps[:-1], params[: len(params) - len(starts_below)]
        if not step.is_identity:
            steps, params = (*steps, step), (*params, *starts)
        return dataclasses.replace(
            self, steps=steps, params=params, strides=strides, readonly=self.readonly or stretched
        )

    def reshaped(self, shape: Shape, strides: Sequence[int]) -> View:
        """The view of this view in another shape. `strides`: what NumPy's array has then."""
        steps, params = self.steps, self.params
        while steps and steps[-1].is_relabelling:
            last = steps[-1]
            params = params[: len(params) - (len(last.base) if isinstance(last, Affine) else 0)]
            steps = steps[:-1]
        below = dataclasses.replace(self, steps=steps, params=params)
        if below.shape != shape:
            units = _unit_axes(below.shape, shape)
            if units is not None:
                below = dataclasses.replace(below, strides=c_strides(below.shape)).affine(units, [0] * below.ndim)
            else:
                below = dataclasses.replace(below, steps=(*steps, Reshape(below.shape, shape)))
        return dataclasses.replace(below, strides=tuple(strides))


def get(view: View, contents: Expr) -> Expr:
    """The elements of a view, of its base's `contents`: a builtin scalar for the shape ()."""
    if 0 in view.shape:
        return constant(0, types.tensor(view.shape, contents.element))
    for step, starts in view.chain():
        contents = step.get(contents, starts)
    return contents if view.shape or not contents.is_tensor else emit(ExtractOp, contents)


def put(view: View, contents: Expr, new: Expr) -> Expr:
    """The base's contents with the elements of the view replaced by `new` (of the view's shape and dtype).

    Raises StaticValueError for a read-only view.
    """
    if view.readonly:
        raise StaticValueError("assignment destination is read-only")
    if 0 in view.shape:
        return contents
    if view.is_whole:
        return new if view.base else emit(InsertOp, reshape(new, new.element), contents)
    chain = list(view.chain())
    levels = [contents]
    for step, starts in chain[:-1]:
        levels.append(step.get(levels[-1], starts))
    for (step, starts), level in zip(reversed(chain), reversed(levels), strict=True):
        new = step.put(level, starts, new)
    return new


def safe_params(view: View) -> tuple[int, ...]:
    """Starts that are in range, one for each of the view's params: for where the view is not taken."""
    safe: list[int] = []
    for step, _ in view.chain():
        if isinstance(step, Affine):
            safe.extend(
                (size - 1) * -stride if stride < 0 and size else 0
                for size, stride in zip(step.sizes, step.strides, strict=True)
            )
    return tuple(safe)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def shadow(shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """An array of NumPy's without memory, to be asked for shapes, strides and flags, and never read."""
    return np.lib.stride_tricks.as_strided(np.empty(1), tuple(shape), [8 * stride for stride in strides])


def _exprs(starts: Sequence[Start]) -> list[Expr]:
    return [start if isinstance(start, Expr) else constant(start, types.I64) for start in starts]


def _canonical(step: Affine, starts: Sequence[Start]) -> tuple[Affine, tuple[Start, ...]]:
    """One way only to write a slice: of a whole axis and of no element the start is 0, of one element the stride 1."""
    strides = tuple(stride if size > 1 else 1 for size, stride in zip(step.sizes, step.strides, strict=True))
    fixed = [
        0 if size == 0 or (size == whole and stride == 1) else start
        for size, whole, stride, start in zip(step.sizes, step.base, strides, starts, strict=True)
    ]
    return dataclasses.replace(step, strides=strides), tuple(fixed)


def _composed(
    below: Affine, starts_below: Sequence[Start], step: Affine, starts: Sequence[Start]
) -> tuple[Affine, tuple[Start, ...]]:
    """`step` after `below`, as one."""
    sizes, strides, origin = list(below.sizes), list(below.strides), list(starts_below)
    for place, axis in enumerate(below.axes):
        if not isinstance(axis, New):
            origin[axis] = _moved(starts_below[axis], below.strides[axis], starts[place])
            sizes[axis] = step.sizes[place]
            strides[axis] = below.strides[axis] * step.strides[place]
    axes: list[int | New] = []
    for place in step.axes:
        axis = place if isinstance(place, New) else below.axes[place]
        stretched = isinstance(axis, New) and not isinstance(place, New)
        axes.append(New(step.sizes[place]) if stretched else axis)  # type: ignore[index]
    return Affine(below.base, tuple(sizes), tuple(strides), tuple(axes)), tuple(origin)


def _moved(start: Start, stride: int, offset: Start) -> Start:
    """start + stride * offset."""
    if isinstance(offset, int):
        return start + stride * offset if offset else start
    scaled = offset if stride == 1 else offset * stride
    return scaled if isinstance(start, int) and start == 0 else scaled + start


def _unit_axes(old: Shape, new: Shape) -> Affine | None:
    """The reshape from `old` to `new` as an Affine, if it only adds and drops axes of size 1."""
    kept = [axis for axis, size in enumerate(old) if size != 1]
    if [old[axis] for axis in kept] != [size for size in new if size != 1]:
        return None
    remaining = iter(kept)
    axes = tuple(New(1) if size == 1 else next(remaining) for size in new)
    return Affine(old, old, (1,) * len(old), axes)
