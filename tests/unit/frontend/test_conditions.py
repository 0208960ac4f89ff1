"""Conditions: if only the truth of an expression is needed, its operands need no common type."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from run_frontend import call, compile_for

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError

# Operands without a common type: static and traced, lists, tuples, arrays of one element, strings and numbers.
OPERANDS = ("runs", "()", "'text'", "None", "x[0] > 0", "x[1]", "n", "n > 1", "x[:1]", "0.0", "not x[1]", "0 < n < 3")
JOINED = (
    "{} and {}",
    "{} or {}",
    "not ({} and {})",
    "not {} or not {}",
    "({} or {}) and x[2] > 0",
    "{} if x[2] > 0 else {}",
)
USES = (
    "if {}:\n        return 1.0\n    return 2.0",
    "while ({}):\n        runs, n, x = [], 0, x * 0\n        return x[0] + 3.0\n    return 4.0",
    "return 5.0 if ({}) else 6.0",
    "return float(not ({}))",
    "assert {}, 'not so'\n    return 7.0",
)
CASES = [
    (use, form, first, second)
    for use, (form, (first, second)) in itertools.product(
        USES, itertools.product(JOINED, itertools.permutations(OPERANDS, 2))
    )
]


def written(text: str, tmp: Any, number: int) -> Callable[..., Any]:
    path = tmp / f"condition_{number}.py"
    path.write_text(text)
    namespace: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace["f"]


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (AssertionError, CheckFailed) as error:
        return getattr(error, "error", "AssertionError")


def text_of(case: tuple[str, str, str, str]) -> str:
    use, form, first, second = case
    condition = form.replace("{}", "{0}", 1).replace("{}", "{1}").format(first, second)
    return f"def f(x, n):\n    runs = [(x[0], n)]\n    {use.format(condition)}\n"


def judge(number: int, tmp: Any) -> None:
    function = written(text_of(CASES[number]), tmp, number)
    for x in (np.array([1.0, 0.0, 2.0]), np.array([-1.0, 2.0, -2.0])):
        for n in (0, 2):
            want = outcome(lambda x=x, n=n: function(x, n))
            got = outcome(lambda x=x, n=n: call(function, x, n))
            assert got == want, text_of(CASES[number])


@pytest.mark.parametrize("number", range(0, len(CASES), 149))
def test_a_condition_means_what_python_means(number: int, tmp_path: Any) -> None:
    judge(number, tmp_path)


@pytest.mark.full
def test_all_conditions_mean_what_python_means(tmp_path: Any) -> None:
    for number in range(len(CASES)):
        judge(number, tmp_path)


def test_a_value_of_two_types_is_still_refused() -> None:
    def f(x):
        last = ([1.0] and x[0] > 0) or [x[1]]
        return last

    with pytest.raises(CompileError, match="on one path and a list"):
        compile_for(f, np.ones(2))


def test_a_condition_of_a_while_that_raises_raises() -> None:
    def counted(x, n):
        count = 0
        while count < n and x[5] < 1.1:
            count += 1
        return count

    def leaves(x, n):
        y = x * 1.0
        while n > 2 and max(x[0], y[-6]) < 1.1:
            y = y * 2.0
            if y[0] > 3.0:
                break
        return y

    for function in (counted, leaves):
        np.testing.assert_array_equal(call(function, np.ones(5), 0), function(np.ones(5), 0))
        with pytest.raises(IndexError):
            function(np.ones(5), 3)
        with pytest.raises((IndexError, CheckFailed), match="out of bounds"):
            call(function, np.ones(5), 3)
