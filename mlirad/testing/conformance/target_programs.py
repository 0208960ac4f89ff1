"""The programs of the conformance kit: small NumPy functions, each with a feature that a target must get right.

Reads: a dtype. Writes: nothing. Leaves: functions and their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = Callable[[np.dtype], tuple[Any, ...]]


@dataclass(frozen=True)
class TargetProgram:
    """A function, its arguments, and whether it is differentiated.

    has_gradient: its result is a number, and it is smooth at argument 0, an array of floats. raises: the exception of a
    call, at the second line of the function.
    """

    function: Callable[..., Any]
    arguments: Arguments
    has_gradient: bool = False
    raises: type[Exception] | None = None


PROGRAMS: dict[str, TargetProgram] = {}


def _program(arguments: Arguments, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def entered(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = TargetProgram(function, arguments, **facts)
        return function

    return entered


def _line(size: int) -> Arguments:
    return lambda dtype: (np.linspace(-1.5, 2.0, size).astype(dtype),)


def _table(rows: int, columns: int) -> Callable[[np.dtype], np.ndarray]:
    return lambda dtype: (np.sin(np.arange(rows * columns)) + 0.1).reshape(rows, columns).astype(dtype)


@_program(lambda dtype: (dtype.type(0.75), dtype.type(-2.0)))
def scalars(x, y):
    return x * y - x / (1.0 + y * y), x > y


@_program(_line(37))
def arithmetic(x):
    return (x + 1.0) * x - 3.0 / (x * x + 2.0), -x


@_program(_line(37), has_gradient=True)
def functions(x):
    return np.sum(np.exp(-x * x) + np.sqrt(np.abs(x - 0.125) + 1.0) * np.tanh(x))


@_program(_line(37), has_gradient=True)
def choices(x):
    return np.sum(np.where(x > 0.3, x * x, 2.0 * x) + np.maximum(x, 0.7))


@_program(lambda dtype: (*_line(7)(dtype), _table(5, 7)(dtype)), has_gradient=True)
def broadcasts(x, table):
    return np.sum((table + x) * table[:, :1])


@_program(lambda dtype: (_table(5, 7)(dtype),))
def reductions(table):
    return table.sum(axis=1), table.max(axis=0), table.mean()


@_program(lambda dtype: (_table(6, 4)(dtype), *_line(4)(dtype)), has_gradient=True)
def product(table, x):
    return np.sum(np.tanh(table @ x))


@_program(lambda dtype: (_table(4, 6)(dtype),))
def transposed(table):
    return table.T * 2.0, np.concatenate((table, table))


@_program(lambda dtype: (*_line(5)(dtype), 9), has_gradient=True)
def loop(x, n):
    y = 1.5 + 0.25 * x
    for _ in range(n):
        y = y - 0.25 * (y * y - 2.0)
    return np.sum(y)


@_program(lambda dtype: (*_line(5)(dtype), dtype.type(0.05)), has_gradient=True)
def loop_of_unknown_length(x, limit):
    y = np.sum(x * x) + 2.0
    while y > limit:
        y = 0.5 * y
    return y


@_program(lambda dtype: (*_line(5)(dtype), 3), has_gradient=True)
def branch(x, n):
    if n > 2:
        y = x * x * x
    else:
        y = 2.0 * x
    return np.sum(y)


@_program(_line(9), has_gradient=True)
def recurrence(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += 0.5 * y[i - 1] * x[i]
    return np.sum(y * y)


@_program(lambda dtype: (*_line(9)(dtype), np.array([4, 0, 4, -1])), has_gradient=True)
def gathered(x, index):
    return np.sum(x[index] * x[index])


@_program(lambda dtype: (*_line(9)(dtype), dtype.type(2.5)))
def written(x, factor):
    x *= factor
    return x + 1.0


@_program(_line(0))
def empty(x):
    return x * 2.0, np.sum(x)


@_program(_line(1))
def single(x):
    return x * 2.0, np.sum(x)


@_program(lambda _: (np.arange(-4, 5), 3))
def integers(x, n):
    return x // n, x % n, x * n - 1


@_program(lambda dtype: (*_line(5)(dtype), 5), raises=IndexError)
def index_out_of_bounds(x, i):
    return x[i] * 2.0
