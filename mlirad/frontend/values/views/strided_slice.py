"""A strided slice of an array: slices of slices, and the view step for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlirad.frontend.values import affine, sizes
from mlirad.frontend.values.sizes import TRACED, Dim, Shape, Size
from mlirad.frontend.values.views.view_steps import WHOLE, Affine, New, Start


@dataclass(frozen=True)
class StridedSlice:
    """A strided slice of every axis of an array, and the order of the axes: an Affine step with its params."""

    base: Shape
    starts: Sequence[Start]
    shape: Sequence[Size]
    strides: Sequence[int]
    axes: tuple[int | New, ...]

    def canonical(self) -> StridedSlice:
        """The slice in its normal form: start 0 if all or no elements of an axis are taken, stride 1 for one
        element."""
        strides = [1 if size in (0, 1) else stride for size, stride in zip(self.shape, self.strides, strict=True)]
        starts = [
            0 if size == 0 or (size == whole and stride == 1) else affine.simplified(start)
            for size, whole, stride, start in zip(self.shape, self.base, strides, self.starts, strict=True)
        ]
        return StridedSlice(self.base, starts, self.shape, strides, self.axes)

    def then(self, other: StridedSlice) -> StridedSlice:
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
        return StridedSlice(self.base, starts, shape, strides, tuple(axes))

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
