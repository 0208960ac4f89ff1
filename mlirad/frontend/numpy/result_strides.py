"""The memory layout of the results of NumPy's functions: found by calling them on stand-ins with a few elements per
axis.

Reads: values. Writes: nothing. Leaves: strides in elements.

The axes of a stand-in have the same order in memory as those of the array, and the function itself is called with it.
So only functions that always give row-major results have to be listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from mlirad.frontend.numpy import declarations
from mlirad.frontend.values import nep50
from mlirad.frontend.values.numpy_strides import Strides, is_c_contiguous, is_unknown, unknown_strides
from mlirad.frontend.values.sizes import Shape, Size
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Ref, Static, Tuple, Value
from mlirad.frontend.values.views.view import View

_STACKED = 3
"""From one more axis on, the order of the stacked axes of a matmul's result follows its operands."""
_FEW = 4


class _Unknown(Exception):
    """NumPy cannot be asked."""


class Asked:
    """A call of a function, or of a method by name, and the layout that NumPy gives its results."""

    def __init__(
        self,
        function: Any,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        entry: Callable[[Object], Entry],
    ):
        self._function, self._args, self._kwargs, self._entry = function, args, kwargs, entry
        self._views = [view for value in (*args, *kwargs.values()) for view in self._arrays(value)]

    @property
    def is_row_major(self) -> bool:
        """Whether the results are certainly row-major."""
        if self._is_matmul and any(view.ndim > _STACKED for view in self._views):
            return False
        words = {value.value for value in (*self._args, *self._kwargs.values()) if _is_word(value)}
        if isinstance(order := self._kwargs.get("order"), Static) and order.value == "C":
            return True
        if words & {"F", "A", "K"}:
            return False
        known = (declarations.of_method if isinstance(self._function, str) else declarations.of)(self._function)
        return known.is_row_major or (not known.has_own_layout and all(map(is_c_contiguous, self._views)))

    @property
    def _is_matmul(self) -> bool:
        return self._function is np.matmul

    def results(self) -> Any:
        """The function's result for the stand-ins; None if it cannot be called."""
        try:
            args = [self._stand_in(value) for value in self._args]
            kwargs = {name: self._stand_in(value) for name, value in self._kwargs.items()}
        except _Unknown:
            return None
        with np.errstate(all="ignore"):
            try:
                if isinstance(self._function, str):
                    return getattr(args[0], self._function)(*args[1:], **kwargs)
                return self._function(*args, **kwargs)
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
                return None  # an argument does not fit a few elements per axis

    def _arrays(self, value: Value) -> list[View]:
        if isinstance(value, Ref):
            return [each.view for each in value.alternatives]
        items = (
            value.items if isinstance(value, Tuple) else self._entry(value).items if isinstance(value, Object) else ()
        )
        return [view for item in items for view in self._arrays(item)]

    def _stand_in(self, value: Value) -> Any:
        match value:
            case Static():
                return value.value
            case Traced() if not value.is_array:
                return nep50.sample(value.kind if value.weak else value.dtype)
            case Ref():
                views = [each.view for each in value.alternatives]
                if any(is_unknown(view) or view.strides != views[0].strides for view in views):
                    raise _Unknown
                return stand_in(views[0])
            case Tuple():
                return tuple(self._stand_in(item) for item in value.items)
            case Object() if (entry := self._entry(value)).kind is list:
                return [self._stand_in(item) for item in entry.items]
        raise _Unknown


def _is_word(value: Value) -> TypeGuard[Static]:
    return isinstance(value, Static) and isinstance(value.value, str)


def _few(size: Size) -> int:
    return min(size, _FEW) if isinstance(size, int) else _FEW


def stand_in(view: View) -> np.ndarray:
    """An array with a few elements per axis; its axes have the same order in memory as the view's."""
    shape = tuple(map(_few, view.shape))
    lengths = sorted({abs(stride) for stride in view.strides if stride})
    made = [2 ** lengths.index(abs(stride)) if stride else 0 for stride in view.strides]
    memory = np.ones(1 + sum((size - 1) * stride for size, stride in zip(shape, made, strict=True) if size), view.dtype)
    strides = [each * view.dtype.itemsize for each in made]
    array = np.lib.stride_tricks.as_strided(memory, shape, strides)
    return array[(..., *(slice(None, None, -1 if stride < 0 else 1) for stride in view.strides))]


def strides_as(result: Any, shape: Shape) -> Strides | None:
    """The strides of an array of that shape, if `result` is its stand-in. None: it is C-contiguous."""
    if len(shape) < 2:
        return None
    # Functions that shorten axes shorten those of the stand-in too.
    if not isinstance(result, np.ndarray) or _is_long(result.shape) != _is_long(shape) or 0 in result.shape:
        return unknown_strides(shape)
    if result.flags.c_contiguous:
        return None
    lengths = [size for size in shape if isinstance(size, int)]
    if len(lengths) < len(shape):
        return unknown_strides(shape)
    strides, reach = [0] * len(shape), 1
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(result.strides[axis]), -axis)):
        strides[axis] = reach
        reach *= lengths[axis]
    return tuple(strides)


def _is_long(shape: Shape) -> list[bool]:
    return [size != 1 for size in shape]
