"""A short campaign of random programs, with fixed seeds; what programs are about; that seeds say everything.

Reads: random programs. Writes: nothing. Leaves: `make fuzz` runs the long campaign.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from mlirad.testing.programs import campaign, oracle
from mlirad.testing.programs.campaign import Key, run
from mlirad.testing.programs.features import features_of
from mlirad.testing.programs.generate import BIASES, generate
from mlirad.testing.programs.judge import Natively, judge
from mlirad.testing.programs.kinds import Array, Float, Int
from mlirad.testing.programs.program import Program, loss_of, outs_of

# For each bias.
INTERPRETED, NATIVE = 6, 2


def keys(first: int, count: int) -> list[Key]:
    return [(bias, seed) for seed in range(first, first + count) for bias in BIASES]


def test_interpreted_programs_are_what_numpy_does(tmp_path: Path) -> None:
    summary = run(keys(100_000, INTERPRETED), "optimized", tmp_path / "log")
    assert not summary.failures, summary.text()
    assert summary.programs == len(BIASES) * INTERPRETED
    assert summary.verdicts["same", "gradient"] > 2 * INTERPRETED
    assert summary.verdicts["same", "duality"] > 2 * INTERPRETED


def test_native_programs_are_what_numpy_does() -> None:
    summary = run(keys(200_000, NATIVE), "native")
    assert not summary.failures, summary.text()
    assert summary.verdicts["same", "gradient"] > 2 * NATIVE


RAISES = """\
import numpy as np
import mlirad

def f(x, a, n):
    s = a * 0.5
    try:
        s = (4 // (n - 1)) * x[1]
    except ZeroDivisionError:
        x[0] *= 0.5 * a
    return (s,)
"""


def test_a_program_is_judged_by_the_kinds_of_numbers_that_it_is_compiled_for(tmp_path: Path) -> None:
    """Differences at an int of NumPy would take the other path: it divides by zero without an error."""
    parameters = {"x": Array((5,)), "a": Float(), "n": Int(1, 1)}
    parts = RAISES, loss_of(parameters, [Float()]), outs_of(parameters, [Float()])
    verdicts = judge(Program(0, "beside", "\n\n\n".join(parts), parameters), Natively(), tmp_path)
    assert {each.kind for each in verdicts} == {"same"}, verdicts
    assert "gradient" in {each.about for each in verdicts}


def test_a_campaign_is_resumed_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = run(keys(300_000, 1), "tensor", log, derivatives=False)
    again = run(keys(300_000, 1), "tensor", log, derivatives=False)
    assert len(log.read_text().splitlines()) == 1 + len(BIASES)
    assert first.text() == again.text()


def test_a_seed_says_everything() -> None:
    for bias in BIASES:
        one, other = generate(7, bias), generate(7, bias)
        assert one == other
        for x, y in zip(one.arguments(1), other.arguments(1), strict=True):
            assert oracle.is_same(x, y)
    assert generate(7, "mixed").source != generate(8, "mixed").source


def test_programs_run_in_numpy_and_have_what_they_are_for() -> None:
    kinds: set[str] = set()
    raised = 0
    for key in keys(0, 80):
        program = generate(key[1], key[0])
        kinds |= {type(node).__name__ for node in ast.walk(ast.parse(program.source))}
        result = oracle.call(oracle.oracle_of(program)["f"], program.arguments(0))
        raised += isinstance(result, Exception)
    assert raised < 20
    assert {"For", "While", "If", "IfExp", "AugAssign", "Break", "Nonlocal", "Tuple", "Slice", "Return"} <= kinds


def test_the_features_that_programs_are_about_occur() -> None:
    found: set[str] = set()
    for bias, seed in keys(0, 200):
        found |= features_of(generate(seed, bias).source)
    wanted = "while, break, continue, loop else, early return, zip, enumerate, reversed, negative step, traced bounds"
    wanted += ", chained comparison, short circuit, conditional expression, reference by branch, rotation, swap, view"
    wanted += ", view of a view, moving view, traced length, mask, index array, accumulation at indices, reshape"
    wanted += ", overlapping write, strided write, helper writes, closure, nonlocal, callback, recursion, tuple, list"
    wanted += ", dict, dataclass, bound on some paths, int of NumPy, float32, array of ints, rows, checkpointed"
    wanted += ", narrow dtype, number of NumPy, cast, captured start, composed closures, appended list, hidden state"
    wanted += ", draw, complex number, part of a complex number, try, heap, reversed copy"
    wanted += ", list written where the run says"
    assert found >= set(wanted.split(", "))


def test_the_traits_that_programs_are_about_occur() -> None:
    traits = set().union(*(generate(seed, bias).traits for bias, seed in keys(0, 60)))
    assert traits == {"strided arguments", "aliased arguments", "replaced code", "changed globals"}


def test_features_are_read_off_the_text() -> None:
    text = "def f(x, n):\n    while n:\n        v = x[1:][::-1]\n        v[:n] += x[:n]\n        break\n"
    assert features_of(text) == {
        *("while", "view", "view of a view", "view made in a loop", "traced length", "slice write"),
        *("update in place", "break"),
    }


def test_a_log_of_another_generator_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('{"generator": "0123456789abcdef"}\n')
    with pytest.raises(ValueError, match="another version of the generator"):
        run(keys(0, 1), "tensor", tmp_path / "log")


def test_a_process_that_dies_is_a_failure_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_work", sys.exit)  # which takes no such arguments
    summary = run(keys(500_000, 1), "tensor", derivatives=False)
    assert [why for _, why in summary.failures] == ["process: crashes the process (1)"] * len(BIASES)
