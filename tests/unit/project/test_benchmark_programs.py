"""The programs of `growth.py`, `peers.py` and `ratios.py`: our gradient is the adjoint written by hand for Numba, loops
copy arrays for known purposes only, and a value beside its gradient takes no array more."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from adjoints_by_hand import BENCHMARKS, program_of
from loop_copies import Purpose, purposes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import mlirad
from mlirad import pipeline
from mlirad.lowering.to_buffers.plan_arena import PlanArena

NAMES = sorted(
    f"{folder}.{path.stem}" for folder in ("programs", "workloads") for path in (BENCHMARKS / folder).glob("[!_]*.py")
)
HELD_TOO = {"programs.vadv": 1, "workloads.hdiff": 3, "workloads.lenet": 7, "upwind": 1}
"""Copies inside loops for another purpose than the tape, elements that are overwritten, or registers. `vadv` puts what
it computes into a slice, and also reads it afterwards. Gradients of `hdiff` and `upwind` put sums into the slice that
they belong to. Images of `lenet` are put into larger ones, with a border of zeros, and taken apart for pooling."""
LARGE = (
    "programs.vadv",
    *(f"workloads.{name}" for name in ("attention", "cross_entropy", "hdiff", "k_means", "mixture", "wide_mixture")),
)
"""Programs whose value is a sum over an array that the gradient does not store, or stores in parts."""
ORDINARY = ("wave", "upwind", "conjugate_gradients", "binomial_tree", "walks", "descent")
"""Programs of `ordinary_loops.py` whose loops are over arrays."""


def others(found: Counter[Purpose]) -> int:
    return found[Purpose.OTHER]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Counter[Purpose]]:
    """The copies inside loops of each module that is compiled."""
    found: list[Counter[Purpose]] = []
    last = PlanArena.apply

    def apply(self: PlanArena, ctx: Context, op: ModuleOp) -> None:
        last(self, ctx, op)
        found.append(purposes(op))

    monkeypatch.setattr(PlanArena, "apply", apply)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_the_adjoint_by_hand(
    name: str, monkeypatch: pytest.MonkeyPatch, counts: list[Counter[Purpose]]
) -> None:
    """Without and with `fastmath=True`."""
    program = program_of(name, monkeypatch)
    arguments = program.arguments(program.SIZES[0])
    by_hand = program.adjoint(*arguments)
    for fastmath in (False, True):
        ours = mlirad.grad(program.loss, program.ARGNUMS, fastmath=fastmath)(*arguments)
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, by_hand)), strict=True):
            tolerance = 1e-4 if other.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.max(np.abs(other)))
    assert counts
    assert {others(each) for each in counts} == {HELD_TOO.get(name, 0)}


def counted(kernel: Any, arguments: tuple[Any, ...]) -> Counter[Purpose]:
    lowered = kernel.lower(*arguments)
    return purposes(
        next(value for stage, value in pipeline.run(lowered.module, lowered.target) if stage == "bufferized")
    )


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_loops_copy_for_known_purposes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    program = importlib.import_module("ordinary_loops").PROGRAMS[name]
    arguments = program.arguments(program.sizes[0])
    assert others(counted(mlirad.jit(program.loss), arguments)) == 0
    assert others(counted(mlirad.grad(program.loss, program.argnums), arguments)) == HELD_TOO.get(name, 0)


@pytest.mark.parametrize("name", LARGE)
def test_a_value_beside_its_gradient_takes_no_array_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some numbers more, but nothing that grows with the arguments."""
    program = program_of(name, monkeypatch)
    arguments = program.arguments(program.SIZES[-1])
    alone, both = (
        take(program.loss, program.ARGNUMS).lower(*arguments).memory().total
        for take in (mlirad.grad, mlirad.value_and_grad)
    )
    assert alone.static and both.static and both.static <= 1.01 * alone.static + 1024


def test_copies_have_purposes() -> None:
    """A column that is also read later, elements that are overwritten, and what the reverse sweep needs."""

    def columns(x, n):
        a, every = x.copy(), np.zeros((40, n))
        for i in range(n):
            column = np.sin(a)
            every[:, i] = column
            a[1:] += column[:-1] * a[:-1]
        return np.sum(every * every) + np.sum(a)

    arguments = np.linspace(0.0, 1.0, 40), 6
    found = counted(mlirad.jit(columns), arguments)
    assert found[Purpose.OTHER] == 1
    assert found[Purpose.ASIDE] == 1
    assert not found[Purpose.TAPE]
    assert counted(mlirad.grad(columns), arguments)[Purpose.TAPE]
