"""The corner programs natively: values, side effects on the arguments, and derivatives against central differences.

The loss is a weighted sum of all numbers that a program returns or leaves in its arguments. A program is differentiated
with respect to its float arguments, where it has any; where central differences with two steps disagree, the loss has
no derivative there (a comparison is tied, a number is truncated), and nothing is to be compared.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import corner_programs
import numpy as np
import own_corner_programs
import pytest
from corner_programs import Case
from run_frontend import is_same

import mlirad

CASES = [*corner_programs.CASES, *own_corner_programs.CASES]
RUNS = [(case, args) for case in CASES if case.refused is None for args in case.arguments]


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies that share nothing, in the layout of the originals."""
    return tuple(np.array(x) if isinstance(x, np.ndarray) else copy.deepcopy(x) for x in args)


def name_of(value: Any) -> str:
    return value.function.__name__ if isinstance(value, Case) else ""


@pytest.mark.parametrize(("case", "args"), RUNS, ids=name_of)
def test_natively_it_is_what_numpy_does(case: Case, args: tuple[Any, ...]) -> None:
    expected, actual = fresh(args), fresh(args)
    try:
        want = case.function(*expected)
    except Exception as error:
        with pytest.raises(type(error)):
            mlirad.jit(case.function)(*actual)
    else:
        got = mlirad.jit(case.function)(*actual)
        joined = case.function in corner_programs.JOINED_NUMBERS
        assert is_same(want, got) or (joined and np.allclose(want, got)), (want, got)
    assert is_same(expected, actual)


def weighed(value: Any, weight: Any) -> Any:
    """The sum of the numbers in a structure, each with a different weight; ints, bools and None weigh nothing."""
    total = 0.0
    if isinstance(value, (tuple, list)):
        for part in value:
            weight = weight * 1.25
            total = total + weighed(part, weight)
    elif isinstance(value, dict):
        for key in value:
            weight = weight * 1.25
            total = total + weighed(value[key], weight)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            total = np.sum(value * (weight + 0.1 * np.arange(value.size).reshape(value.shape)))
    elif isinstance(value, (float, np.floating)):
        total = value * weight
    return total


def loss_of(case: Case, numbers: tuple[int, ...]) -> Any:
    """The loss as a function of all arguments. Those that are differentiated are copied: the caller's stay."""

    def loss(*args):
        held = tuple([copied(arg) if k in numbers else arg for k, arg in enumerate(args)])
        return weighed(case.function(*held), 1.0) + weighed(held, 0.3)

    return loss


def copied(value: Any) -> Any:
    if isinstance(value, list):
        return [copied(part) for part in value]
    if isinstance(value, tuple):
        return tuple([copied(part) for part in value])
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.copy()
    return value


def is_differentiable(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(is_differentiable, value))
    if isinstance(value, dict):
        return all(map(is_differentiable, value.values()))
    return np.asarray(value).dtype.kind == "f"


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value


def moved(value: Any, direction: Iterator[Any], step: float) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(moved(part, direction, step) for part in value)
    if isinstance(value, dict):
        return {key: moved(part, direction, step) for key, part in value.items()}
    return value + step * next(direction)


def differences(
    loss: Any, args: tuple[Any, ...], numbers: tuple[int, ...], directions: list[Any], step: float
) -> float:
    def at(h: float) -> float:
        pieces = iter(directions)
        held = fresh(args)
        return float(loss(*(moved(x, pieces, h) if k in numbers else x for k, x in enumerate(held))))

    if not np.isclose(at(step) + at(-step), 2 * at(0.0), rtol=1e-4, atol=1e-4):
        return np.nan  # it jumps here
    return (at(step) - at(-step)) / (2 * step)


@pytest.mark.parametrize(("case", "args"), RUNS, ids=name_of)
def test_derivatives_are_those_of_central_differences(case: Case, args: tuple[Any, ...]) -> None:
    numbers = tuple(k for k, arg in enumerate(args) if is_differentiable(arg))
    loss = loss_of(case, numbers)
    try:
        case.function(*fresh(args))
    except Exception:
        pytest.skip("it raises: no derivative")
    if not numbers or any(np.asarray(leaf).dtype == np.float32 for k in numbers for leaf in leaves(args[k])):
        pytest.skip("no argument in double precision")
    random = np.random.default_rng(0)
    primals = [np.asarray(leaf) for k in numbers for leaf in leaves(args[k])]
    directions = [random.normal(size=x.shape)[()] for x in primals]
    fine = differences(loss, args, numbers, directions, 1e-6)
    coarse = differences(loss, args, numbers, directions, 3e-6)
    value, found = mlirad.value_and_grad(loss, argnums=numbers)(*fresh(args))
    assert loss(*fresh(args)) == pytest.approx(value, rel=1e-12, nan_ok=True)
    gradients = [np.asarray(g) for g in leaves(found)]
    assert [g.shape for g in gradients] == [x.shape for x in primals]
    if not np.isclose(fine, coarse, rtol=1e-5, atol=1e-6):
        pytest.skip("no derivative here: differences with two steps disagree")
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradients, directions, strict=True))
    assert slope == pytest.approx(fine, rel=1e-5, abs=1e-6)
