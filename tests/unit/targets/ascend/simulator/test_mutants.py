"""The simulator finds damaged kernels: every mutant is caught, but for those that are shown to be harmless."""

from __future__ import annotations

import os
from collections.abc import Callable

import ascend_kernels
import numpy as np
import pytest
from ascend_mutants import caught, mutants, same_bits, survives

from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

ORDERS = 1000 if os.environ.get("MLIRAD_FULL") else 200

NOTHING_FOLLOWS = "the kernel ends there: it ends when all pipes have finished, and nothing starts after the barrier"
ROOM_BEHIND = "the last buffer moves into memory that no other buffer uses"
HARMLESS = {
    "exp_of_sum": {
        "address +32 in #33 pointer_cast": ROOM_BEHIND,
        "delete #53 barrier ALL": NOTHING_FOLLOWS,
        **{f"pipe {pipe} in #53 barrier ALL": NOTHING_FOLLOWS for pipe in ("S", "V", "MTE2", "MTE3")},
    },
    "softmax": {"address +32 in #24 pointer_cast": ROOM_BEHIND},
    "tail": {"address +32 in #19 pointer_cast": ROOM_BEHIND},
}
"""Mutants of the kernels that give the same bits in every legal order, and why."""

KERNELS: dict[str, tuple[Callable[[], str], tuple[tuple[int, ...], ...]]] = {
    "exp_of_sum": (ascend_kernels.exp_of_sum, ((256,), (256,))),
    "softmax": (ascend_kernels.softmax, ((32, 64),)),
    "tail": (ascend_kernels.tail, ((200,),)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_mutant_is_caught_or_known_to_be_harmless(name: str) -> None:
    make, shapes = KERNELS[name]
    text, rng = make(), np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = SimulatedProgram(text).run("main", values)
    alive = [mutant for mutant in mutants(text) if caught(mutant, values, expected) is None]
    assert {mutant.name for mutant in alive} == set(HARMLESS[name])
    assert all(survives(mutant, values, expected, ORDERS) for mutant in alive)


@pytest.mark.parametrize("name", KERNELS)
def test_all_legal_orders_give_the_same_bits(name: str) -> None:
    make, shapes = KERNELS[name]
    program, rng = SimulatedProgram(make()), np.random.default_rng(1)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = program.run("main", values)
    assert all(same_bits(program.run("main", values, seed=seed), expected) for seed in range(20))


def test_a_race_shows_in_some_legal_order() -> None:
    """What the detector reports is real: without its barrier, the kernel gives other numbers in some order."""
    text = ascend_kernels.exp_of_sum()
    rng = np.random.default_rng(2)
    values = [rng.standard_normal(256).astype(np.float32) for _ in range(2)]
    expected = SimulatedProgram(text).run("main", values)
    (racy,) = [mutant for mutant in mutants(text) if mutant.name.startswith("delete") and "barrier V" in mutant.name]
    assert caught(racy, values, expected) == "read after write"
    assert not survives(racy, values, expected, 50)
