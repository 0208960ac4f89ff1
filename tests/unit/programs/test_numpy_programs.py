"""Whole programs: values and side effects are NumPy's, gradients those of central differences in extended precision.

At small sizes here, at those of NPBench's small preset in `make full`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy_programs import INTEGERS, PROGRAMS
from numpy_programs.program import Program

import mlirad

SIZES = [pytest.param("short", id="short"), pytest.param("full", id="full", marks=pytest.mark.full)]


def fresh(args: tuple[Any, ...], dtype: Any = None) -> tuple[Any, ...]:
    return tuple(np.array(x, dtype if x.dtype.kind == "f" else None) if isinstance(x, np.ndarray) else x for x in args)


def arrays_of(results: Any, args: tuple[Any, ...]) -> list[Any]:
    """What a program has made: its results, and the arrays that it was given."""
    made = [] if results is None else list(results) if isinstance(results, tuple) else [results]
    return [*made, *(x for x in args if isinstance(x, np.ndarray))]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", [*PROGRAMS, *INTEGERS], ids=lambda program: program.name)
def test_values(program: Program, size: str) -> None:
    args = program.make(getattr(program, size))
    expected, actual = fresh(args), fresh(args)
    want = program.function(*expected)
    got = mlirad.jit(program.function)(*actual)
    assert type(got) is type(want)
    for x, y in zip(arrays_of(want, expected), arrays_of(got, actual), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)


def weighed(results: Any, held: Any) -> Any:
    """A number that every result, and everything left in the arguments, enters with weights of its own."""
    total = 0.0
    made = () if results is None else results if isinstance(results, tuple) else (results,)
    for x in (*made, *held):
        if isinstance(x, np.ndarray):
            total = total + np.sum(x * np.cos(np.arange(x.size, dtype=x.dtype)).reshape(x.shape))
    return total


def differentiated(program: Program, args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(k for k, x in enumerate(args) if isinstance(x, np.ndarray))


def loss_of(program: Program, numbers: tuple[int, ...]) -> Any:
    def loss(*args):
        held = tuple([x.copy() if k in numbers else x for k, x in enumerate(args)])
        return weighed(program.function(*held), held)

    return loss


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_gradient(program: Program, size: str) -> None:
    args = program.make(getattr(program, size))
    numbers = differentiated(program, args)
    loss = loss_of(program, numbers)
    gradients = mlirad.grad(loss, argnums=numbers)(*args)
    random = np.random.default_rng(1)
    for _ in range(2):
        directions = {k: random.normal(size=args[k].shape) for k in numbers}

        def at(step: float, directions: dict[int, Any] = directions) -> Any:
            held = fresh(args, np.longdouble)
            return loss(
                *(x + np.longdouble(step) * directions[k] if k in directions else x for k, x in enumerate(held))
            )

        h = np.longdouble(1e-6)
        expected = float((at(h) - at(-h)) / (2 * h))
        parts = [g * directions[k] for k, g in zip(numbers, gradients, strict=True)]
        scale = sum(float(np.sum(np.abs(part))) for part in parts)
        assert sum(float(np.sum(part)) for part in parts) == pytest.approx(expected, rel=1e-6, abs=1e-8 * scale)


@pytest.mark.parametrize("program", INTEGERS, ids=lambda program: program.name)
def test_integers_have_no_gradient(program: Program) -> None:
    args = program.make(program.short)
    with pytest.raises(mlirad.DifferentiationError, match="int"):
        mlirad.grad(program.function)(*args)
