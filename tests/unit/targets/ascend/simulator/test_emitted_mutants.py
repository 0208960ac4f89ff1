"""Kernels that the compiler emits: every mistake in their flags, pipes, addresses and sizes is caught, or is harmless.

The chip has one vector core and little memory, so that small arrays are several tiles, of which the last is shorter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ascend_mutants import caught, mutants, same_bits, survives

import mlirad
from mlirad.targets.ascend import soc
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

FULL = bool(os.environ.get("MLIRAD_FULL"))
ORDERS = 1000 if FULL else 20
TILES = 16 * 1024
"""Bytes of the unified buffer that tiles may have."""

HARMLESS = {
    r"address [-+]32 in pointer_cast": "the buffer moves into memory that no other buffer uses while it is in use",
    r"(delete|pipe \w+ in) barrier ALL": "nothing behind it depends on what is before it; a kernel ends when all have",
    r"(delete|pipe \w+ in) barrier V": "the instructions around it touch different bytes, or a flag orders them",
    r"event 0 in (set|wait)_flag .* dynamic": "for these sizes the loop has one tile at a time, whose event id is 0",
    r"delete and set_flag .* (1|dynamic)": "for these sizes the loop has one tile at a time: nothing overwrites it",
    r"size -1 in subview": "a cast behind it gives the size again",
}
"""Mutants that give the same bits in every legal order, and why."""


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layer_norm(x, g):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return g * centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-3)


def cross_entropy(x, y):
    shifted = x - np.max(x, axis=1, keepdims=True)
    return -np.sum(y * (shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))))


def mean_square(x, y):
    return np.mean((x - y) ** 2)


N, M = (3000,), (90, 30)
CORPUS: dict[str, tuple[Callable[..., object], tuple[tuple[int, ...], ...], bool]] = {
    # a function, the shapes of its arguments, and whether every push looks at it
    "exp of a sum": (lambda x, y: np.exp(x + y), (N, N), True),
    "choice": (lambda x, y: np.where(x > y, x, y * y), (N, N), False),
    "tanh": (np.tanh, (N,), False),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (N,), False),
    "quotient": (lambda x, y: x / (1 + y * y), (N, N), False),
    "root": (lambda x: np.sqrt(np.abs(x)), (N,), False),
    "logarithm": (lambda x: np.log(1 + x * x), (N,), False),
    "extremes": (lambda x, y: np.maximum(x, y) - np.minimum(x, y), (N, N), False),
    "sum": (lambda x: np.sum(x * x), ((6000,),), False),
    "row sums": (lambda x: np.sum(np.exp(x), axis=1), ((24, 1500),), False),
    "column sums": (lambda x: np.sum(x, axis=0), ((600, 20),), False),
    "row maxima": (lambda x: np.max(x, axis=1), ((24, 1500),), False),
    "transpose": (lambda x: x.T + 1, ((90, 48),), False),
    "bias": (lambda x, b: np.maximum(x + b, 0), (M, (30,)), True),
    "outer": (lambda x, y: x[:, None] * y[None, :], ((90,), (40,)), False),
    "softmax": (softmax, ((50, 33),), False),
    "layer norm": (layer_norm, (M, (30,)), False),
    "cross entropy": (cross_entropy, (M, M), False),
    "mean square": (mean_square, (M, M), False),
    "gradient of mean square": (mlirad.grad(mean_square), (M, M), False),
    "gradient of cross entropy": (mlirad.grad(cross_entropy), (M, M), False),
    "gradient of tanh": (mlirad.grad(lambda x: np.sum(np.tanh(x))), (N,), False),
    "gradient of layer norm": (mlirad.grad(lambda x, g: np.sum(layer_norm(x, g) ** 2)), (M, (30,)), False),
}
NAMES = [
    pytest.param(name, marks=() if every_push else pytest.mark.full) for name, (_, _, every_push) in CORPUS.items()
]


@pytest.fixture
def small_chip(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a chip with one vector core."""
    chip = soc.for_soc("Ascend910B1")
    small = replace(chip, name="Small", vector_cores=1, ub_bytes=TILES)
    monkeypatch.setitem(soc._SOCS, "Small", small)
    return "Small"


def reason(name: str) -> str | None:
    """Why a mutant of that name is harmless, if it may be."""
    plain = re.sub(r"#\d+ ", "", name)
    return next((why for pattern, why in HARMLESS.items() if re.fullmatch(pattern, plain)), None)


@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_is_caught_or_harmless(name: str, small_chip: str) -> None:
    function, shapes, _ = CORPUS[name]
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    text = mlirad.jit(function, target="ascend", soc=small_chip).lower(*values).as_text("hivm-physical")
    program = SimulatedProgram(text, soc.for_soc(small_chip))
    (entry,) = [each for each in program.functions if each not in program.kernels]
    expected = program.run(entry, [each.copy() for each in values])
    for seed in range(5):
        assert same_bits(program.run(entry, [each.copy() for each in values], seed=seed), expected)
    seen, alive = 0, []
    for mutant in mutants(text):
        seen += 1
        if caught(mutant, values, expected, entry=entry) is None:
            alive.append(mutant)
    assert seen > 100
    assert not [mutant.name for mutant in alive if reason(mutant.name) is None]
    orders = ORDERS // len(program.kernels)  # each order is one of all of them
    assert all(survives(mutant, values, expected, orders, entry=entry) for mutant in alive)
