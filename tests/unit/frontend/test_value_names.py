"""Values in dumps are named after the user's variables, at every stage of MLIR."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mlirad

SCALE = np.array([1.0, 2.0, 3.0])
MLIR = ("tensor", "autodiff", "optimized", "linalg", "bufferized", "loops")


def loss(x, rate, p):
    y = np.sin(x) * SCALE
    table = np.zeros(3)
    for t in range(3):
        table[t] = y[t] * rate + p["w"][t]
        if table[t] > 0.5:
            rate = rate + 1.0
    while rate > 1e-3:
        rate = 0.5 * rate - table[0]
    return np.sum(table * y) + rate


ARGUMENTS = (np.array([0.5, -1.0, 2.0]), 0.25, {"w": np.ones(3)})


def names(text: str) -> set[str]:
    """The names of values, without the numbers that make them unique."""
    return {re.sub(r"_\d+$", "", found) for found in re.findall(r"%([\w.$-]+)", text)}


def test_the_names_of_variables() -> None:
    text = mlirad.jit(loss).lower(*ARGUMENTS).as_text("tensor")
    assert {"x", "rate", "p.w", "y", "table", "t", "SCALE", "c3", "cst"} <= names(text)
    (signature,) = re.findall(r"func.func public @loss\((.*)\) ->", text)
    assert re.findall(r"%([\w.]+):", signature) == ["x", "rate", "p.w", "SCALE"]
    assert re.search(r"%table_\d+, %rate_\d+ = scf.for %t = %c0", text)


def test_the_number_of_a_trip_is_no_element() -> None:
    """Only `for i in range(n)` binds its variable to the number of the iteration; other elements are computed from
    it."""

    def f(x):
        total = 0.0
        for v in x:
            total += v
        for k in range(1, 3):
            total += x[k]
        for w in x:
            if w > 1.0:
                break
            total += w
        return total

    text = mlirad.jit(f).lower(SCALE).as_text("tensor")
    assert {"v", "v_index", "k", "k_index", "w", "w_index"} <= names(text)
    assert "%v = nd.extract %x[%v_index]" in text
    assert re.search(r"%k = nd.add .*%k_index", text)
    assert re.search(r"%w_index, .* = scf.while", text)


@pytest.mark.parametrize("stage", MLIR)
def test_they_are_kept_at_every_stage(stage: str) -> None:
    text = mlirad.grad(loss).lower(*ARGUMENTS).as_text(stage)
    found = names(text)
    assert {"x", "rate", "y"} <= found
    if stage != "tensor":
        assert {"table"} <= found and any(name.startswith("d_") for name in found)
    again = names(mlirad.grad(loss).lower(*ARGUMENTS).as_text(stage))
    assert again == found


def test_cotangents_and_tangents_are_called_after_their_values() -> None:
    reverse = names(mlirad.grad(loss).lower(*ARGUMENTS).as_text("autodiff"))
    assert {"d_x", "d_y", "d_table"} <= reverse

    def forward(x, dx):
        return mlirad.jvp(lambda x: loss(x, 0.25, {"w": SCALE}), (x,), (dx,))

    assert {"dx", "d_y", "d_table"} <= names(mlirad.jit(forward).lower(SCALE, SCALE).as_text("autodiff"))


def test_names_that_mlir_does_not_have() -> None:
    def f(größe, π):
        λ = größe * π
        return λ - größe

    text = mlirad.jit(f).lower(2.0, 3.0).as_text("tensor")
    assert names(text) >= {"gr__e", "_"}
    assert mlirad.jit(f)(2.0, 3.0) == 4.0


def test_locations_are_shown_if_asked() -> None:
    lowered = mlirad.jit(loss).lower(*ARGUMENTS)
    plain, located = lowered.as_text("optimized"), lowered.as_text("optimized", locations=True)
    line = loss.__code__.co_firstlineno + 1
    assert "loc(" not in plain and f'{__file__}":{line}:' in located
    assert re.sub(r" loc\([^()]*\)", "", located) == plain
