"""Which arrays a function returns: new ones, the caller's own, and views of both. They share memory as in NumPy.

Reads: the references returned, the caller's arrays at the end. Writes: ops that say at run time which array it is.
Leaves: a description of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from mlirad.contract.results import (
    Array,
    ArrayResult,
    Caller,
    ChoiceResult,
    PartStep,
    ReshapeStep,
    ResultLeaf,
    RunTime,
    SameResult,
    SliceStep,
    ViewResult,
    ViewStep,
    WindowsStep,
)
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, where
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.selectors import renumbered
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.sizes import Dim, Size, require_known
from mlirad.frontend.values.values import Alternative, Ref, Value
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import Affine, New, Windows, is_same_start

SHAPE_OF_RESULT = "the shape of a result"


class ReturnedArrays:
    """Describes the arrays among the leaves of a result."""

    def __init__(
        self,
        context: Context,
        result: Callable[[Expr], int],
        own: Sequence[tuple[Caller, Ref]],
        leaves: Sequence[Value],
    ):
        """result: adds a result to the function, and returns its number. own: the arrays of the caller."""
        self._context = context
        self._result = result
        self._own = own
        self._callers = {cell for _, ref in own for cell in _cells(ref)}
        self._cells: dict[int, ArrayResult] = {}
        self._earlier: list[tuple[int, Ref]] = []
        distinct: list[Ref] = []
        for leaf in leaves:
            if isinstance(leaf, Ref) and not any(_is_same(leaf, other) for other in distinct):
                distinct.append(leaf)
        times = Counter(cell for leaf in distinct for cell in _cells(leaf))
        self._shared = {cell for cell, number in times.items() if number > 1}

    def leaf(self, number: int, array: Ref) -> ResultLeaf:
        """Describe the returned array of leaf `number`."""
        for other_number, other in self._earlier:
            if _is_same(array, other):
                return SameResult(other_number)
        self._earlier.append((number, array))
        for caller, ref in self._own:
            if _is_same(array, ref):
                return caller
        return self._chosen(array)

    def _chosen(self, array: Ref) -> ResultLeaf:
        """One of several arrays, decided at run time; the last option is a copy that nothing else refers to."""
        options: list[Array] = []
        conditions: list[Expr | None] = []
        needs_new = False
        for position, alternative in enumerate(array.alternatives):
            taken = None if array.selector is None else array.selector == position
            cell = alternative.cell
            owners = self._owners(cell) if cell in self._callers else []
            for caller, ref in owners:
                options.append(self._view_of(caller, alternative.view))
                is_it = None if ref.selector is None else _identity(ref) == constant(cell, types.I64)
                conditions.append(taken if is_it is None else is_it if taken is None else taken & is_it)
            if any(ref.selector is None for _, ref in owners):
                continue
            # A loop may carry the caller's array, or one made in the loop.
            if cell in self._shared:
                options.append(self._view_of(self._cell(alternative), alternative.view))
                conditions.append(taken)
            else:
                needs_new = True
        if needs_new:
            self._require_original(array)
            options.append(self._new(array))
            conditions.append(None)
        if len(options) == 1:
            return options[0]
        number = constant(len(options) - 1, types.I64)
        for position in reversed(range(len(options) - 1)):
            condition = conditions[position]
            here = constant(position, types.I64)
            number = here if condition is None else where(condition, here, number)
        return ChoiceResult(self._result(number), tuple(options))

    def _owners(self, cell: int) -> list[tuple[Caller, Ref]]:
        """The caller's arrays that may be this cell. Only whole ones count: then views of the cell are views of
        them."""
        found = [
            (caller, ref)
            for caller, ref in self._own
            if cell in _cells(ref) and all(each.view.is_whole for each in ref.alternatives)
        ]
        found.sort(key=lambda pair: pair[1].alternatives[0].view.readonly)  # their views could not be written
        return next(([pair] for pair in found if pair[1].selector is None), found)

    def _cell(self, alternative: Alternative) -> ArrayResult:
        """A new array, shared by several results that are views of it."""
        cell, view = alternative.cell, alternative.view
        if cell not in self._cells:
            shape = require_known(view.base_shape, SHAPE_OF_RESULT)
            self._cells[cell] = ArrayResult(self._result(self._context.state.store[cell]), shape, view.base_dtype)
        return self._cells[cell]

    def _require_original(self, array: Ref) -> None:
        """Refuse a copy that replaces an array since a join: NumPy would return the array itself."""
        for each in array.alternatives:
            held = self._context.state.held.get(each.cell)
            if isinstance(held, Poison):
                raise self._context.refusal(
                    "the result may be either of two arrays, whose sizes are known only at run time", held.hint
                )

    def _new(self, array: Ref) -> ArrayResult:
        shape = require_known(array.shape, SHAPE_OF_RESULT)
        return ArrayResult(self._result(self._context.read(array).contents), shape, array.dtype)

    def _view_of(self, base: ArrayResult | Caller, view: View) -> Array:
        if view.is_whole and not view.readonly:
            return base
        steps: list[ViewStep] = []
        below = self._numbers(view.base_shape)
        for step, params, shape in view.chain():
            sizes = self._numbers(shape)
            if isinstance(step, Affine):
                starts = tuple(self._start(start) for start in params[: len(step.base)])
                axes = tuple(None if isinstance(axis, New) else axis for axis in step.axes)
                repeats = tuple(axis.size if isinstance(axis, New) else sizes[axis] for axis in step.axes)
                steps.append(SliceStep(starts, sizes, step.strides, axes, repeats))
                below = repeats
            elif isinstance(step, Windows):
                steps.append(WindowsStep(len(step.base), step.axes, step.steps, step.pattern))
                below = step.pattern
            else:
                steps.append(ReshapeStep(below, sizes))
                below = sizes
        if view.part is not None:
            steps.append(PartStep(view.part))
        return ViewResult(base, tuple(steps), view.readonly)

    def _numbers(self, shape: Sequence[Size]) -> tuple[int | RunTime, ...]:
        """The sizes of a view; sizes that depend on data become results."""
        require_known(shape, SHAPE_OF_RESULT)
        return tuple(RunTime(self._result(size.expr)) if isinstance(size, Dim) else size for size in shape)

    def _start(self, start: int | Expr) -> int | RunTime:
        return RunTime(self._result(start)) if isinstance(start, Expr) else start


def _cells(array: Ref) -> set[int]:
    return {alternative.cell for alternative in array.alternatives}


def _is_same(a: Ref, b: Ref) -> bool:
    """Whether two references are certainly the same array."""
    if len(a.alternatives) != len(b.alternatives):
        return False
    if (a.selector is None) != (b.selector is None):
        return False
    if a.selector is not None and b.selector is not None and a.selector.value is not b.selector.value:
        return False
    return all(
        x.cell == y.cell
        and (x.view.steps, x.view.part) == (y.view.steps, y.view.part)
        and (x.view.strides, x.view.readonly) == (y.view.strides, y.view.readonly)
        and all(map(is_same_start, x.view.params, y.view.params))
        for x, y in zip(a.alternatives, b.alternatives, strict=True)
    )


def _identity(array: Ref) -> Expr:
    """The number of the cell that an array is at run time."""
    cells = [alternative.cell for alternative in array.alternatives]
    return constant(cells[0], types.I64) if array.selector is None else renumbered(array.selector, cells)
