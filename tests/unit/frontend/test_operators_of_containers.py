"""Operators on every pair of kinds of operands: lists, tuples and dicts with Python and NumPy numbers, and arrays.

A list is an array next to a NumPy number, but not next to a Python number: `[1.0, 2.0] == 1.0` is False.
"""

from __future__ import annotations

import linecache
import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

OPERATORS = ("==", "!=", "<", ">=", "+", "-", "*", "/", "//", "%", "**", "&", "in")
CONTAINERS = (
    *("[1.0, 2.0]", "[u, 2.0]", "[m, 2]", "[x[0], x[1]]", "[x, x]", "[q for q in x]", "[]", "grown"),
    *("(1.0, u)", "()", "U0", "{'a': u}", "range(2)", "'ab'", "None"),
)
IN_PLACE = ("+=", "-=", "*=", "/=", "|=", "&=")
OPERANDS = (
    *("a", "1.0", "m", "2", "True", "(m > 1)"),
    *("s", "x[0]", "np.float32(a)", "np.int64(2)", "np.int8(m)", "np.array(1.0)", "x", "x[:1]", "x > 1"),
)
PAIRS = [
    *product(CONTAINERS, OPERATORS, (*OPERANDS, *CONTAINERS)),
    *product(OPERANDS, OPERATORS, CONTAINERS),
    *product(CONTAINERS, IN_PLACE, (*OPERANDS, *CONTAINERS)),
    *product(OPERANDS, IN_PLACE, CONTAINERS),
]
U0 = (1.0, 2.0)

SOURCE = """def f(x, a, u, s, m):
    grown = []
    for q in range(m):
        grown.append(x[0])
    {}
"""


def arguments() -> tuple[Any, ...]:
    return np.array([1.0, 2.0]), 1.0, 1.0, np.float64(1.0), 2


def outcome(function: Any) -> Any:
    try:
        return function(*arguments())
    except Exception as error:  # what Python raises is compared
        return error


def is_same(want: Any, got: Any, is_filled: bool) -> bool:
    """is_filled: whether a loop has filled one of the operands. If Python's list has both kinds of floats, all floats
    of a filled list are NumPy's (docs/deviations.md)."""
    if type(want) is not type(got):
        return False
    if is_filled and isinstance(want, list) and {type(each) for each in want} == {float, np.float64}:
        return want == got and {type(each) for each in got} == {np.float64}
    if isinstance(want, list | tuple):
        return len(want) == len(got) and all(is_same(x, y, is_filled) for x, y in zip(want, got, strict=True))
    if isinstance(want, np.ndarray):
        return want.dtype == got.dtype and np.array_equal(want, got)
    return bool(want == got)


def judged(pairs: list[tuple[str, str, str]]) -> list[str]:
    """The expressions with values that differ from Python's, and both values. Refusals count as right."""
    wrong = []
    for number, (left, operator, right) in enumerate(pairs):
        body = f"return {left} {operator} {right}"
        if operator in IN_PLACE:  # the name may have been another object before
            body = f"left = before = {left}; left {operator} {right}; return left, before"
        source, name = SOURCE.format(body), f"<operators {number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        namespace: dict[str, Any] = {"np": np, "U0": U0}
        exec(compile(source, name, "exec"), namespace)
        want, got = outcome(namespace["f"]), outcome(mlirad.jit(namespace["f"]))
        if isinstance(want, Exception):
            is_right = isinstance(got, CompileError | type(want))
        else:
            # The bool that decides the order of two lists may be Python's or NumPy's (docs/deviations.md).
            is_order = operator in ("<", ">=") and isinstance(want, bool | np.bool_)
            is_equal = is_same(want, got, "grown" in (left, right)) or (is_order and bool(want == got))
            is_right = isinstance(got, CompileError) or is_equal
        if not is_right:
            wrong.append(f"{left} {operator} {right}: {got!r}, not {want!r}")
    return wrong


@pytest.mark.filterwarnings("ignore")
def test_operators_on_a_sample_of_operands():
    assert not judged(random.Random(1).sample(PAIRS, 320))


def test_a_judge_tells_pythons_floats_from_numpys():
    mixed, numpys = [1.0, np.float64(2.0)], [np.float64(1.0), np.float64(2.0)]
    assert is_same(mixed, mixed, False) and is_same(mixed, numpys, True)
    assert not is_same(mixed, numpys, False)
    assert not is_same([1.0, 2.0], numpys, True) and not is_same(numpys, [1.0, 2.0], True)
    assert not is_same(mixed, [np.float64(1.0), np.float64(3.0)], True) and not is_same(mixed, numpys[:1], True)


@pytest.mark.filterwarnings("ignore")
def test_lists_that_loops_fill_beside_others():
    others = ("[1.0, 2.0]", "[x[0], x[1]]")
    assert not judged([*product(others, ("+", "+="), ("grown",)), ("grown", "+", "[u, 2.0]")])


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operator", [*OPERATORS, *IN_PLACE])
def test_operators_on_all_operands(operator):
    assert not judged([pair for pair in PAIRS if pair[1] == operator])


@pytest.mark.parametrize("jit", [mlirad.jit, lambda f: f], ids=["compiled", "python"])
def test_a_list_is_no_array_beside_a_number_of_python(jit):
    def f(x, a):
        x += [r - 0.0 for r in x] == a
        return (1.0, 2.0) != a, [a] == a

    x = np.array([1.0, -1.0])
    assert jit(f)(x, -1.0) == (True, False)
    assert x.tolist() == [1.0, -1.0]


def test_arithmetic_of_a_list_and_a_number_of_python_is_refused_as_python_refuses_it():
    @mlirad.jit
    def f(a):
        xs = [1.0, 2.0]
        return xs + a

    with pytest.raises(TypeError, match="can only concatenate list"):
        f(1.0)


@pytest.mark.parametrize("jit", [mlirad.jit, lambda f: f], ids=["compiled", "python"])
def test_a_list_to_which_an_array_is_added_in_place_is_an_array(jit):
    """NumPy's `+` takes precedence over the list's, so nothing is appended."""

    def f(x):
        xs = ys = [1.0, 2.0, 3.0]
        xs += x
        ys *= 2
        return xs, ys

    added, repeated = jit(f)(np.array([0.5, 0.25, 0.0]))
    assert isinstance(added, np.ndarray) and added.tolist() == [1.5, 2.25, 3.0]
    assert repeated == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]


def test_lists_have_no_product() -> None:
    for x, kind in (([1.0, 2.0], "list"), ((1.0, 2.0), "tuple")):
        message = rf"can't multiply sequence by non-int of type '{kind}'[^$]*make arrays of lists: np.array"
        with pytest.raises(TypeError, match=message):
            mlirad.jit(lambda x: x * x)(x)


def test_a_list_and_a_number_that_may_be_pythons_is_refused():
    @mlirad.jit
    def f(x):
        m = 0.0
        for v in x:
            if v > 1:
                m = v
        return [1.0, 0.0] == m

    with pytest.raises(CompileError, match="a list meets a number that is Python's on one path and NumPy's on another"):
        f(np.ones(3, np.float32))
