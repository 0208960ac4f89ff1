"""The function that runs in Python: the same code, but its NumPy and math accept recorded values.

Reads: a function. Writes: the globals that it sets. Gives: the result of a call that records `np.array([x[0], x[1]])`
and `math.sin(x[0])`; NumPy itself would ask for the numbers, and lose their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from mlirad.contract.registered_ops import NativeOp
from mlirad.frontend.interpreter.outside_objects import HoldsValue
from mlirad.frontend.values.values import Static, Value
from mlirad.jit.live.recorded import Recorder, recording_of

_MODULES = ("numpy", "math", "scipy.special")


class _Module(HoldsValue):
    """A module with functions that accept recorded values."""

    def __init__(self, module: ModuleType, recording: Recorder):
        self._module, self._recording = module, recording

    @property
    def __mlirad_value__(self) -> Value:
        return Static(self._module)

    def __getattr__(self, name: str) -> Any:
        return _substitute(getattr(self._module, name), self._recording)


class _Function(HoldsValue):
    """A function of NumPy or math that is recorded if it receives a recorded value."""

    def __init__(self, function: Callable[..., Any], recording: Recorder):
        self._function, self._recording = function, recording

    @property
    def __mlirad_value__(self) -> Value:
        return Static(self._function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if recording_of((args, kwargs)) is not None:
            return self._recording.call(self._function, args, kwargs)
        return self._recording.taken(self._function(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _Function(found, self._recording) if callable(found) else found


def _is_of_numbers(name: object) -> bool:
    return isinstance(name, str) and any(name == each or name.startswith(f"{each}.") for each in _MODULES)


def _substitute(value: Any, recording: Recorder) -> Any:
    if isinstance(value, ModuleType):
        return _Module(value, recording) if _is_of_numbers(value.__name__) else value
    if isinstance(value, type) or not callable(value):
        return value
    home = getattr(value, "__module__", None)
    return _Function(value, recording) if isinstance(value, np.ufunc | NativeOp) or _is_of_numbers(home) else value


class _Float(_Function):
    """`float` that returns a recorded number unchanged."""

    def __init__(self, recording: Recorder):
        super().__init__(float, recording)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, float)


def run(function: FunctionType, recording: Recorder, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of the function with substituted names. Functions of the same file are called in the same way."""
    names: dict[str, Any] = {}
    made: dict[FunctionType, FunctionType] = {}

    def again(value: Any) -> Any:
        if type(value) is not FunctionType or value.__globals__ is not function.__globals__:
            return _substitute(value, recording)
        if value not in made:
            cells = tuple(CellType() for _ in value.__closure__ or ())
            made[value] = copy = FunctionType(
                value.__code__, names, value.__name__, value.__defaults__, cells if value.__closure__ else None
            )
            copy.__kwdefaults__, copy.__dict__ = value.__kwdefaults__, dict(value.__dict__)
            for cell, own in zip(cells, value.__closure__ or (), strict=True):
                with suppress(ValueError):  # a cell may be empty
                    cell.cell_contents = again(own.cell_contents)
        return made[value]

    names.update((name, again(value)) for name, value in function.__globals__.items())
    names.setdefault("float", _Float(recording))
    before = dict(names)
    try:
        return again(function)(*args, **kwargs)
    finally:
        for name, value in names.items():
            if value is not before.get(name):
                function.__globals__[name] = value
