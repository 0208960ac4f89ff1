"""Views of arrays as lenses.

A View is a normalised chain: two Affine steps in a row become one, two Reshape steps become one, and the identity is
dropped. A slice of Windows becomes a slice of their base where possible.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlirad.frontend.values import affine, sizes
from mlirad.frontend.values.sizes import TRACED, Dim, Pattern, Shape, Size
from mlirad.frontend.values.views.row_major import c_strides, row_major
from mlirad.frontend.values.views.strided_slice import StridedSlice
from mlirad.frontend.values.views.view_steps import Affine, New, Reshape, Start, ViewStep, Windows, as_dim


@dataclass(frozen=True, eq=False)
class View:
    """An array seen through steps.

    params: the run-time sizes of the base, then for each Affine step its starts, one per base axis, and its run-time
    sizes. strides: those of NumPy's array, in elements (-1, -2 are flips). They decide whether a reshape is a view; get
    and put ignore them. origins: what the sizes in the params come from. part: the visible part of complex elements,
    "real" or "imag".
    """

    base: Pattern
    dtype: np.dtype
    steps: tuple[ViewStep, ...]
    params: tuple[Start, ...]
    strides: tuple[int, ...]
    readonly: bool = False
    origins: frozenset[Hashable] = frozenset()
    part: str | None = None

    @staticmethod
    def of(shape: Shape, dtype: np.dtype, strides: Sequence[int] | None = None, readonly: bool = False) -> View:
        """A whole array; `strides` in elements unless it is C-contiguous."""
        strides = c_strides(shape) if strides is None else tuple(strides)
        params, origins = tuple(sizes.lengths(shape)), sizes.origins_of(shape)
        return View(sizes.pattern(shape), np.dtype(dtype), (), params, strides, readonly, origins)

    @property
    def pattern(self) -> Pattern:
        """The shape, with TRACED for sizes known only at run time."""
        return self.steps[-1].pattern if self.steps else self.base

    @property
    def lens(self) -> tuple[tuple[ViewStep, ...], bool, str | None]:
        """What two views of one array must share to be merged into one with selected starts."""
        return self.steps, self.readonly, self.part

    @property
    def is_static(self) -> bool:
        """Whether all sizes are static, including those of the base."""
        return TRACED not in self.base and not any(TRACED in each.pattern for each in self.steps)

    @property
    def base_shape(self) -> Shape:
        own = iter(self.params)
        return tuple(as_dim(next(own), self.origins) if size == TRACED else size for size in self.base)

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
        return not self.steps and self.part is None

    @property
    def base_dtype(self) -> np.dtype:
        return self.dtype if self.part is None else np.dtype(f"c{2 * self.dtype.itemsize}")

    def part_of_elements(self, part: str) -> View:
        """The real or the imaginary part of the elements: in NumPy, a view of every other float."""
        real = np.dtype(f"f{self.dtype.itemsize // 2}")
        # In elements of the base: it only matters that the result is not contiguous.
        strides = tuple(2 * stride for stride in self.strides)
        return dataclasses.replace(self, part=part, dtype=real, strides=strides)

    def chain(self) -> Iterator[tuple[ViewStep, tuple[Start, ...], Shape]]:
        """The steps, each with its params, and the shape of its slice in the axis order of its base."""
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
        """A strided slice of this view: `shape` elements along its axes, from valid `starts`; the result has `axes`, in
        this order. Without an argument, that property of the view stays the same."""
        whole, ones = self.shape, (1,) * self.ndim
        part = StridedSlice(
            whole, starts or [0] * self.ndim, whole if shape is None else shape, strides or ones, tuple(axes)
        )
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
            part=below.part,
        )

    def windowed(self, axes: Sequence[int], steps: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> View:
        """The windows of this view; they are read-only. `strides`: those of NumPy's array."""
        if sorted(axes) == list(range(self.ndim)):
            order = [list(axes).index(axis) for axis in range(self.ndim)]
            found = self.affine(axes, None, [shape[r] for r in order], [steps[r] for r in order])
        else:
            base = sizes.require_static(self.shape, "the shape of an array that is seen in windows")
            step = Windows(base, tuple(axes), tuple(steps), tuple(shape))
            found = dataclasses.replace(self, steps=(*self.steps, step))
        return dataclasses.replace(found, strides=tuple(strides), readonly=True)

    def _windows_of_slice(self, windows: Windows, part: StridedSlice) -> tuple[View, StridedSlice]:
        """`part`, a slice of the windows of this view, as windows of a slice of it; and the rest of the slice:
        directions, run-time sizes, and the order of the axes."""
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
        return below, StridedSlice(tuple(shape[r] for r in kept), firsts, counts, strides, tuple(axes))

    def then(self, inner: View) -> View:
        """`inner`, a view of a copy of this array with the same layout, as a view of this array."""
        found, is_reshaped = self, False
        for step, params, shape in inner.chain():
            if isinstance(step, Affine):
                found = found.affine(step.axes, params[: len(step.base)], shape, step.strides)
                continue
            # The strides between two steps are unknown, and do not matter: those of the last one are NumPy's.
            is_reshaped = True
            between = c_strides(step.pattern)
            if isinstance(step, Windows):
                found = found.windowed(step.axes, step.steps, step.pattern, between)
            else:
                found = found.reshaped(step.pattern, between)
        if is_reshaped:
            found = dataclasses.replace(found, strides=inner.strides)
        if inner.part is not None:
            found = found.part_of_elements(inner.part)
        return dataclasses.replace(found, strides=inner.strides, readonly=inner.readonly)

    def _without_last(self) -> View:
        """The view without its last step (keeping the step's strides)."""
        count = self.steps[-1].param_count
        return dataclasses.replace(self, steps=self.steps[:-1], params=self.params[: len(self.params) - count])

    def _last_slice(self, below: View) -> StridedSlice:
        *_, (step, params, shape) = self.chain()
        assert isinstance(step, Affine)
        return StridedSlice(below.shape, params[: len(step.base)], shape, step.strides, step.axes)

    def reshaped(self, shape: Shape, strides: Sequence[int]) -> View:
        """This view in another shape. `strides`: those of NumPy's array."""
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


def safe_params(view: View) -> tuple[int, ...]:
    """Params that are in range, one for each param of the view, for paths on which the view is not used."""
    safe = [0] * view.base.count(TRACED)
    for step in view.steps:
        if isinstance(step, Affine):
            safe.extend(
                (size - 1) * -stride if stride < 0 and size > 0 else 0
                for size, stride in zip(step.sizes, step.strides, strict=True)
            )
            safe.extend([0] * step.sizes.count(TRACED))
    return tuple(safe)


def _unravelled(index: Sequence[Start], step: Reshape) -> list[Start]:
    """The index in the base of the element at `index` in the step's result."""
    number: Start = 0
    for start, stride in zip(index, row_major(step.pattern), strict=True):
        number = affine.add(number, affine.multiply(start, stride))
    found: list[Start] = []
    for stride in row_major(step.base):
        place = affine.floor_divide(number, max(stride, 1))
        found.append(place)
        number = affine.subtract(number, affine.multiply(place, stride))
    return found


def _unit_axes(old: Shape, new: Shape) -> tuple[int | New, ...] | None:
    """The axes of a reshape from `old` to `new`, if it only adds and drops axes of size 1."""
    kept = [axis for axis, size in enumerate(old) if size != 1]
    if [old[axis] for axis in kept] != [size for size in new if size != 1]:
        return None
    remaining = iter(kept)
    return tuple(New(1) if size == 1 else next(remaining) for size in new)
