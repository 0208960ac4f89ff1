"""Returned lists that loops fill: the same as in plain Python, whatever their length."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import grad, jit, jvp, value_and_grad, vjp
from mlirad.errors import CompileError, DifferentiationError
from mlirad.frontend import build as frontend

Y = np.array([0.3, 0.5, 0.7])


def check_same(found: Any, wanted: Any) -> None:
    """Equal, with the same types all the way down."""
    assert type(found) is type(wanted), (found, wanted)
    if dataclasses.is_dataclass(wanted):
        found, wanted = vars(found), vars(wanted)
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check_same(one, other)
        return
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def numbers(y, n):
    h = []
    for i in range(n):
        h.append(y[i % 3] * i)
    return h


def python_numbers(y, n):
    ints, floats, bools = [], [], []
    t = 0.0
    for i in range(n):
        t += 0.25
        ints.append(i * i)
        floats.append(t)
        bools.append(i > 3)
    return ints, floats, bools


def narrow_numbers(y, n):
    a, b, c, z = [], [], [], y.astype(np.float32)
    for i in range(n):
        a.append(np.uint8(i % 7) + np.uint8(248))
        b.append(z[i % 3])
        c.append(y[i % 3] > 0.4)
    return {"a": a, "rest": (b, c)}


def arrays(y, n):
    h, last = [], []
    while len(h) < n:
        y = y * 0.99
        h.append(y)
        last.append(np.outer(y, y) > 0.1)
    return h, last, y


def groups(y, n):
    pairs, records, rows = [], [], []
    for i in range(n):
        y = y * 0.9
        pairs.append((i, (y[0], y)))
        records.append({"t": 0.5 * i, "y": y.copy()})
        rows.append([y[1], y[2]])
    return [pairs, {"records": records}, rows]


@dataclasses.dataclass
class Sample:
    time: float
    state: np.ndarray


def objects(y, n):
    samples = []
    for i in range(n):
        y = y - 0.1 * y * y
        samples.append(Sample(0.1 * i, y))
    return samples


def of_data(y, n):
    big, small = [], []
    for i in range(n):
        v = np.sin(y[i % 3] * i)
        if v > 0.2:
            big.append(v)
        elif v < -0.9:
            small.append((i, v))
    return big, small


def early(y, n):
    h = []
    for i in range(n):
        if y[i % 3] * i > 4.0:
            return h
        h.append(i)
    return h


def popped(y, n):
    h = []
    for i in range(n):
        h.append(y[0] * i)
        if i % 3 == 2:
            h.pop()
    return h


RETURNED = [numbers, python_numbers, narrow_numbers, arrays, groups, objects, of_data, early, popped]


@pytest.mark.parametrize("function", RETURNED)
def test_what_python_returns(function: Callable[..., Any]) -> None:
    kernel = jit(function)
    for n in (0, 1, 2, 9, 300):
        check_same(kernel(Y, n), function(Y, n))


def test_the_trips_do_not_specialise() -> None:
    text = jit(numbers).lower(Y, 3).as_text("tensor")
    assert text.count("scf.for") == 1 and "%n" not in text.split("(", 1)[0]
    kernel = jit(numbers)
    check_same(kernel(Y, 5), numbers(Y, 5))
    assert kernel(Y, 100_000) == numbers(Y, 100_000)


def test_the_results_of_a_call_outlast_it() -> None:
    kernel = jit(arrays)
    first = kernel(Y, 9)
    kept = [each.copy() for each in first[0]]
    second = kernel(2 * Y, 9)
    first[0][0][:] = 7.0
    check_same(first[0][1:], kept[1:])
    check_same(second, arrays(2 * Y, 9))


def test_one_list_returned_twice_is_one() -> None:
    def twice(y, n):
        h = []
        for i in range(n):
            h.append(y * i)
        return h, {"again": h}

    first, second = jit(twice)(Y, 5)
    assert first is second["again"]


def test_in_a_dict_of_the_caller() -> None:
    def logs(log, y, n):
        h = []
        for i in range(n):
            h.append(y[0] * i)
        log["history"] = h
        return h

    mine: dict[str, Any] = {"history": [1.0]}
    its: dict[str, Any] = {"history": [1.0]}
    found, wanted = jit(logs)(mine, Y, 300), logs(its, Y, 300)
    check_same(found, wanted)
    check_same(mine, its)
    assert mine["history"] is found


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that no kernel knows yet, as in another process."""
    assert isinstance(function, FunctionType)
    made = FunctionType(function.__code__, function.__globals__, function.__name__)
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def test_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLIRAD_CACHE")
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "cache"))
    for function in (groups, objects):
        check_same(jit(fresh(function))(Y, 5), function(Y, 5))
    monkeypatch.setattr(frontend, "build", None)
    for function in (groups, objects):
        check_same(jit(fresh(function))(Y, 300), function(Y, 300))


def trajectory(x, n):
    h, states = [], []
    for i in range(n):
        x = x + 0.01 * np.sin(x)
        if x > 0.5:
            h.append(x)
        states.append((i, np.array([x, 2 * x])))
    return x * x, (h, states)


def of_trajectory(x, n):
    value, (h, states) = trajectory(x, n)
    return {"value": value, "h": h, "states": states}


E = 1e-6


@pytest.mark.parametrize("n", [0, 60, 300])
def test_derivatives(n: int) -> None:
    (value, aux), slope = value_and_grad(trajectory, has_aux=True)(np.float64(0.3), n)
    check_same((value, aux), trajectory(np.float64(0.3), n))
    wanted = (trajectory(0.3 + E, n)[0] - trajectory(0.3 - E, n)[0]) / (2 * E)
    assert slope == pytest.approx(wanted, rel=1e-6)
    out, tangent = jvp(lambda x: of_trajectory(x, n), (np.float64(0.3),), (1.0,))
    check_same(out, of_trajectory(np.float64(0.3), n))
    above, below = of_trajectory(0.3 + E, n), of_trajectory(0.3 - E, n)
    for name in ("value", "h"):
        slopes = (np.array(above[name]) - np.array(below[name])) / (2 * E)
        np.testing.assert_allclose(tangent[name], slopes, rtol=1e-6)
    for (zero, moved), (_, high), (_, low) in zip(tangent["states"], above["states"], below["states"], strict=True):
        assert zero == 0
        np.testing.assert_allclose(moved, (high - low) / (2 * E), rtol=1e-6)
    _, pullback, aux = vjp(lambda x: trajectory(x, n), np.float64(0.3), has_aux=True)
    check_same(aux, trajectory(np.float64(0.3), n)[1])
    assert pullback(2.0)[0] == pytest.approx(2 * wanted, rel=1e-6)


def test_within_a_function() -> None:
    def summed(x):
        _, tangent = jvp(lambda x: trajectory(x, 300)[1][0], (x,), (1.0,))
        s = 0.0
        for each in tangent:
            s = s + each
        return s

    above, below = (np.sum(trajectory(x, 300)[1][0]) for x in (0.3 + E, 0.3 - E))
    assert jit(summed)(0.3) == pytest.approx((above - below) / (2 * E), rel=1e-6)
    slope = (jit(summed)(0.3 + 1e-5) - jit(summed)(0.3 - 1e-5)) / 2e-5
    assert grad(summed)(0.3) == pytest.approx(slope, rel=1e-5)


def test_a_pullback_of_a_list_of_many_is_refused() -> None:
    def states(x):
        h = []
        for _ in range(300):
            x = x * 0.5
            h.append(x)
        return h

    with pytest.raises(DifferentiationError, match="a cotangent for each element") as caught:
        vjp(states, 0.3)
    assert "np.array(xs)" in str(caught.value)
    value, pullback = vjp(lambda x: np.array(states(x)), 0.3)
    np.testing.assert_allclose(value, states(0.3))
    np.testing.assert_allclose(pullback(np.ones(300))[0], 1.0)


def test_what_cannot_be_made_again_is_refused() -> None:
    class Odd:
        def __init__(self, value):
            self.value, self.twice = value, 2 * value

    def odd(x, n):
        h = []
        for i in range(n):
            h.append(Odd(x * i))
        return h

    with pytest.raises(CompileError, match="cannot return an object of class Odd"):
        jit(odd)(0.5, 300)


def test_errors_of_the_run_come_before_the_list() -> None:
    def beyond(y, n):
        h = []
        for i in range(n):
            h.append(y[i])
        return h

    check_same(jit(beyond)(Y, 3), beyond(Y, 3))
    with pytest.raises(IndexError):
        jit(beyond)(Y, 4)
    assert mlirad.jit(beyond)(Y, 0) == []
