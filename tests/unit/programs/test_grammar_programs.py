"""Programs drawn from Python's grammar and NumPy's signatures: none is wrong, and the judge would see one that is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mlirad.dialect.ops.arithmetic import SubOp
from mlirad.testing.grammar.campaign import campaign, judged
from mlirad.testing.grammar.generate import RUNS, Program, TooLong, generate, run
from mlirad.testing.grammar.joins import is_joined, joined_names, returned_names
from mlirad.testing.grammar.judge import difference

# `make grammar` runs thousands. docs/verification/random-programs.md has what they found.
FIRSTS, COUNT = (range(0, 500, 50), 50) if os.environ.get("MLIRAD_FULL") else (range(1), 10)


# NumPy writes back what it copied as it frees an array, while the program's own exception is set, and tells Python so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_seed_is_a_program_that_runs() -> None:
    for seed in range(8):
        program = generate(seed)
        assert program.source == generate(seed).source
        for number in range(RUNS):
            run(program.source, program.arguments(number))


@pytest.mark.parametrize("first", FIRSTS)
def test_no_program_is_wrong(first: int) -> None:
    summary = campaign(first, COUNT)
    assert not summary.failures, summary.text()
    assert sum(summary.programs.values()) == COUNT and summary.programs["same"]


SOURCE = "import numpy as np\n\ndef f(x):\n    y = x - 2\n    return y, np.sum(y)\n"


def test_the_judge_sees_a_wrong_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(1, SOURCE, {"x": "f8 5"})
    assert {verdict.kind for verdict in judged(program, tmp_path)} == {"same"}
    right = SubOp.scalar
    monkeypatch.setattr(SubOp, "scalar", lambda self, x, y: right(self, y, x))
    assert {verdict.kind for verdict in judged(program, tmp_path)} == {"wrong"}


def test_the_judge_sees_a_wrong_derivative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(1, SOURCE.replace("x - 2", "x - x * x"), {"x": "f8 5"})
    assert [verdict.kind for verdict in judged(program, tmp_path)] == ["same"] * (RUNS + 1)
    monkeypatch.setattr(SubOp, "vjp", lambda self, g, out, x, y: (g, g))
    assert [verdict.kind for verdict in judged(program, tmp_path)] == ["same"] * RUNS + ["wrong"]


@pytest.mark.parametrize(
    ("want", "got"),
    [
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(3), np.zeros((3, 1))),
        (np.float64(1), 1),
        (np.uint8(3), 3),
        ((1, 2.0), [1, 2.0]),
        ({"a": 1}, {"b": 1}),
        (None, 0),
        (1.0, 1.001),
        ([1, (2.0, np.ones(2))], [1, (2.0, np.array([1.0, 2.0]))]),
    ],
)
def test_what_differs(want: object, got: object) -> None:
    assert difference(want, got)
    assert not difference(want, want) and not difference(got, got)


JOINS = """
def f(x, n, m):
    a = n + 1
    while m > 3:
        m /= 2
    if (k := x[0]) > 0:
        b = 1
    c = m * 2
    d = c
    return x, n, m, a, b, c, d, k,
"""


def test_which_names_hold_what_joins() -> None:
    assert joined_names(JOINS) == {"m", "b", "c", "d", "k"}
    assert returned_names(JOINS) == ["x", "n", "m", "a", "b", "c", "d", "k"]


@pytest.mark.parametrize(
    ("want", "got", "expected"),
    [
        (2, 2.0, True),
        (True, 1, True),
        (2, np.float64(2), True),
        (2.0, np.float64(2), True),
        ([2, (True, np.array([1, 2]))], [2.0, (1, np.array([1.0, 2.0]))], True),
        (2, 3.0, False),
        (2.0, 2, False),
        (1, True, False),
        (np.float64(2), 2.0, True),
        (np.float32(2), np.float64(2), False),
        (np.array([1, 2]), np.array([1, 3.0]), False),
        (np.array([1, 2]), np.array([[1, 2.0]]), False),
        (2, np.array(2.0), False),
        ([2], (2.0,), False),
        (None, 0.0, False),
    ],
)
def test_what_a_join_may_change(want: object, got: object, expected: bool) -> None:
    assert is_joined(want, got) == expected


@pytest.mark.parametrize("line", ["x = (x, x)", "x = np.repeat(x, 2)"])
def test_nothing_grows_without_end(line: str) -> None:
    with pytest.raises(TooLong):
        run(f"def f(x):\n    for _ in range(30):\n        {line}", [1.0])
