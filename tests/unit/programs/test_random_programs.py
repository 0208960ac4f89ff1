"""A short campaign of random programs, with fixed seeds; that the judge notices bugs; that seeds say everything.

Reads: random programs. Writes: nothing. Leaves: `make fuzz` runs the long campaign.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

from mlirad.dialect.elementwise import MulOp, SubOp
from mlirad.dialect.indexing import InsertOp, InsertSliceOp
from mlirad.testing.interpreter import Interpreter
from mlirad.testing.programs import campaign, oracle
from mlirad.testing.programs.campaign import Key, judged, run
from mlirad.testing.programs.generate import BIASES, generate

# Of each bias.
INTERPRETED, NATIVE = 12, 4


def keys(first: int, count: int) -> list[Key]:
    return [(bias, seed) for seed in range(first, first + count) for bias in BIASES]


def test_interpreted_programs_are_what_numpy_does(tmp_path: Path) -> None:
    summary = run(keys(100_000, INTERPRETED), "optimized", tmp_path / "log")
    assert not summary.failures, summary.text()
    assert summary.programs == 2 * INTERPRETED
    assert summary.verdicts["same", "gradient"] > INTERPRETED
    assert summary.verdicts["same", "duality"] > INTERPRETED


def test_native_programs_are_what_numpy_does() -> None:
    summary = run(keys(200_000, NATIVE), "native")
    assert not summary.failures, summary.text()
    assert summary.verdicts["same", "gradient"] > NATIVE


def test_a_campaign_is_resumed_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run(keys(300_000, 1), "tensor", log, derivatives=False)
    again = run(keys(300_000, 1), "tensor", log, derivatives=False)
    assert len(log.read_text().splitlines()) == 1 + 2
    assert first.text() == again.text()


def test_a_seed_says_everything() -> None:
    for bias in BIASES:
        one, other = generate(7, bias), generate(7, bias)
        assert one == other
        for x, y in zip(one.arguments(1), other.arguments(1), strict=True):
            np.testing.assert_array_equal(x, y)
    assert generate(7, "mixed").source != generate(8, "mixed").source


def test_programs_run_in_numpy_and_have_what_they_are_for() -> None:
    kinds: set[str] = set()
    raised = 0
    for key in keys(0, 150):
        program = generate(key[1], key[0])
        kinds |= {type(node).__name__ for node in ast.walk(ast.parse(program.source))}
        result = oracle.call(oracle.oracle_of(program)["f"], program.arguments(0))
        raised += isinstance(result, Exception)
    assert raised < 15
    assert {"For", "While", "If", "IfExp", "AugAssign", "Break", "Nonlocal", "Tuple", "Slice", "Return"} <= kinds


# Bugs: each makes the compiler wrong in silence.


def _drop_second(old: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (*old(*args)[:1], None, *old(*args)[2:])


def _same_sign(old: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, g, out, *operands: (g, g)


def _not_cleared(old: Callable[..., Any]) -> Callable[..., Any]:
    def vjp(self: Any, g: Any, out: Any, *operands: Any) -> Any:
        return old(self, g, out, *operands)[0], g, *(None for _ in operands[2:])

    return vjp


def _one_trip_less(old: Callable[..., Any]) -> Callable[..., Any]:
    def run_for(self: Interpreter, op: scf.ForOp, operands: Any, environment: Any) -> Any:
        return old(self, op, (operands[0], max(operands[1] - (operands[1] > 2), 0), *operands[2:]), environment)

    return run_for


BUGS: dict[str, tuple[Any, str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "a product's second cotangent is lost": (MulOp, "vjp", _drop_second),
    "a difference's cotangents have one sign": (SubOp, "vjp", _same_sign),
    "the cotangent of an overwritten element stays": (InsertOp, "vjp", _not_cleared),
    "the cotangent of an overwritten slice stays": (InsertSliceOp, "vjp", _not_cleared),
    "a loop of three trips has two": (Interpreter, "_for", _one_trip_less),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_noticed(bug: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    owner, name, broken = BUGS[bug]
    monkeypatch.setattr(owner, name, broken(getattr(owner, name)))
    programs = (generate(seed, bias) for bias, seed in keys(400_000, 60))
    assert any(verdict.kind == "wrong" for each in programs for verdict in judged(each, "autodiff", tmp_path))


def test_a_process_that_dies_is_a_failure_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_work", sys.exit)  # which takes no such arguments
    summary = run(keys(500_000, 1), "tensor", derivatives=False)
    assert [why for _, why in summary.failures] == ["process: crashes the process (1)"] * 2
