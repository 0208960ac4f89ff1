"""View or copy: writes through the results of NumPy's functions, for every layout, under jit and all transforms.

Either a write is visible in the argument and in the result exactly as in NumPy, or the program is refused.
"""

from __future__ import annotations

import linecache
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from view_or_copy import HOWS, Case, cases

import mlirad
from mlirad.errors import CompileError
from mlirad.requests.kinds_of_derivatives import Grad, Jvp, Vjp
from mlirad.testing.interpreted import Interpreted

SUMMARY = Path(__file__).parents[3] / "docs" / "verification" / "layouts.md"


def found_by(how: str, functions: dict[str, Any], array: np.ndarray) -> Any:
    match how:
        case "jit":
            return Interpreted(functions["f"])(array)
        case "grad":
            return Interpreted(Grad(functions["f"], 0, False, True))(array)[0]
        case "vjp":
            return Interpreted(Vjp(functions["f"]))(array)[0]
        case "jvp":
            return Interpreted(Jvp(functions["f"]))((array,), (np.ones(array.shape),))[0]
    return Interpreted(functions["within"])(array)


def verdict(case: Case, how: str, functions: dict[str, Any]) -> str:
    """`same`, `refused`, or the difference."""
    numpys, own = case.array(), case.array()
    try:
        wanted, error = functions["f"](numpys), None
    except Exception as raised:
        wanted, error = None, raised
    try:
        found = found_by(how, functions, own)
    except CompileError:
        return "refused"
    except Exception as raised:
        return "same" if isinstance(error, type(raised)) else f"{raised!r}, not {error or wanted!r}"
    if error is not None:
        return f"{found}, not {error!r}"
    if not np.allclose(found, wanted, rtol=1e-6):
        return f"{found}, not {wanted}"
    return "same" if np.allclose(own, numpys, rtol=1e-6) else f"{own} written, not {numpys}"


def judged(chosen: list[tuple[Case, str]], directory: Path) -> tuple[Counter[tuple[str, str]], list[str]]:
    told: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    for number, (case, how) in enumerate(chosen):
        found = verdict(case, how, case.functions(directory, number))
        kind = found if found in ("same", "refused") else "wrong"
        told[how, kind] += 1
        if kind == "wrong":
            wrong.append(f"{how}, {case}: {found}")
    return told, wrong


def sampled(count: int, seed: int) -> list[tuple[Case, str]]:
    rng = np.random.default_rng(seed)
    every = list(cases())
    return [(every[rng.integers(len(every))], HOWS[rng.integers(len(HOWS))]) for _ in range(count)]


def test_a_sample(tmp_path: Path) -> None:
    told, wrong = judged(sampled(250, 1), tmp_path)
    assert not wrong, "\n".join(wrong)
    assert sum(number for (_, kind), number in told.items() if kind == "same") > 120


@pytest.mark.parametrize("name", ["reshape", "squeeze", "transpose", "copy"])
def test_a_method_of_a_number_gives_a_number(name: str) -> None:
    """For a 0-d array it returns an array, which can be written."""

    def written(x):
        y = getattr(x, name)(*(((),) if name == "reshape" else ()))
        y[...] = 3.0
        return y

    for function in (written, lambda x: written(x * 1.0), lambda x: written(x.max())):
        for x in (np.array(2.0), np.float64(2.0)):
            outcomes = []
            for each in (function, mlirad.jit(function)):
                try:
                    outcomes.append(float(each(x.copy())))
                except (TypeError, mlirad.CompileError):
                    outcomes.append(None)
            assert outcomes[0] == outcomes[1]


@pytest.mark.full
def test_several_thousand(tmp_path: Path) -> None:
    told, wrong = judged(sampled(int(os.environ.get("MLIRAD_LAYOUTS", "6000")), 2), tmp_path)
    assert not wrong, "\n".join(wrong)
    for how in HOWS:
        print(how, *(f"{kind}: {told[how, kind]}" for kind in ("same", "refused")))


def test_the_summary_has_every_transform() -> None:
    assert all(f"| {how} |" in SUMMARY.read_text() for how in HOWS)


@pytest.mark.parametrize("operand", ["s", "x", "p"])
def test_a_function_of_a_number_gives_what_numpys_gives(operand: str) -> None:
    """np.reshape(s, ()) calls the method of s: for a NumPy number it returns a number, for an array of rank 0 an
    array."""
    calls = ("squeeze({})", "reshape({}, ())", "transpose({})", "real({})", "copy({})", "permute_dims({})", "ravel({})")
    for call in (*calls, "moveaxis({}, [], [])", "clip({}, 0, 1)", "expand_dims({}, 0)", "asarray({})"):
        namespace: dict[str, Any] = {"np": np}
        source = f"def f(s, x, p):\n    return np.{call.format(operand)}\n"
        name = f"<{call} of {operand}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
        want, got = (each(np.float64(0.5), np.array(0.5), 0.5) for each in (namespace["f"], mlirad.jit(namespace["f"])))
        assert type(want) is type(got) and repr(want) == repr(got), name
