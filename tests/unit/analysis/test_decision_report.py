"""`f.lower(*args).report()`: each decision at its line, as data and as text."""

from __future__ import annotations

import inspect

import numpy as np

import mlirad
from mlirad.analysis.decision_report import Kind, Report


def swept(x, y):
    s = x[0] * 0
    z = y.copy()
    for i in range(x.shape[0]):
        s = s + np.sin(x[i]) * s
        z[i] = s * z[i]
    return (np.exp(z) * y).sum()


def line_of(function: object, text: str) -> int:
    lines, first = inspect.getsourcelines(function)  # pyright: ignore[reportArgumentType]  # it is a function
    (found,) = [first + number for number, line in enumerate(lines) if text in line]
    return found


def lines_of(report: Report, kind: Kind) -> list[int]:
    return [fact.location.lineno for fact in report.of(kind) if fact.location is not None]


def test_what_a_reverse_sweep_stores_and_copies() -> None:
    loop = line_of(swept, "for i in")
    report = mlirad.grad(swept).lower(np.ones(9), np.ones(9)).report()
    assert lines_of(report, Kind.STORED) == [loop] and "24 bytes" in report.of(Kind.STORED)[0].subject
    assert loop in lines_of(report, Kind.RECOMPUTED) and loop in lines_of(report, Kind.COPIED)
    assert line_of(swept, "np.exp") in lines_of(report, Kind.VECTORISED)
    text = str(report).splitlines()
    assert text[0] == f"{__file__}:{loop}: for i in range(x.shape[0]):"
    assert all(" because " in line for line in text if line.startswith("  "))
    forward = mlirad.jit(swept).lower(np.ones(9), np.ones(9)).report()
    assert not forward.of(Kind.STORED) and not forward.of(Kind.RECOMPUTED)


def unlike(x, n):
    s = 0.0
    for part in (x, x[:2]):
        s = s + part.sum()
    return s * np.zeros(n).sum()


def kept(x):
    for i in mlirad.checkpointed(range(9), "sqrt"):
        x = np.sin(x) * x[i]
    return x.sum()


def test_what_is_unrolled_specialised_and_checkpointed() -> None:
    report = mlirad.jit(unlike).lower(np.ones(3), 4).report()
    (unrolled,) = report.of(Kind.UNROLLED)
    assert unrolled.location is not None and unrolled.location.lineno == line_of(unlike, "for part in")
    assert unrolled.reason in str(report)
    (known,) = report.of(Kind.SPECIALISED)
    assert known.location is None and known.subject.startswith("argument 1 is 4")
    report = mlirad.grad(kept).lower(np.ones(9)).report()
    assert lines_of(report, Kind.CHECKPOINTED) == [line_of(kept, "for i in")]


def rooted(x, n):
    y = np.zeros(x.shape[0])
    for i in range(n):
        y[i] = np.sqrt(x[i])
    for i in range(1, 30):
        y[i] = np.sqrt(y[i - 1])
    return y.sum()


def test_which_loops_are_raised_and_why_others_stay() -> None:
    report = mlirad.grad(rooted).lower(np.ones(30), 3).report()
    assert lines_of(report, Kind.RAISED) == [line_of(rooted, "range(n)")]
    (kept,) = report.of(Kind.KEPT)
    assert kept.location is not None and kept.location.lineno == line_of(rooted, "range(1, 30)")
    assert "a trip may need what another trip writes" in str(kept)
