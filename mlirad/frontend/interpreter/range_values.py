"""`range`: its length, and its numbers, which may be known only at run time.

Reads: values. Writes: ops that compute a number of a range, or how many there are. Leaves: values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, where
from mlirad.dialect.ops.check import check
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import dispatch, indices, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import as_value
from mlirad.frontend.numpy.python_integers import converted, require_fit
from mlirad.frontend.values.traced import Traced, in_type, origins_of
from mlirad.frontend.values.values import (
    Lazy,
    Static,
    Value,
    is_none,
)
from mlirad.library.python import builtin

_INT64 = np.dtype(np.int64)


def range_of(context: Context, args: tuple[Value, ...]) -> Value:
    """`range(*args)`."""
    numbers = [integer(context, arg) for arg in args]
    if not 1 <= len(numbers) <= 3:
        raise DTypeError(f"range expected 1 to 3 arguments, got {len(numbers)}", context.location)
    if not any(isinstance(number, Traced) for number in numbers):
        return indices.computed(context, lambda: range(*numbers))
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1
    if isinstance(step, Traced):
        check(step.expr != 0, "ValueError", "range() arg 3 must not be zero")
    elif step == 0:
        raise context.failed("ValueError", "range() arg 3 must not be zero")
    return Lazy(range, tuple(x if isinstance(x, Traced) else Static(x) for x in (start, stop, step)))


def part_of_range(context: Context, base: Static | Lazy, index: Value) -> Value:
    """`range(...)[index]`: a number, or a range if the index is a slice."""
    if isinstance(base, Static):
        first, by = base.value.start, base.value.step
    else:
        first, by = integer(context, base.parts[0]), integer(context, base.parts[2])
    index = context.use(index)
    if isinstance(index, Lazy) and index.kind is slice:
        start, stop, step = (context.use(part) for part in index.parts)
        step = Static(1) if is_none(step) else step
        parts = [part if is_none(part) else as_value(integer(context, part)) for part in (start, stop, step)]
        known = [part.value for part in parts if isinstance(part, Static)]
        if isinstance(base, Static) and len(known) == len(parts):
            places = slice(*known)
            return indices.computed(context, lambda: base.value[places])
        return dispatch.call(context, Static(builtin.slice_of_range), (base, as_value(first), as_value(by), *parts), {})
    place = as_value(integer(context, index))
    if isinstance(base, Static) and isinstance(place, Static):
        return indices.computed(context, lambda: base.value[place.value])
    return dispatch.call(context, Static(builtin.item_of_range), (base, as_value(first), as_value(by), place), {})


def integer(context: Context, value: Value) -> int | Traced:
    """An int as range takes it: Python's, NumPy's, or a 0-d array of ints."""
    operand = indices.index_operand(context, value)
    if isinstance(operand, Traced) and not operand.ndim and operand.kind is not float:
        return Traced(converted(operand.scalar), weak=True, origins=operand.origins)
    if isinstance(operand, int | np.integer | np.bool_):
        return int(operand)
    kind = type(operand).__name__ if not isinstance(operand, Traced) else operand.kind.__name__
    hint = "it is a float, or may be one on some path: write int(...)" if isinstance(operand, Traced) else None
    raise DTypeError(f"{kind!r} object cannot be interpreted as an integer", context.location, hint)


def length_of_range(context: Context, value: Lazy) -> Traced:
    """len(range(a, b, c)): max(0, ceil((b - a) / c)). OverflowError if b - a does not fit in 64 bits."""
    start, stop, step = (integer(context, part) for part in value.parts)
    origins = frozenset().union(*(x.origins for x in (start, stop, step) if isinstance(x, Traced)))
    a, b = (x.expr if isinstance(x, Traced) else constant(x, types.I64) for x in (start, stop))
    if not isinstance(step, Traced) and step < 0:
        a, b, step = b, a, -step
    span = b if not isinstance(start, Traced) and start == 0 else _checked(np.subtract, b, a)
    if isinstance(step, Traced):
        sign = where(step.expr > 0, constant(1, types.I64), constant(-1, types.I64))
        trips = apply(np.floor_divide, _checked(np.subtract, span, sign), step.expr) + 1  # a large step is no overflow
    elif step == 1:
        trips = span
    else:
        trips = apply(np.floor_divide, _checked(np.add, span, constant(step - 1, types.I64)), step)
    return Traced(apply(np.maximum, trips, 0), weak=True, origins=origins)


def number_of_range(context: Context, start: Any, step: Any, index: Any) -> Value:
    """start + step * index. It lies between the ends of the range, so it fits even if the product wraps."""
    if not any(isinstance(x, Traced) for x in (start, step, index)):
        return Static(start + step * index)
    first, by, number = (in_type(x, _INT64, ()) if isinstance(x, Traced) else x for x in (start, step, index))
    if isinstance(by, int) and by == -1:
        moved = first - number
    else:
        moved = number if isinstance(by, int) and by == 1 else number * by
        moved = moved if isinstance(first, int) and first == 0 else first + moved
    return storage.result(context, Traced(moved, weak=True, origins=origins_of(start, step, index)))


def _checked(ufunc: np.ufunc, x: Expr, y: Expr) -> Expr:
    """x + y or x - y, as a step in computing the length of a range."""
    require_fit(ufunc, x, y, "the length of a range does not fit in 64 bits")
    return apply(ufunc, x, y)
