"""How many elements a function certainly overwrites in its argument."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
from run_frontend import compile_for
from xdsl.dialects import func

from mlirad.analysis.loops import yields
from mlirad.analysis.overwriting import elements_written


def elements(x):
    x[0] = x[1]
    x[1] = 2.0


def sliced(x):
    x[2:5] = 0.5 * x[3:6]


def in_a_loop(x):
    for i in range(1, 7):
        x[i] = x[i - 1]
        x[i - 1] = 1.0


def in_a_while(x):
    while x[0] < 3.0:
        x[0] = x[0] + 1.0


def on_one_side(x):
    if x[0] > 1.0:
        x[1] = 2.0
    x[2] = 1.0


def on_both_sides(x):
    if x[0] > 1.0:
        x[1] = 2.0
    else:
        x[1:3] = 0.5 * x[:2]


def whole(x):
    x += np.sin(x)


@pytest.mark.parametrize(
    ("function", "count"),
    [(elements, 2), (sliced, 3), (in_a_loop, 12), (in_a_while, 0), (on_one_side, 1), (on_both_sides, 1), (whole, inf)],
)
def test_elements_written(function: Callable[..., Any], count: float) -> None:
    op = next(op for op in compile_for(function, np.ones(8)).module.ops if isinstance(op, func.FuncOp))
    block = op.body.block
    assert elements_written(yields(block)[0], block.args[0]) == count
