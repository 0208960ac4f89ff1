"""The numbers and arrays that a recorded Python function computes with: their values, and how they were computed.

Reads: operations on them. Writes: the operations as IR, through the recording. Gives: the same results as NumPy.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial, partialmethod
from types import FunctionType, MethodType
from typing import Any, Protocol

import numpy as np

from mlirad.frontend.interpreter.outside_objects import HoldsValue
from mlirad.frontend.values.values import Ref, Traced, Value
from mlirad.requests.request import Request


class Recorder(Protocol):
    """The recording: see recording.py."""

    dropped: list[str]

    def variable(self, name: str) -> Value: ...
    def value_of(self, value: Ref | Traced) -> Any: ...
    def concrete(self, value: Any) -> Any: ...
    def taken(self, value: Any) -> Any: ...
    def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any: ...
    def binary(self, op: ast.operator, left: Any, right: Any) -> Any: ...
    def unary(self, op: ast.unaryop, value: RecordedValue) -> Any: ...
    def in_place(self, op: ast.operator, current: RecordedValue, right: Any) -> Any: ...
    def attribute(self, value: RecordedValue, name: str) -> Any: ...
    def item(self, array: RecordedValue, index: Any) -> Any: ...
    def set_item(self, array: RecordedValue, index: Any, value: Any) -> None: ...


_NUMPYS = "it went to code of another file, or into an array from outside the function; without disable_jit, that works"


def _binary(kind: type[ast.operator]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: RecordedValue, other: Any) -> Any:
        return self._recording.binary(kind(), self, other)

    def backward(self: RecordedValue, other: Any) -> Any:
        return self._recording.binary(kind(), other, self)

    return forward, backward


def _compared(function: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[..., Any]:
    def compare(self: RecordedValue, other: Any) -> Any:
        if isinstance(self.__mlirad_value__, Traced) and self.__mlirad_value__.weak:
            return function(self._value(), self._recording.concrete(other))
        return self._recording.call(ufunc, (self, other), {})

    return compare


class RecordedValue(HoldsValue):
    """A number or an array of a recording."""

    __slots__ = ("_name", "_recording")

    def __init__(self, recording: Recorder, name: str):
        self._recording = recording
        self._name = name

    def __del__(self) -> None:
        self._recording.dropped.append(self._name)

    @property
    def __mlirad_value__(self) -> Value:
        """The number is a variable of the program: later computations may give its array another number."""
        return self._recording.variable(self._name)

    def _value(self) -> Any:
        """Its current value."""
        value = self.__mlirad_value__
        assert type(value) is Ref or type(value) is Traced
        return self._recording.value_of(value)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # it is never set
        """For isinstance, its class is NumPy's or Python's."""
        return type(self._value())

    # As text, in a debugger and in conditions it has its current value.

    def __repr__(self) -> str:
        return repr(self._value())

    def __str__(self) -> str:
        return str(self._value())

    def __format__(self, spec: str) -> str:
        return format(self._value(), spec)

    def __bool__(self) -> bool:
        return bool(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __round__(self, *places: int) -> Any:
        if places:
            raise TypeError(f"round(x, n) of a differentiated number; {_NUMPYS}")
        return round(self._value())

    def __index__(self) -> int:
        return operator.index(self._value())

    def __len__(self) -> int:
        return len(self._value())

    def __hash__(self) -> int:
        return id(self)

    def __float__(self) -> float:
        raise TypeError(f"this would lose the derivative of a number: {_NUMPYS}")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(f"this would lose the derivatives of an array: {_NUMPYS}")

    # Computations with it are recorded.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if isinstance(out := kwargs.get("out"), tuple) and len(out) == 1:
            kwargs["out"] = out[0]
        return self._recording.call(function, args, kwargs)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        return self._recording.call(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._recording.attribute(self, name)

    def __getitem__(self, index: Any) -> Any:
        return self._recording.item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._recording.set_item(self, index, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __neg__(self) -> Any:
        return self._recording.unary(ast.USub(), self)

    def __pos__(self) -> Any:
        return self._recording.unary(ast.UAdd(), self)

    def __invert__(self) -> Any:
        return self._recording.unary(ast.Invert(), self)

    def __abs__(self) -> Any:
        return self._recording.call(abs, (self,), {})

    __add__, __radd__ = _binary(ast.Add)
    __sub__, __rsub__ = _binary(ast.Sub)
    __mul__, __rmul__ = _binary(ast.Mult)
    __truediv__, __rtruediv__ = _binary(ast.Div)
    __floordiv__, __rfloordiv__ = _binary(ast.FloorDiv)
    __mod__, __rmod__ = _binary(ast.Mod)
    __pow__, __rpow__ = _binary(ast.Pow)
    __matmul__, __rmatmul__ = _binary(ast.MatMult)
    __and__, __rand__ = _binary(ast.BitAnd)
    __or__, __ror__ = _binary(ast.BitOr)
    __xor__, __rxor__ = _binary(ast.BitXor)

    __eq__ = _compared(operator.eq, np.equal)
    __ne__ = _compared(operator.ne, np.not_equal)
    __lt__ = _compared(operator.lt, np.less)
    __le__ = _compared(operator.le, np.less_equal)
    __gt__ = _compared(operator.gt, np.greater)
    __ge__ = _compared(operator.ge, np.greater_equal)


def _in_place(self: RecordedValue, kind: type[ast.operator], other: Any) -> Any:
    return self._recording.in_place(kind(), self, other)


for _name, _kind in {
    "iadd": ast.Add,
    "isub": ast.Sub,
    "imul": ast.Mult,
    "itruediv": ast.Div,
    "ifloordiv": ast.FloorDiv,
    "imod": ast.Mod,
    "ipow": ast.Pow,
    "imatmul": ast.MatMult,
    "iand": ast.BitAnd,
    "ior": ast.BitOr,
    "ixor": ast.BitXor,
}.items():
    setattr(RecordedValue, f"__{_name}__", partialmethod(_in_place, _kind))


def recording_of(value: Any) -> Recorder | None:
    """The recording of the recorded values inside a value; None if there are none."""
    return next((found._recording for found in recorded_in(value)), None)


def recorded_in(value: Any, seen: set[int] | None = None) -> Iterator[RecordedValue]:
    """The recorded values inside a value. A function contains its captures."""
    seen = set() if seen is None else seen
    if type(value) is RecordedValue:
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from recorded_in(part, seen)


def _parts(value: Any) -> Iterable[Any]:
    """The items of a container, the captures of a function, or the function of a transform."""
    if type(value) in (list, tuple):
        return value
    if type(value) is dict:
        return value.values()
    if isinstance(value, Request):
        return (value.function,)
    if isinstance(value, partial):
        return (value.func, value.args, value.keywords)
    if isinstance(value, MethodType):
        return (value.__func__, value.__self__)
    if type(value) is FunctionType:
        return (value.__defaults__, value.__kwdefaults__, *_captured(value))
    return ()


def _captured(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a cell may be empty
            yield cell.cell_contents
