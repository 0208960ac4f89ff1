"""Whole programs: values and side effects are NumPy's, gradients agree with central differences in extended precision.

All floats among the arguments are differentiated. Every run takes short sizes, `make full` the sizes of NPBench's
small and medium presets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy_programs import INTEGERS, PROGRAMS
from numpy_programs.program import Program

import mlirad

SIZES = ["short", *(pytest.param(preset, marks=pytest.mark.full) for preset in ("small", "medium"))]


def is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)


def extended(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies, the floats in extended precision."""
    return tuple(np.asarray(x, np.longdouble)[()] if is_float(x) else x for x in fresh(args))


def arrays_of(results: Any, args: tuple[Any, ...]) -> list[Any]:
    """The results of a program, and its argument arrays."""
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
        assert np.asarray(x).dtype == np.asarray(y).dtype and np.isfinite(x).all()
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)


def weighed(results: Any, held: Any) -> Any:
    """A weighted sum of every result and of the final contents of the arguments, with different weights."""
    total = 0.0
    made = () if results is None else results if isinstance(results, tuple) else (results,)
    for x in (*made, *held):
        if isinstance(x, np.ndarray):
            total = total + np.sum(x * np.cos(np.arange(x.size)).reshape(x.shape))
    return total


def loss_of(program: Program) -> Any:
    def loss(*args):
        return weighed(program.function(*args), args)

    return loss


def moved(args: tuple[Any, ...], directions: dict[int, Any], step: Any) -> tuple[Any, ...]:
    return tuple(x + step * directions[k] if k in directions else x for k, x in enumerate(extended(args)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_gradient(program: Program, size: str) -> None:
    assert np.finfo(np.longdouble).eps < 1e-18, "a long double is no more precise than a double here"
    args = program.make(getattr(program, size))
    numbers = tuple(k for k, x in enumerate(args) if is_float(x))
    if sum(np.asarray(args[k]).nbytes for k in numbers) > 2**31:
        pytest.skip("its differences in extended precision take ten times as much memory")
    loss = loss_of(program)
    held = fresh(args)
    gradients = mlirad.grad(loss, argnums=numbers)(*held)
    expected = fresh(args)
    loss(*expected)
    for wanted, written in zip(expected, held, strict=True):
        np.testing.assert_allclose(written, wanted, rtol=1e-9, atol=1e-11, err_msg="what grad has written")
    random = np.random.default_rng(1)
    for _ in range(2):
        # As large as what they move, so that one step fits all arguments.
        spreads = {k: np.sqrt(np.mean(np.square(args[k]))) for k in numbers}
        directions = {k: spreads[k] * random.normal(size=np.shape(args[k])) for k in numbers}
        parts = [g * directions[k] for k, g in zip(numbers, gradients, strict=True)]
        scale = sum(float(np.linalg.norm(part)) for part in parts)

        def difference(h: Any) -> float:
            return float((loss(*moved(args, directions, h)) - loss(*moved(args, directions, -h))) / (2 * h))

        agreed = pytest.approx(sum(float(np.sum(part)) for part in parts), rel=1e-9, abs=1e-10 * scale)
        # Small enough that no two paths of nearly one length change places, or a flux its sign; for a loss of millions
        # of terms, large enough for their rounding errors; for one that is far from linear, smaller.
        assert any(difference(np.longdouble(h)) == agreed for h in ("1e-8", "1e-6", "1e-9", "1e-10"))


@pytest.mark.parametrize("program", INTEGERS, ids=lambda program: program.name)
def test_integers_have_no_gradient(program: Program) -> None:
    args = program.make(program.short)
    with pytest.raises(mlirad.DifferentiationError, match="int"):
        mlirad.grad(program.function)(*args)
