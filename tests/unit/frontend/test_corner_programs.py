"""Surprising cases of Python and NumPy: values, final contents of the arguments, exceptions, and refusals."""

from __future__ import annotations

import copy
from typing import Any

import corner_programs
import numpy as np
import own_corner_programs
import pytest
from corner_programs import JOINED_NUMBERS, Case
from run_frontend import call, is_same

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError

CASES = [*corner_programs.CASES, *own_corner_programs.CASES]
RUNS = [(case, args) for case in CASES if case.refused is None for args in case.arguments]
REFUSED = [case for case in CASES if case.refused is not None]


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies that share nothing, with the layout of the originals."""
    return tuple(np.array(x) if isinstance(x, np.ndarray) else copy.deepcopy(x) for x in args)


@pytest.mark.parametrize(("case", "args"), RUNS, ids=lambda x: x.function.__name__ if isinstance(x, Case) else "")
def test_is_what_numpy_does(case: Case, args: tuple[Any, ...]) -> None:
    function, expected, actual = case.function, fresh(args), fresh(args)
    try:
        want = function(*expected)
    except Exception as error:
        with pytest.raises((CheckFailed, CompileError)) as raised:
            call(function, *actual)
        ours = raised.value
        assert ours.error == type(error).__name__ if isinstance(ours, CheckFailed) else isinstance(ours, type(error))
    else:
        got = call(function, *actual)
        assert is_same(want, got) or (function in JOINED_NUMBERS and np.allclose(want, got)), (want, got)
    assert is_same(expected, actual)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.function.__name__)
def test_is_refused_on_its_line(case: Case) -> None:
    assert case.refused is not None
    with pytest.raises(case.refused) as raised:
        call(case.function, *fresh(case.arguments[0]))
    error = raised.value
    assert isinstance(error, CompileError)
    code = case.function.__code__
    lines = {line for _, _, line in code.co_lines() if line is not None}
    assert error.filename == code.co_filename and error.lineno is not None
    assert min(lines) <= error.lineno <= max(lines)


def overlapping(x):
    x[1:5] = x[0:8:2]
    return x


def test_the_right_side_is_read_in_full_first() -> None:
    """NumPy 2.4.6 reads elements here that it has just written: it gives [0 0 2 6 6 5 6 7]."""
    assert is_same(call(overlapping, np.arange(8.0)), np.array([0.0, 0, 2, 4, 6, 5, 6, 7]))
