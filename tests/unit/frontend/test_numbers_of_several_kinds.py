"""Numbers with different classes on different paths: used where all classes mean the same, refused elsewhere."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

BY_BRANCH = """def f(x, b):
    c = True
    if x[0] > 4:
        c = 3
    return {}
"""
BY_LOOP = """def f(x, b):
    c = False
    while x[0] > 2:
        c = c + 1
        x[0] -= 1
    return {}
"""
ONE_THING = (
    *("c + 1", "c * 2.5", "-c", "~c", "abs(c)", "c == 1", "c < 2", "bool(c)", "float(c)", "int(c) + 1", "c ** 2"),
    *("c << 1", "c // 2", "divmod(c, 2)", "not c", "5 if c else 6", "sum([c, c])", "max(c, 0) + 0"),
    *("x * c", "x + c", "x.astype(np.int8) + c", "np.array([c, 2])", "np.full(2, c, np.int8)", "np.float32(c)"),
    *("x[int(c)]", "np.take(x, c)", "np.sum(x[:c])", "np.sum(x[c:])", "b & bool(c)", "np.bool_(c)", "x[c - 1]"),
    "np.array([c], float)",
)
TWO_THINGS = (
    *(
        "x[c]",
        "x[c, ...]",
        "x[c & True]",
        "b + c",
        "b & c",
        "np.add(b, c)",
        "np.where(b, c, False)",
        "np.maximum(b, c)",
    ),
    *("np.full(2, c)", "np.array([c, c])", "np.array(c)", "isinstance(c, bool)", "type(c)", "c is True", "b * c"),
    *("np.stack([b, [c, c, c]])", "np.zeros(3, bool) | c", "np.asarray(c).dtype == bool"),
)


def made(source: str, expression: str) -> Any:
    text = source.format(expression)
    name = f"<{len(text)} {expression}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def arguments(first: float) -> tuple[Any, ...]:
    return np.array([first, 2.0, 3.0, 4.0]), np.array([True, False, True, False])


@pytest.mark.parametrize("source", [BY_BRANCH, BY_LOOP], ids=["branch", "loop"])
@pytest.mark.parametrize("first", [1.0, 4.5])
def test_where_both_are_one_thing_the_number_is_pythons(source: str, first: float) -> None:
    for expression in ONE_THING:
        f = made(source, expression)
        want, got = f(*arguments(first)), mlirad.jit(f)(*arguments(first))
        np.testing.assert_array_equal(got, want, err_msg=expression)
        assert getattr(got, "dtype", None) == getattr(want, "dtype", None), expression


@pytest.mark.parametrize("source", [BY_BRANCH, BY_LOOP], ids=["branch", "loop"])
@pytest.mark.parametrize("expression", TWO_THINGS)
def test_where_they_are_two_the_line_is_refused(source: str, expression: str) -> None:
    with pytest.raises(CompileError) as caught:
        mlirad.jit(made(source, expression))(*arguments(1.0))
    place = caught.value.location
    assert place is not None and place.lineno == len(source.splitlines())
    assert caught.value.hint


INT_OR_FLOAT = """def f(x, k, n, c):
    s = 0
    for i in range(n):
        s += c
    return {}
"""
FLOATS = (
    *(
        "x * s",
        "x[0] + s",
        "np.sin(s)",
        "s / 2",
        "x / (1 + s)",
        "float(s) * k",
        "np.float64(s) * k",
        "int(s)",
        "s > 0.5",
    ),
    *("x[int(s)]", "s > 0.5", "np.array([s, 1.0])", "s * 2.5 * k", "(s + 0.5) * k", "np.full(2, s, float)"),
    *("np.sqrt(k * 1.0 + s)", "(s * 2 // 3) * x", "max(s, 1.0) * x", "k / (s + 1)"),
)
"""Uses of a number that is 0 if the loop does not run, and a float otherwise."""
INTS = (
    *(
        "k * s",
        "k + (2 * s + 1)",
        "k - s // 1",
        "np.abs(s)",
        "np.array([s, 1])",
        "np.full(2, s)",
        "np.where(k > 1, s, 0)",
    ),
    *(
        "isinstance(s, int)",
        "np.where(k > 1, s, 0)",
        "type(s)",
        "k * -s",
        "np.reciprocal(k + s)",
        "np.maximum(s, 0)",
        "k % (s % 2 + 1)",
    ),
)


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("c", [0.5, np.float64(0.5)], ids=["python", "numpy"])
def test_an_int_that_a_loop_makes_a_float_is_used_where_both_are_one_thing(n: int, c: float) -> None:
    for expression in FLOATS:
        f = made(INT_OR_FLOAT, expression)
        args = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3]), n, c
        want, got = f(*args), mlirad.jit(f)(*args)
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=expression)
        assert getattr(got, "dtype", None) == getattr(want, "dtype", None) or not np.ndim(want), expression


@pytest.mark.parametrize("c", [0.5, np.float64(0.5)], ids=["python", "numpy"])
def test_an_int_that_a_loop_makes_a_float_is_refused_where_they_are_two(c: float) -> None:
    for expression in INTS:
        with pytest.raises(CompileError) as caught:
            mlirad.jit(made(INT_OR_FLOAT, expression))(np.ones(3), np.array([1, 2, 3]), 0, c)
        place = caught.value.location
        assert place is not None and place.lineno == 5, expression


def test_after_a_trip_at_least_the_number_is_what_the_loop_makes_it():
    for expression in (*FLOATS, *INTS):
        f = made(INT_OR_FLOAT.replace("range(n)", "range(3)"), expression)
        for c in (0.5, np.float64(0.5)):
            args = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3]), 0, c
            np.testing.assert_array_equal(mlirad.jit(f)(*args), f(*args), err_msg=expression)


def test_an_index_that_is_a_bool_and_then_a_number_is_not_a_number():
    """A program of the grammar: seed 1353."""

    def f(x, c):
        while c < 0:
            c -= 1
        x[c] = -2
        return x

    with pytest.raises(CompileError, match="'c' is a Python bool before the loop and a Python int after an iteration"):
        mlirad.jit(f)(np.ones(3), False)
    np.testing.assert_array_equal(mlirad.jit(f)(np.ones(3), 1), [1.0, -2.0, 1.0])


def test_states_that_begin_as_ints_and_are_coupled_stay_in_their_loop():
    """Some become Python floats, others NumPy floats: no operation on two of them depends on which."""

    def f(q, dt, n):
        s, e, r = 0, 0, 1
        for _ in range(n):
            if s < 0.75:
                s, e, r = s + dt * (q + r - s), 0.5 * e + 0.25 * np.sin(r + e), r + dt * (s - e) * (1.0 - r)
            else:
                s, e = 0.5 * s, e + dt
        return 0.5 * s + e - r

    text = mlirad.jit(f).lower(0.3, 0.05, 211).as_text("tensor")
    assert text.count("scf.for") == 1
    for n in (0, 3, 211):
        assert mlirad.jit(f)(0.3, 0.05, n) == pytest.approx(f(0.3, 0.05, n))
    step = 1e-6
    slope = (f(0.3 + step, 0.05, 9) - f(0.3 - step, 0.05, 9)) / (2 * step)
    assert mlirad.grad(f)(0.3, 0.05, 9) == pytest.approx(slope, rel=1e-5)
