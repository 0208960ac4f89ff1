"""Bounds hold for every possible value of the operands: memory is reserved by them, and written without a check."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block

from mlirad.analysis.bounds import most_trips, size_bounds
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, emit, full
from mlirad.dialect.ops.choice import SelectOp
from mlirad.dialect.ops.compare import LessOp
from mlirad.dialect.ops.wrapped_index import WrapIndexOp
from mlirad.testing.expr_functions import function
from mlirad.testing.interpreter import run

SHIFT = 1000
STEPS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "neg": lambda x, y: -x,
    "mul": lambda x, y: apply(np.minimum, apply(np.maximum, x * y, -99), 99),
    "minimum": lambda x, y: apply(np.minimum, x, y),
    "maximum": lambda x, y: apply(np.maximum, x, y),
    "select": lambda x, y: emit(SelectOp, emit(LessOp, x, y), x, y),
    "wrap_index": lambda x, y: emit(WrapIndexOp, x, apply(np.maximum, y, 0)),
}


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold(seed: int) -> None:
    """Random expressions of two numbers, each between two constants: all values are compared with the bounds."""
    draw = random.Random(seed)
    limits = [sorted(draw.choices(range(-6, 9), k=2)) for _ in range(2)]
    module = ModuleOp([])
    names: list[str] = []
    sizes: list[Expr] = []
    found: list[Expr] = []

    def body(*numbers: Expr) -> list[Expr]:
        values = [
            apply(np.maximum, apply(np.minimum, n, high), low) for n, (low, high) in zip(numbers, limits, strict=True)
        ]
        for _ in range(5):
            name = draw.choice(list(STEPS))
            names.append(name)
            values.append(STEPS[name](*draw.choices(values[-4:], k=2)))
        zero = constant(0.0, types.F64)
        sizes.extend(full(zero, [-1], [size]) for value in values for size in (value + SHIFT, SHIFT - value))
        found.extend([*values, constant(3, types.I64)])
        return values

    f = function(module, "f", [types.I64, types.I64], body)
    f.properties["sym_visibility"] = StringAttr("public")
    rows = [run(module, "f", np.int64(n), np.int64(m)) for n in range(-8, 11, 2) for m in range(-8, 11, 3)]
    for k, column in enumerate(zip(*rows, strict=True)):
        above, below = (size_bounds(sizes[2 * k + side].value)[0] for side in (0, 1))
        assert above is not None and below is not None
        assert max(column) <= above - SHIFT and min(column) >= SHIFT - below, (names, limits, k)
    for (k, lower), (m, upper) in permutations(enumerate(found[:-1]), 2):
        most = most_trips(scf.ForOp(lower.value, upper.value, found[-1].value, [], Block(arg_types=[types.I64])))
        assert most is not None and most >= max(-(-(row[m] - row[k]) // 3) for row in rows), (names, limits, k, m)
