"""Arrays of different sizes at a join: slices of one array, and arrays with sizes known only at run time.

Reads: references of two states. Writes: copies of arrays. Leaves: references to views with the same steps; params that
are in range.

Two slices of one array that differ only in their sizes are merged into one slice with traced sizes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.expr import Expr, building
from mlirad.frontend.join.disagreements import Disagreements
from mlirad.frontend.join.selectors import contents_of
from mlirad.frontend.values import affine, known_facts, numpy_strides, sizes
from mlirad.frontend.values.sizes import TRACED, Dim, Pattern
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.traced import DATA
from mlirad.frontend.values.value_parts import inside, parts_of
from mlirad.frontend.values.values import Alternative, Ref, Value
from mlirad.frontend.values.views.view import View, safe_params
from mlirad.frontend.values.views.view_steps import WHOLE, Affine, Start


def one_kind(a: Ref, b: Ref, left: Mapping[int, int], right: Mapping[int, int], in_loop: bool) -> tuple[Ref, Ref]:
    """Two slices of one array, given the same steps if they differ only in their sizes; else unchanged.

    left, right: the merged cells of the two sides. in_loop: static sizes stay as they are, and the loop may be
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


def with_copies(
    sides: Sequence[State], blocks: Sequence[Block], fresh: Callable[[], int], why: Disagreements
) -> list[State]:
    """The two sides of an if, with copies of arrays that have a run-time size on either side, unless both sides hold
    the same view of an array. If something else refers to the original, neither may be written from then on."""
    a, b = states = [state.fork() for state in sides]
    for state, side in zip(states, sides, strict=True):
        state.live = side.live
    others = dict(b.places())
    for place, x in a.places():
        y = others.get(place)
        if not isinstance(x, Ref) or not isinstance(y, Ref) or (x.dtype, x.ndim) != (y.dtype, y.ndim):
            continue
        own = [{each.cell: each.cell for each in array.alternatives} for array in (x, y)]
        x, y = one_kind(x, y, *own, in_loop=False)
        kinds = [{(each.cell, each.view.lens) for each in array.alternatives} for array in (x, y)]
        if TRACED not in (*x.pattern, *y.pattern) or (x.pattern == y.pattern and kinds[0] == kinds[1]):
            continue
        pattern = tuple(m if m == n else TRACED for m, n in zip(x.pattern, y.pattern, strict=True))
        for array, state, other, block in ((x, a, b, blocks[0]), (y, b, a, blocks[1])):
            (first, *rest) = array.alternatives
            if rest or array.pattern != pattern or not first.view.is_whole or first.cell in other.store:
                with building(block), known_facts.scope():
                    _copy(state, place, array, pattern, fresh(), why)
    return states


def _copy(state: State, place: Place, array: Ref, pattern: Pattern, number: int, why: Disagreements) -> None:
    """Put a copy of the array, with the shape of that pattern, in a place of the state."""
    sizes_of_all = [sizes.value_of(size) for size in array.shape]
    shape = tuple(
        Dim(affine.as_expr(size), frozenset({DATA})) if own == TRACED else own
        for size, own in zip(sizes_of_all, pattern, strict=True)
    )
    state.store[number] = sizes.fitted(contents_of(array, state.store), shape)
    view = View.of(shape, array.dtype)
    if any(not numpy_strides.is_c_contiguous(each.view) for each in array.alternatives):
        view = dataclasses.replace(view, strides=numpy_strides.unknown_strides(shape))
    cells = {each.cell for each in array.alternatives}
    elsewhere = {
        each.cell
        for other, value in (*state.places(), *((None, item) for entry in state.heap.values() for item in entry.items))
        for part in (inside(value) if other != place else ())
        for each in (part.alternatives if isinstance(part, Ref) else ())
    }
    if cells & elsewhere:
        state.held.update(dict.fromkeys({number, *cells}, why.copied(place)))
    kind, key, *name = place
    copy = Ref((Alternative(number, view),))
    if kind == "frame":
        state.frames[int(key)][str(name[0])] = copy
    else:
        position = int(key)
        state.temps = (*state.temps[:position], copy, *state.temps[position + 1 :])


def _alike(x: View, y: View) -> tuple[View, View] | None:
    """Two slices of one array with the same steps; sizes that differ become params. None: they differ in more than
    starts and sizes."""
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
        # For at most one element the stride is 1, and may be any.
        stride = other[1] if one[0] in (0, 1) else one[1]
        if other[0] not in (0, 1) and other[1] != stride:
            return None
        codes.append((one[0] if one == other else TRACED, stride))
    step = Affine(first.base, tuple(code for code, _ in codes), tuple(stride for _, stride in codes), first.axes)
    strides = x.strides if x.strides == y.strides else numpy_strides.unknown_strides(step.pattern)
    return _with_step(x, step, strides), _with_step(y, step, strides)


def _step(view: View) -> Affine:
    """The only step of a view, or the identity."""
    if view.steps:
        assert isinstance(view.steps[0], Affine)
        return view.steps[0]
    whole = tuple(WHOLE if size == TRACED else size for size in view.base)
    return Affine(view.base, whole, (1,) * len(whole), tuple(range(len(whole))))


def _with_step(view: View, step: Affine, strides: tuple[int, ...]) -> View:
    """The view with `step` for its only one, which has the same base and axes."""
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
    """Numbers in range for the starts of the views in a value."""
    fillers: dict[SSAValue, int] = {}
    for part in (value, *parts_of(value)):
        for alternative in part.alternatives if isinstance(part, Ref) else ():
            for param, safe in zip(alternative.view.params, safe_params(alternative.view), strict=True):
                if isinstance(param, Expr):
                    fillers[param.value] = safe
    return fillers
