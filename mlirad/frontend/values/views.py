"""Views of arrays as lenses: how the elements of a view lie in its base, and reading and writing through that.

Reads: shapes, steps, starts. Writes: nd ops. Leaves: Views; the contents of a base, or new contents of it.

A View is a normalised chain: Affine after Affine is one Affine, Reshape after Reshape one Reshape, and the identity is
no step at all. A slice of Windows is one of their base, as far as it can be. What is static is in the steps (which are
hashable); where the slices start, and the sizes that only the run knows, are in the params.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.layers.windows import WindowsOp
from mlirad.dialect.ops.movement import TransposeOp, broadcast, reshape
from mlirad.errors import StaticValueError
from mlirad.frontend.values import affine, sizes
from mlirad.frontend.values.sizes import TRACED, Dim, Pattern, Shape, Size

UNKNOWN_STRIDE = 2**40
"""Strides this large: all that is known of the array is that it is neither C- nor F-contiguous."""
# Where a slice starts, in elements of its base axis: checked and not negative. An Expr is an i64. Also a size.
Start = int | Expr
# In the sizes of an Affine step: all of an axis of the base whose size only the run knows.
WHOLE = -2


@dataclass(frozen=True)
class New:
    """A result axis without a base axis: of size 1 (np.newaxis), or stretched (np.broadcast_to)."""

    size: int


@dataclass(frozen=True)
class Affine:
    """A strided slice of every base axis, and the order of the axes.

    sizes, strides: one per base axis of `base`; a size may be WHOLE, or TRACED, which stands in the params, after the
    starts. axes: for each result axis its base axis, or New. A base axis that is not among them has size 1 and is
    dropped.
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

    def shape(self, params: Sequence[Start], base: Shape, origins: frozenset[Hashable]) -> Shape:
        """The shape of the slice in the order of the base's axes; `base`: the base's shape."""
        own = iter(params[len(self.base) :])
        return tuple(
            whole if size == WHOLE else _as_dim(next(own), origins, whole) if size == TRACED else size
            for size, whole in zip(self.sizes, base, strict=True)
        )

    def get(self, contents: Expr, params: Sequence[Start], shape: Shape) -> Expr:
        """The view's elements, of the base's: a scalar for the shape (). `shape`: the slice's."""
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

    Its elements overlap where several axes walk along one. They are only read.
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


@dataclass(frozen=True, eq=False)
class View:
    """An array seen through steps.

    params: the sizes of the base that only the run knows, then for each Affine step its starts, one per base axis, and
    its own such sizes. strides: in elements, what NumPy's array has (-1, -2 are flips; NumPy answers from them whether
    a reshape is a view); they play no part in get and put. origins: what the sizes in the params come from.
    """

    base: Pattern
    dtype: np.dtype
    steps: tuple[ViewStep, ...]
    params: tuple[Start, ...]
    strides: tuple[int, ...]
    readonly: bool = False
    origins: frozenset[Hashable] = frozenset()

    @staticmethod
    def of(shape: Shape, dtype: np.dtype, strides: Sequence[int] | None = None, readonly: bool = False) -> View:
        """A whole array; `strides` in elements where it is not C-contiguous."""
        strides = c_strides(shape) if strides is None else tuple(strides)
        params, origins = tuple(sizes.lengths(shape)), sizes.origins_of(shape)
        return View(sizes.pattern(shape), np.dtype(dtype), (), params, strides, readonly, origins)

    @property
    def pattern(self) -> Pattern:
        """The shape, with TRACED for what only the run knows."""
        return self.steps[-1].pattern if self.steps else self.base

    @property
    def lens(self) -> tuple[tuple[ViewStep, ...], bool]:
        """What two views of one array have in common that are one, whose starts are selected."""
        return self.steps, self.readonly

    @property
    def is_static(self) -> bool:
        """Whether all sizes are static, the base's sizes included."""
        return TRACED not in self.base and not any(TRACED in each.pattern for each in self.steps)

    @property
    def base_shape(self) -> Shape:
        own = iter(self.params)
        return tuple(_as_dim(next(own), self.origins) if size == TRACED else size for size in self.base)

    @property
    def shape(self) -> Shape:
        if TRACED not in self.pattern:
            return self.pattern
        if not self.steps:
            return self.base_shape
        *_, (last, _, shape) = self.chain()
        assert isinstance(last, Affine)
        return tuple(axis.size if isinstance(axis, New) else shape[axis] for axis in last.axes)

    @property
    def ndim(self) -> int:
        return len(self.strides)

    @property
    def size(self) -> Size:
        return sizes.total(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether the view is the base itself."""
        return not self.steps

    def chain(self) -> Iterator[tuple[ViewStep, tuple[Start, ...], Shape]]:
        """The steps, each with its params, and the shape of its slice in the order of its base's axes."""
        position = self.base.count(TRACED)
        shape = self.base_shape
        for step in self.steps:
            params = self.params[position : position + step.param_count]
            position += step.param_count
            if isinstance(step, Affine):
                slice_shape = step.shape(params, shape, self.origins)
                yield step, params, slice_shape
                shape = tuple(a.size if isinstance(a, New) else slice_shape[a] for a in step.axes)
            else:
                shape = step.pattern
                yield step, params, shape

    def affine(
        self,
        axes: Sequence[int | New],
        starts: Sequence[Start] | None = None,
        shape: Sequence[Size] | None = None,
        strides: Sequence[int] | None = None,
    ) -> View:
        """A strided slice of this view: `shape` elements along its axes, from the valid `starts`; its result has
        `axes`, in this order. Without an argument, that property of the view stays as it is."""
        whole, ones = self.shape, (1,) * self.ndim
        part = _Slice(whole, starts or [0] * self.ndim, whole if shape is None else shape, strides or ones, tuple(axes))
        own = tuple(0 if isinstance(a, New) else self.strides[a] * part.strides[a] for a in axes)
        stretched = any(isinstance(axis, New) and axis.size > 1 for axis in axes)
        part, below = part.canonical(), self
        if self.steps and isinstance(self.steps[-1], Affine):
            below = self._without_last()
            part = self._last_slice(below).then(part).canonical()
        is_element = not any(isinstance(axis, int) for axis in part.axes)
        if is_element and len(below.steps) > 1 and isinstance(reshape := below.steps[-1], Reshape):
            below = dataclasses.replace(below._without_last(), strides=(0,) * len(reshape.base))
            found = below.affine(part.axes, _unravelled(part.starts, reshape), (1,) * len(reshape.base))
            return dataclasses.replace(found, strides=own, readonly=self.readonly or stretched)
        if below.steps and isinstance(windows := below.steps[-1], Windows):
            below = dataclasses.replace(below._without_last(), strides=(0,) * len(windows.base))
            below, part = below._windows_of_slice(windows, part)
            if not below.steps or not isinstance(below.steps[-1], Windows):
                found = below.affine(part.axes, part.starts, part.shape, part.strides)
                return dataclasses.replace(found, strides=own, readonly=self.readonly or stretched)
        step, params = part.encoded()
        steps, params = ((), ()) if step.is_identity else ((step,), params)
        return View(
            below.base,
            below.dtype,
            (*below.steps, *steps),
            (*below.params, *params),
            own,
            readonly=self.readonly or stretched,
            origins=below.origins | sizes.origins_of(part.shape),
        )

    def windowed(self, axes: Sequence[int], steps: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> View:
        """The windows of this view, which cannot be written. `strides`: what NumPy's array has then."""
        if sorted(axes) == list(range(self.ndim)):
            order = [list(axes).index(axis) for axis in range(self.ndim)]
            found = self.affine(axes, None, [shape[r] for r in order], [steps[r] for r in order])
        else:
            base = sizes.require_static(self.shape, "the shape of an array that is seen in windows")
            step = Windows(base, tuple(axes), tuple(steps), tuple(shape))
            found = dataclasses.replace(self, steps=(*self.steps, step))
        return dataclasses.replace(found, strides=tuple(strides), readonly=True)

    def _windows_of_slice(self, windows: Windows, part: _Slice) -> tuple[View, _Slice]:
        """`part`, a slice of the windows of this view, as windows of a slice of it, and what is left of the slice:
        directions, sizes that only the run knows, and the order of the axes."""
        starts: list[Start] = [0] * self.ndim
        sides = [1] * self.ndim
        steps, shape = list(windows.steps), list(windows.pattern)
        rest: list[tuple[Start, Size, int]] = []
        for r, (start, size, stride) in enumerate(zip(part.starts, part.shape, part.strides, strict=True)):
            axis = windows.axes[r]
            if isinstance(size, Dim):
                rest.append((start, size, stride))
            else:
                rest.append((0, size, 1) if stride > 0 else (size - 1, size, -1))
                first = start if stride > 0 else affine.add(start, (size - 1) * stride)
                starts[axis] = affine.add(starts[axis], affine.multiply(first, steps[r]))
                steps[r], shape[r] = steps[r] * abs(stride), size
            sides[axis] += steps[r] * max(shape[r] - 1, 0)
        sides = [min(side, whole) for side, whole in zip(sides, windows.base, strict=True)]  # shorter if empty
        long = {windows.axes[r] for r, size in enumerate(shape) if size != 1}
        first_of = {windows.axes.index(axis) for axis in range(self.ndim) if axis not in long}
        kept = [r for r, size in enumerate(shape) if size != 1 or r in first_of]
        below = self.affine(range(self.ndim), starts, sides).windowed(
            [windows.axes[r] for r in kept], [steps[r] for r in kept], [shape[r] for r in kept], [0] * len(kept)
        )
        axes = (
            place if isinstance(place, New) else kept.index(place) if place in kept else New(1) for place in part.axes
        )
        firsts, counts, strides = zip(*(rest[r] for r in kept), strict=True)
        return below, _Slice(tuple(shape[r] for r in kept), firsts, counts, strides, tuple(axes))

    def then(self, inner: View) -> View:
        """`inner`, a view of a copy of this array in the same layout, as a view of this array."""
        found = self
        for step, params, shape in inner.chain():
            if isinstance(step, Affine):
                found = found.affine(step.axes, params[: len(step.base)], shape, step.strides)
            elif isinstance(step, Windows):
                found = found.windowed(step.axes, step.steps, step.pattern, inner.strides)
            else:
                found = found.reshaped(step.pattern, inner.strides)
        return dataclasses.replace(found, strides=inner.strides, readonly=inner.readonly)

    def _without_last(self) -> View:
        """The view without its last step (whose strides it keeps)."""
        count = self.steps[-1].param_count
        return dataclasses.replace(self, steps=self.steps[:-1], params=self.params[: len(self.params) - count])

    def _last_slice(self, below: View) -> _Slice:
        *_, (step, params, shape) = self.chain()
        assert isinstance(step, Affine)
        return _Slice(below.shape, params[: len(step.base)], shape, step.strides, step.axes)

    def reshaped(self, shape: Shape, strides: Sequence[int]) -> View:
        """The view of this view in another shape. `strides`: what NumPy's array has then."""
        below = self
        while below.steps and below.steps[-1].is_relabelling:
            below = below._without_last()
        old = below.shape
        if old != shape:
            units = _unit_axes(old, shape)
            below = dataclasses.replace(below, strides=c_strides(old))
            if units is not None:
                below = below.affine(units)
            else:
                what = "the shape of an array that is reshaped"
                step = Reshape(sizes.require_static(old, what), sizes.require_static(shape, what))
                below = dataclasses.replace(below, steps=(*below.steps, step))
        return dataclasses.replace(below, strides=tuple(strides))


@dataclass(frozen=True)
class _Slice:
    """A strided slice of every axis of an array, and the order of the axes: an Affine step with its params."""

    base: Shape
    starts: Sequence[Start]
    shape: Sequence[Size]
    strides: Sequence[int]
    axes: tuple[int | New, ...]

    def canonical(self) -> _Slice:
        """The slice in its only form: the start is 0 if all or no elements of an axis are taken, the stride 1 for one
        element."""
        strides = [1 if size in (0, 1) else stride for size, stride in zip(self.shape, self.strides, strict=True)]
        starts = [
            0 if size == 0 or (size == whole and stride == 1) else affine.simplified(start)
            for size, whole, stride, start in zip(self.shape, self.base, strides, self.starts, strict=True)
        ]
        return _Slice(self.base, starts, self.shape, strides, self.axes)

    def then(self, other: _Slice) -> _Slice:
        """`other`, a slice of this slice, as a slice of this slice's base."""
        shape, strides, starts = list(self.shape), list(self.strides), list(self.starts)
        for place, axis in enumerate(self.axes):
            if not isinstance(axis, New):
                starts[axis] = affine.add(starts[axis], affine.multiply(other.starts[place], strides[axis]))
                shape[axis] = other.shape[place]
                strides[axis] *= other.strides[place]
        axes: list[int | New] = []
        for place in other.axes:
            axis = place if isinstance(place, New) else self.axes[place]
            if isinstance(axis, New) and not isinstance(place, New):
                (size,) = sizes.require_static([other.shape[place]], "the length of a slice of a repeated axis")
                axis = New(size)
            axes.append(axis)
        return _Slice(self.base, starts, shape, strides, tuple(axes))

    def encoded(self) -> tuple[Affine, tuple[Start, ...]]:
        codes: list[int] = []
        own: list[Start] = []
        for size, whole in zip(self.shape, self.base, strict=True):
            if isinstance(size, Dim) and isinstance(whole, Dim) and size == whole:
                codes.append(WHOLE)
            elif isinstance(size, Dim):
                codes.append(TRACED)
                own.append(size.expr)
            else:
                codes.append(size)
        step = Affine(sizes.pattern(self.base), tuple(codes), tuple(self.strides), self.axes)
        return step, (*self.starts, *own)


def get(view: View, contents: Expr) -> Expr:
    """The elements of a view, of its base's `contents`: a builtin scalar for the shape ()."""
    sizes.remember_shape(contents, view.base_shape)
    if 0 in view.pattern:
        return sizes.filled(0, view.shape, contents.element)
    for step, params, shape in view.chain():
        contents = step.get(contents, params, shape) if isinstance(step, Affine) else step.get(contents)
    sizes.remember_shape(contents, view.shape)
    return contents if view.ndim or not contents.is_tensor else emit(ExtractOp, contents)


def put(view: View, contents: Expr, new: Expr) -> Expr:
    """The base's contents with the elements of the view replaced by `new` (of the view's shape and dtype).

    Raises StaticValueError for a read-only view.
    """
    if view.readonly:
        raise StaticValueError("assignment destination is read-only")
    if 0 in view.pattern:
        return contents
    if view.is_whole:
        return new if view.base else emit(InsertOp, reshape(new, new.element), contents)
    sizes.remember_shape(contents, view.base_shape)
    chain = list(view.chain())
    levels = [contents]
    for step, params, shape in chain[:-1]:
        level = levels[-1]
        levels.append(step.get(level, params, shape) if isinstance(step, Affine) else step.get(level))
    for (step, params, shape), level in zip(reversed(chain), reversed(levels), strict=True):
        assert not isinstance(step, Windows), "windows are read-only"
        new = step.put(level, params, new, shape) if isinstance(step, Affine) else step.put(level, new)
    return new


def safe_params(view: View) -> tuple[int, ...]:
    """Params that are in range, one for each of the view's: for where the view is not taken."""
    safe = [0] * view.base.count(TRACED)
    for step in view.steps:
        if isinstance(step, Affine):
            safe.extend(
                (size - 1) * -stride if stride < 0 and size > 0 else 0
                for size, stride in zip(step.sizes, step.strides, strict=True)
            )
            safe.extend([0] * step.sizes.count(TRACED))
    return tuple(safe)


def c_strides(shape: Sequence[Size]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    return _row_major(sizes.stand_in(shape))


@lru_cache(1024)
def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def shadow(shape: Sequence[Size], strides: Sequence[int]) -> np.ndarray:
    """An array of NumPy's without memory, to be asked for shapes, strides and flags, and never read."""
    in_bytes = [8 * stride for stride in strides]
    # A size that is known at run time only raises NeedStatic.
    return np.lib.stride_tricks.as_strided(np.empty(1), shape, in_bytes)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _unravelled(index: Sequence[Start], step: Reshape) -> list[Start]:
    """The index in the base of the element that has `index` in the step's result."""
    number: Start = 0
    for start, stride in zip(index, _row_major(step.pattern), strict=True):
        number = affine.add(number, affine.multiply(start, stride))
    found: list[Start] = []
    for stride in _row_major(step.base):
        place = affine.floor_divide(number, max(stride, 1))
        found.append(place)
        number = affine.subtract(number, affine.multiply(place, stride))
    return found


def _exprs(starts: Sequence[Start]) -> list[Expr]:
    return [affine.as_expr(start) for start in starts]


def _as_dim(length: Start, origins: frozenset[Hashable], whole: Size | None = None) -> Dim:
    """A size of the params, of an axis of `whole` elements."""
    affine.remember_size(length, whole if isinstance(whole, int) else None)
    return Dim(affine.as_expr(length), origins)


def _unit_axes(old: Shape, new: Shape) -> tuple[int | New, ...] | None:
    """The axes of a reshape from `old` to `new`, if it only adds and drops axes of size 1."""
    kept = [axis for axis, size in enumerate(old) if size != 1]
    if [old[axis] for axis in kept] != [size for size in new if size != 1]:
        return None
    remaining = iter(kept)
    return tuple(New(1) if size == 1 else next(remaining) for size in new)
