"""A rank, axis or shape that NumPy refuses is refused or raised here too; everything else has NumPy's value."""

from __future__ import annotations

import linecache
import math
import os
from collections import Counter
from typing import Any

import numpy as np
import other_numpys
import pytest
from run_frontend import is_same

from mlirad import stages
from mlirad.errors import CompileError
from mlirad.testing.calls.judge_calls import public_class
from mlirad.testing.calls.ranks_and_axes import Case, bodies, sampled
from mlirad.testing.interpreted import Interpreted

BODIES = {name: made for name, made in bodies().items() if name not in other_numpys.CHANGED}
COUNT = int(os.environ.get("MLIRAD_RANKS", "300"))


def function(case: Case) -> Any:
    source, name = f"def f(x, y, i):\n    {case.body}\n", f"<{case.body}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def outcome(called: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return called(*arguments)
    except Exception as error:  # NumPy's exception is compared
        return error


def verdict(case: Case) -> str:
    """`same`, `raised`, `refused`, or what is wrong."""
    plain = function(case)
    numpys, own = case.arguments(), case.arguments()
    with np.errstate(all="ignore"):
        want = outcome(plain, numpys)
    got = outcome(Interpreted(plain, stages.TENSOR), own)
    if other_numpys.has_changed(got, want):
        return "raised"
    if isinstance(want, Exception):
        is_right = isinstance(got, (CompileError, public_class(want)))
        return "raised" if is_right else f"{got!r}, not {want!r}"
    if isinstance(got, CompileError):
        return "refused"
    is_right = not isinstance(got, Exception) and is_same(want, got) and is_same(numpys, own)
    return "same" if is_right else f"{got!r}, not {want!r}"


def judged(cases: list[Case]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases:
        found = verdict(case)
        counts[found if found in ("same", "raised", "refused") else "wrong"] += 1
        if found not in ("same", "raised", "refused"):
            wrong.append(f"{case}: {found}")
    return counts, wrong


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_calls() -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for number, name in enumerate(BODIES):
        told, found = judged(sampled(BODIES[name], 5, number))
        counts += told
        wrong += found
    assert not wrong, "\n".join(wrong)
    assert counts["same"] > 300 and counts["raised"] > 250, counts


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BODIES)
def test_calls(name: str) -> None:
    counts, wrong = judged(sampled(BODIES[name], COUNT, 0))
    assert not wrong, "\n".join(wrong)
    assert counts["same"] > counts["refused"] or counts["raised"], counts


FOUND = (
    *(
        ("np.diag(x)", (2, 3, 4)),
        ("np.diag(x)", ()),
        ("np.diag(x, k=np.int64(1))", (3, 3)),
        ("np.sum(x, [0, 1])", (2, 3)),
    ),
    *(("np.argmax(x, (0,))", (2, 3)), ("np.repeat(x, 2, (0,))", (2, 3)), ("np.take(x, 0, -5)", "Python's")),
    *(("np.size(x, 3)", (3,)), ("np.size(x, (0, 1))", (2, 3)), ("np.tensordot(x, x, ([0, 0], [0, 1]))", (3, 3))),
    *(("np.clip(x, a_min=0.0)", (3,)), ("x.clip(a_min=0.0, a_max=1.0)", (3,)), ("np.diff(x, 0)", ())),
    *(("np.roll(x, (1, 2), ())", (3, 3)), ("np.stack(x)", (0, 3)), ("np.eye(True)", ()), ("np.flip(x)", ())),
    *(("np.tile(x, ())", ()), ("np.take_along_axis(x, [0], 0)", (3,)), ("x.item(4)", (2, 3)), ("x.item(0)", ())),
    *(
        ("np.sum(x, axis=0, out=x)", (3, 1, 3)),
        ("np.inner(a=x, b=x)", (3,)),
        ("np.copy(a=x)", (3,)),
        ("x.reshape()", (1,)),
    ),
    *(("np.sum(x, axis=True)", (2, 3)), ("np.any(x, axis=-1)", "NumPy's"), ("np.einsum('->', x)", ())),
)
"""Calls that once gave wrong results, with the shape of x."""


@pytest.mark.parametrize(("call", "shape"), FOUND)
def test_what_was_found(call: str, shape: tuple[int, ...] | str) -> None:
    assert verdict(Case(f"return {call}", shape, shape)) in ("same", "raised")
