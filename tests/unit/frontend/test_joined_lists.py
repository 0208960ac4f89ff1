"""Lists with different lengths on the branches of an if: compared with Python, derivatives with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlirad import grad, jit, value_and_grad
from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted


def filled_on_one_path(x, n):
    h = [np.sin(x)]
    if x > 0.5:
        for _ in range(n):
            x = x * 0.5
            h.append(np.sin(x))
    return h


def inner_loop_then_append(x, n):
    h = []
    for i in range(n):
        x = np.sin(x * 0.9 + 0.01)
        if x > 0.2:
            for j in range(i):
                h.append(x * j)
        h.append(x)
    return h


def inner_while(x, n):
    h, k = [], []
    for i in range(n):
        x = np.cos(x) + 0.3 * i
        while x < 1.0:
            x = x + 0.3
            if x < 0.5:
                h.append((x, i))
                k.append(x)
            elif i % 2:
                k.append(x)
        h.append((x, 0))
        if x > 5:
            break
        k.append(x)
    return k + [a * b for a, b in h]


def over_a_tuple(x, n):
    h = []
    for v in (x, np.sin(x), x + 2.0):
        if v > 0.6:
            h.append(v * n)
    return [each * each for each in h]


def branches_that_append(x, n):
    h = []
    if x > 0.5:
        h.append(np.sin(x))
    else:
        h.append(np.cos(x))
        h.append(x * np.sin(x))
    h.append(np.exp(x))
    return [h[0], h[-1], np.float64(len(h))]


def returned_early(x, n):
    def record(z):
        h = [np.sin(z)]
        if z > 0.5:
            return h
        h.append(np.cos(z) * n)
        return h

    return [*record(x)[-1:], np.sum(np.array(record(x * 0.5)))]


def arrays_of_branches(x, n):
    y = np.array([x, 2 * x])
    log = {"y": [y]}
    if x > 0.5:
        log["y"].append(y * y)
    elif x < 0.1:
        log["y"] += [np.sin(y), np.cos(y)]
    return [np.sum(each) for each in log["y"]] + [np.sum(np.stack(log["y"])[0])]


def nested_branches(x, n):
    h = []
    if x > 0.2:
        h.append(np.sin(x))
        if x > 0.5:
            for k in range(n):
                if x * k > 1.0:
                    h.append(x * k)
            h.append(np.cos(x))
        else:
            h.pop()
    return h


PROGRAMS = [
    filled_on_one_path,
    inner_loop_then_append,
    branches_that_append,
    nested_branches,
]
LATER = [inner_while, over_a_tuple, arrays_of_branches, returned_early]


def check(function: Callable[..., Any], x: float, n: int) -> None:
    found, wanted = jit(function)(x, n), function(x, n)
    assert isinstance(found, list)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert [type(each) for each in found] == [type(each) for each in wanted]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("x", [0.05, 0.3, 0.7])
def test_values(function: Callable[..., Any], x: float) -> None:
    for n in (0, 1, 6):
        check(function, np.float64(x), n)


@pytest.mark.parametrize("function", PROGRAMS)
def test_derivatives(function: Callable[..., Any]) -> None:
    def weighted(x, n):
        s = 0.0
        for k, each in enumerate(function(x, n)):
            s = s + (k + 1) * each
        return s

    slope, e = Interpreted(Grad(weighted, 0)), 1e-6
    for x in (0.05, 0.3, 0.7):
        wanted = (weighted(x + e, 5) - weighted(x - e, 5)) / (2 * e)
        assert slope(x, 5) == pytest.approx(wanted, rel=1e-6, abs=1e-8)


def test_natively() -> None:
    def total(x, n):
        return sum(inner_loop_then_append(x, n)) + sum(filled_on_one_path(x, n))

    value, slope = value_and_grad(total)(0.7, 9)
    assert value == pytest.approx(total(0.7, 9))
    e = 1e-6
    assert slope == pytest.approx((total(0.7 + e, 9) - total(0.7 - e, 9)) / (2 * e), rel=1e-6)
    second = (grad(total)(0.7 + e, 9) - grad(total)(0.7 - e, 9)) / (2 * e)
    assert grad(grad(total))(0.7, 9) == pytest.approx(second, rel=1e-5)


def test_indices_are_checked() -> None:
    def at(x, k):
        h = [x]
        if x > 0.5:
            h.append(2 * x)
        return h[k]

    for x in (0.3, 0.7):
        for k in (-3, -2, -1, 0, 1, 2):
            try:
                wanted = at(x, k)
            except IndexError:
                with pytest.raises(IndexError, match="list index out of range"):
                    jit(at)(x, k)
            else:
                assert jit(at)(x, k) == wanted

    def last(x):
        h = []
        if x > 0.5:
            h.append(x)
        return h.pop()

    assert jit(last)(0.7) == 0.7
    with pytest.raises(IndexError, match="pop from empty list"):
        jit(last)(0.3)


def test_what_is_written_later_is_refused() -> None:
    def written(x):
        y, h = np.array([x, x]), []
        if x > 0.5:
            h.append(y)
        y[0] = 7.0
        return h

    with pytest.raises(UnsupportedSyntaxError, match="refers to it") as caught:
        jit(written)(0.7)
    assert "x.copy()" in str(caught.value)


def test_elements_of_several_types_are_refused_where_they_are_used() -> None:
    def mixed(x, used):
        h = [x]
        if x > 0.5:
            h.append(np.ones(3))
        return len(h) if used else x

    assert jit(lambda x: mixed(x, False))(0.7) == 0.7
    with pytest.raises(CompileError, match="the length of this list depends on data"):
        jit(lambda x: mixed(x, True))(0.7)


def test_a_list_of_the_caller() -> None:
    def logs(log, x, n):
        for i in range(n):
            if x * i > 1.0:
                log.append(x * i)
        return x

    with pytest.raises(CompileError, match="the change in the length of the caller's list") as caught:
        jit(logs)([1.0], 0.7, 500)
    assert "append to a list that is made here" in str(caught.value)


def test_a_list_that_a_differentiated_function_returns_is_one_of_its_own() -> None:
    def copies(x, n):
        h = []
        for i in range(n):
            h.append(x * i)
            (_, other), _ = value_and_grad(lambda z, h=h: (z * z, list(h)), has_aux=True)(x)
            other.append(7.0 * x)
            other.append(8.0 * x)
            x = x + 0.001 * len(other)
        return h, x

    h, x = [], 0.7
    for i in range(300):
        h.append(x * i)
        x = x + 0.001 * (len(h) + 2)
    found, last = jit(copies)(0.7, 300)
    np.testing.assert_allclose(found, h)
    assert last == pytest.approx(x)
