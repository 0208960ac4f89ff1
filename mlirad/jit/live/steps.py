"""Single calls of functions, each with its pullback, for graphs that grow while Python runs.

Reads: a function and the arguments of a call. Writes: nothing. Gives: a step for all calls that differ only in their
arrays and floats. It is interpreted, or compiled, once for arrays of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlirad.errors import CompileError
from mlirad.jit.live.op_by_op import Interpreted
from mlirad.jit.transforms.directions import vjp
from mlirad.jit.transforms.jitted import jit
from mlirad.location import SourceLocation

_OWN = str(Path(__file__).parents[2])
_STEPS = 2000
_steps: dict[Any, LiveCall] = {}
"""The cached steps, by their function and arguments: at most this many, the oldest are dropped."""


class _Hole(int):
    """A placeholder for an array or a float in the arguments of a call, with its number among them."""


def _filled(template: Any, values: Sequence[Any]) -> Any:
    """Fills the holes of an argument with values. Compiled code uses this function too."""
    if isinstance(template, _Hole):
        return values[template]
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    return tuple([_filled(each, values) for each in template]) if isinstance(template, tuple) else template


class LiveCall:
    """Calls of a function with variables, which are differentiated, and constants."""

    def __init__(self, function: Callable[..., Any], args: Any, names: Sequence[str], items: Any, is_compiled: bool):
        def primal(*variables: Any, constants: Any = ()) -> Any:
            values = (*variables, *constants)
            named = {name: _filled(item, values) for name, item in zip(names, items, strict=True)}
            return function(*_filled(args, values), **named)

        def pullback(cotangent: Any, *variables: Any, constants: Any = ()) -> Any:
            return vjp(primal, *variables, constants=constants)[1](cotangent)

        self.primal, self.is_compiled = primal, is_compiled
        self.pullback = pullback
        """A function from a cotangent of the result and the variables to their cotangents, for further steps."""
        self._interpreted = Interpreted(pullback)

    def call(self, variables: Sequence[Any], constants: Any) -> tuple[Any, Callable[[Any], Any] | None]:
        """The result of a call, and its pullback if there are variables."""
        if not self.is_compiled:
            pull = partial(self._pull, variables, constants)
            return self.primal(*variables, constants=constants), pull if variables else None
        if variables:
            return vjp(self.primal, *variables, constants=constants)
        return jit(self.primal)(constants=constants), None

    def _pull(self, variables: Sequence[Any], constants: Any, cotangent: Any) -> Any:
        return self._interpreted(cotangent, *variables, constants=constants)


@contextmanager
def errors_at(location: SourceLocation | None) -> Iterator[None]:
    """Places the compiler's refusals in a step at the user's line."""
    try:
        yield
    except CompileError as error:
        callers = [each for each in error.callers if not each.filename.startswith(_OWN)]
        if error.location is None or error.location.filename.startswith(_OWN):
            error.location = next(iter(callers), location)
        elif location is not None and location not in callers:
            callers.append(location)
        error.callers = [each for each in callers if each != error.location]
        raise


def step_of(
    function: Callable[..., Any],
    args: Sequence[Any],
    named: Mapping[str, Any],
    array_of: Callable[[Any], tuple[np.ndarray, bool] | None],
    is_compiled: bool,
) -> tuple[LiveCall, list[Any], tuple[Any, ...]]:
    """The step of a call, its variables and its constants.

    array_of: for an object that the caller uses in place of an array, the array and whether it is a variable; None for
    all others. Arrays are copied, because the caller may write them before the pullback is called. Raises TypeError for
    a generator.
    """
    variables: list[Any] = []
    constants: list[Any] = []
    key: list[Any] = []

    def template(value: Any) -> Any:
        if type(value) in (tuple, list):
            key.append((type(value), len(value)))
            return type(value)([template(each) for each in value])
        if isinstance(value, np.random.Generator):
            raise TypeError("a step would draw again when it is differentiated: draw before the step, or pass a key")
        array, is_variable = array_of(value) or (value, False)
        if is_variable:
            variables.append(value)
            value = _Hole(len(variables) - 1)
        elif isinstance(array, np.ndarray | np.floating | float):
            # Counted from the end, because there may be more variables.
            constants.insert(0, array.copy() if array is value and isinstance(array, np.ndarray) else array)
            if isinstance(array, np.ndarray):
                constants[0].flags.writeable = False
            value = _Hole(-len(constants))
        key.append((type(value), (value.start, value.stop, value.step) if type(value) is slice else value))
        return value

    templates = [template(each) for each in (tuple(args), tuple(named.values()))]
    whole = function, is_compiled, *named, *key
    if (found := _steps.get(whole)) is None:
        while len(_steps) >= _STEPS:
            del _steps[next(iter(_steps))]
        found = _steps[whole] = LiveCall(function, templates[0], tuple(named), templates[1], is_compiled)
    return found, variables, tuple(constants)
