"""Views of one array at a join: two slices that differ in their sizes only are one, whose sizes are traced.

Reads: references of two states. Writes: nothing. Leaves: references with the same steps; params that are in range.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values import numpy_strides, sizes
from mlirad.frontend.values.sizes import TRACED
from mlirad.frontend.values.values import Alternative, Ref, Value, parts_of
from mlirad.frontend.values.views import WHOLE, Affine, Start, View, safe_params


def one_kind(a: Ref, b: Ref, left: Mapping[int, int], right: Mapping[int, int], in_loop: bool) -> tuple[Ref, Ref]:
    """Two slices of one array with the same steps, if they differ in their sizes only; else what they were.

    left, right: what the cells of the two sides become. in_loop: static sizes stay as they are, and the loop may be
    unrolled.
    """
    (x, *others), (y, *more) = a.alternatives, b.alternatives
    is_one = not others and not more and left[x.cell] == right[y.cell]
    if not is_one or (in_loop and x.view.is_static and y.view.is_static):
        return a, b
    views = _alike(x.view, y.view)
    if views is None:
        return a, b
    return Ref((Alternative(x.cell, views[0]),)), Ref((Alternative(y.cell, views[1]),))


def _alike(x: View, y: View) -> tuple[View, View] | None:
    """Two slices of one array with the same steps: sizes in which they differ are in the params. None: they differ in
    more than where they start and their sizes."""
    if x.steps == y.steps:
        return x, y
    if max(len(x.steps), len(y.steps)) > 1 or not all(isinstance(step, Affine) for step in (*x.steps, *y.steps)):
        return None
    first, second = _step(x), _step(y)
    own, others = (list(zip(step.sizes, step.strides, strict=True)) for step in (first, second))
    if first.base != second.base or first.axes != second.axes:
        return None
    codes: list[tuple[int, int]] = []
    for one, other in zip(own, others, strict=True):
        # Of one element at most, the stride is 1, and may be any.
        stride = other[1] if one[0] in (0, 1) else one[1]
        if other[0] not in (0, 1) and other[1] != stride:
            return None
        codes.append((one[0] if one == other else TRACED, stride))
    step = Affine(first.base, tuple(code for code, _ in codes), tuple(stride for _, stride in codes), first.axes)
    strides = x.strides if x.strides == y.strides else numpy_strides.unknown_strides(step.pattern)
    return _with_step(x, step, strides), _with_step(y, step, strides)


def _step(view: View) -> Affine:
    """The one step of a view, the identity included."""
    if view.steps:
        assert isinstance(view.steps[0], Affine)
        return view.steps[0]
    whole = tuple(WHOLE if size == TRACED else size for size in view.base)
    return Affine(view.base, whole, (1,) * len(whole), tuple(range(len(whole))))


def _with_step(view: View, step: Affine, strides: tuple[int, ...]) -> View:
    """The view with `step` for its own one, which has the same base and axes."""
    count = view.base.count(TRACED)
    starts: Sequence[Start] = [0] * len(view.base)
    shape = view.base_shape
    if view.steps:
        *_, (_, params, shape) = view.chain()
        starts = params[: len(view.base)]
    lengths = (sizes.value_of(size) for size, code in zip(shape, step.sizes, strict=True) if code == TRACED)
    params = (*view.params[:count], *starts, *lengths)
    return dataclasses.replace(view, steps=(step,), params=params, strides=strides)


def fillers(value: Value) -> dict[SSAValue, int]:
    """Numbers that are in range for the starts of the views in a value."""
    fillers: dict[SSAValue, int] = {}
    for part in (value, *parts_of(value)):
        for alternative in part.alternatives if isinstance(part, Ref) else ():
            for param, safe in zip(alternative.view.params, safe_params(alternative.view), strict=True):
                if isinstance(param, Expr):
                    fillers[param.value] = safe
    return fillers
