"""Python's operators and NumPy's protocols for the frontend's run-time values.

Reads: operands. Writes: nd ops, through the functions in Meanings. Leaves: the results of these functions.

The files that compile `x + y` and `np.sin(x)` import the values. numpy_calls.py, which imports all of these files,
installs their functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Meanings:
    """The functions that compile operators and calls.

    binary, unary: Python's operator for a ufunc (np.add: +). call: a function with its positional and keyword
    arguments. array: `np.array` of a list or tuple, in a dtype if one is given.
    """

    binary: Callable[[np.ufunc, Any, Any], Any]
    unary: Callable[[np.ufunc, Any], Any]
    call: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
    array: Callable[[Sequence[Any], np.dtype | None], Any]


_installed: Meanings | None = None


def install(meanings: Meanings) -> None:
    """Install the functions that compile operators and calls. Needed before the first operator."""
    global _installed
    _installed = meanings


def meanings() -> Meanings:
    if _installed is None:
        raise RuntimeError(
            "the functions that compile operators are not installed: numpy_calls.py has not been imported"
        )
    return _installed


class Operators:
    """Gives a value Python's operators and NumPy's protocols: `x + y` and `np.sin(x)` compile themselves."""

    # Higher than the priority of NumPy's own classes, so their operators defer to ours.
    __array_priority__ = 1000.0

    def as_operand(self) -> Any:
        """The value as an operand of functions of numbers and whole arrays. Raises if it is neither."""
        raise NotImplementedError

    def _binary(self, ufunc: np.ufunc, left: Any, right: Any) -> Any:
        return meanings().binary(ufunc, left, right)

    def _unary(self, ufunc: np.ufunc) -> Any:
        return meanings().unary(ufunc, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return meanings().call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return meanings().call(function, args, kwargs)

    def __add__(self, other: Any) -> Any:
        return self._binary(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._binary(np.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._binary(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._binary(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._binary(np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(np.divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._binary(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary(np.remainder, other, self)

    def __pow__(self, other: Any) -> Any:
        return self._binary(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary(np.power, other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._binary(np.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._binary(np.matmul, other, self)

    def __and__(self, other: Any) -> Any:
        return self._binary(np.bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return self._binary(np.bitwise_and, other, self)

    def __or__(self, other: Any) -> Any:
        return self._binary(np.bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return self._binary(np.bitwise_or, other, self)

    def __xor__(self, other: Any) -> Any:
        return self._binary(np.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._binary(np.bitwise_xor, other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._binary(np.left_shift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._binary(np.left_shift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._binary(np.right_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._binary(np.right_shift, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lt__(self, other: Any) -> Any:
        return self._binary(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return self._binary(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._binary(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._binary(np.greater_equal, self, other)

    def __eq__(self, other: Any) -> Any:
        return self._binary(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return self._binary(np.not_equal, self, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # equal is traced, too

    def __neg__(self) -> Any:
        return self._unary(np.negative)

    def __pos__(self) -> Any:
        return self._unary(np.positive)

    def __abs__(self) -> Any:
        return self._unary(np.absolute)

    def __invert__(self) -> Any:
        return self._unary(np.invert)
