"""A damaged matmul is found: each flag, barrier, address and size of the cube core's pipes."""

from __future__ import annotations

import os
from dataclasses import replace

import ascend_matmuls
from ascend_mutants import caught, mutants, survives

from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles
from mlirad.targets.ascend.hivm.hivm_attributes import CoreType
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

IS_FULL = bool(os.environ.get("MLIRAD_FULL"))
NOTHING_FOLLOWS = "the kernel ends there: it ends when all pipes have finished, and nothing starts after the barrier"
ROOM_BEHIND = "a part of A or B in L1 moves into memory that no other buffer uses"
HARMLESS = {
    "address +196608 in #63 pointer_cast": ROOM_BEHIND,
    "address +32 in #72 pointer_cast": ROOM_BEHIND,
    "address +196608 in #72 pointer_cast": ROOM_BEHIND,
    "delete #165 barrier ALL": NOTHING_FOLLOWS,
    **{f"pipe {pipe} in #165 barrier ALL": NOTHING_FOLLOWS for pipe in ("S", "M", "MTE1", "MTE2", "MTE3", "FIX")},
}
"""Mutants that give the same bits in every legal order, and why."""


def test_every_mutant_is_caught_or_known_to_be_harmless() -> None:
    """Three tiles on one core, of two parts of k in L1, of two in L0 each; the last of all is ragged."""
    matmul = Matmul(1, 40, 16, 50, "f16")
    text = ascend_matmuls.program(matmul, MatmulTiles(16, 16, 32, 16), replace(ascend_matmuls.SOC, cube_cores=1))
    values = ascend_matmuls.values(matmul)
    expected = SimulatedProgram(text).run("main", values)
    every = 1 if IS_FULL else 7
    tried = list(mutants(text, CoreType.CUBE, every))
    alive = [mutant for mutant in tried if caught(mutant, values, expected) is None]
    known = {mutant.name for mutant in tried} & set(HARMLESS)
    assert len(tried) > 350 / every and {mutant.name for mutant in alive} == known
    assert all(survives(mutant, values, expected, 1000 if IS_FULL else 20) for mutant in alive)
