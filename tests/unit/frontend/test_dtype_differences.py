"""Expressions on operands of every dtype and kind: the same as in NumPy, or as a row of docs/deviations.md says."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dtype_checks
import function_expressions
import numpy as np
import pytest
from dtype_checks import Operand, Tally
from run_frontend import call

import mlirad

PAGE = (Path(__file__).parents[3] / "docs" / "deviations.md").read_text()


def natively(function: Callable[..., Any], *args: Any) -> Any:
    return mlirad.jit(function)(*args)


def checked(count: int, seed: int, run: Callable[..., Any]) -> Tally:
    """This many checks, of randomly drawn pairs of operands."""
    tally, draw = Tally(), random.Random(seed)
    pairs = list(dtype_checks.pairs())
    draw.shuffle(pairs)
    for x, y in pairs:
        dtype_checks.run(x, y, dtype_checks.drawn(draw), run, tally)
        if tally.checks >= count:
            break
    return tally


def checked_functions(names: Sequence[str], expressions: Sequence[str], run: Callable[..., Any]) -> Tally:
    """The checks of functions on an array of each dtype."""
    tally = Tally()
    for name in names:
        x = Operand("array", np.array(function_expressions.VALUES[np.dtype(name).kind], name))
        dtype_checks.run(x, Operand("literal", 3, "3"), expressions, run, tally)
    assert not tally.wrong, "\n".join(tally.wrong[:20])
    assert tally.same > 0.6 * tally.checks, told(tally)  # some are not supported yet
    return tally


def told(tally: Tally) -> str:
    kinds = (("equal", tally.same), ("raised alike", tally.raised), ("refused", tally.refused.total()))
    counted = ", ".join(f"{count} {what}" for what, count in kinds)
    rows = "".join(f"\n* {count}: {row}" for row, count in tally.rows.most_common())
    return f"{tally.checks} checks: {counted}, {len(tally.wrong)} wrong{rows}"


def require_none_wrong(tally: Tally) -> None:
    assert not tally.wrong, "\n".join(tally.wrong[:20])
    assert tally.same + tally.raised > 0.9 * tally.checks, told(tally)


def test_every_row_is_on_the_page() -> None:
    for row in dtype_checks.ROWS:
        assert sum(line.startswith(f"| {row}") for line in PAGE.splitlines()) == 1, row


def test_a_difference_that_no_row_tells_is_found() -> None:
    tally = Tally()

    def wrong(function: Callable[..., Any], *args: Any) -> Any:
        return tuple(np.asarray(result).astype(np.float32) for result in function(*args))

    dtype_checks.run(Operand("scalar", np.uint8(3)), Operand("Python", 2), ["x + y", "x == y", "x / y"], wrong, tally)
    assert len(tally.wrong) == 3


def test_some_interpreted() -> None:
    require_none_wrong(checked(300, 5, call))


def test_some_native() -> None:
    require_none_wrong(checked(100, 6, natively))


def test_some_functions() -> None:
    draw = random.Random(9)
    for name in draw.sample(dtype_checks.DTYPES, 3):
        checked_functions([name], draw.sample(function_expressions.EXPRESSIONS, 40), call)


@pytest.mark.full
def test_many_interpreted() -> None:
    tally = checked(40_000, 7, call)
    print(told(tally))
    require_none_wrong(tally)


@pytest.mark.full
def test_many_native() -> None:
    tally = checked(5_000, 8, natively)
    print(told(tally))
    require_none_wrong(tally)


@pytest.mark.full
@pytest.mark.parametrize("run", [call, natively])
def test_all_functions(run) -> None:
    print(told(checked_functions(dtype_checks.DTYPES, function_expressions.EXPRESSIONS, run)))
