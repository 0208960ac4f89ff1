"""Reads: nothing. Writes: which public functions of other packages compile unchanged, and why others do not. Leaves: 0.

Each function of `other_peoples_functions.py` is imported from its package and called in a compiled function. Its values
are compared with those of the plain call, and its derivatives, in reverse mode, with differences in two directions. A
function counts if both agree.

    python benchmarks/other_peoples_code.py [--only WORD] [--seconds 60] [--markdown]
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from other_peoples_functions import CASES, Case

import mlirad
from mlirad.errors import CompileError

RIGHT = "value and derivative"
VALUE_ONLY = "value"  # for functions that return no floats


@dataclass(frozen=True)
class Verdict:
    case: Case
    what: str
    why: str = ""
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.what in (RIGHT, VALUE_ONLY)


def function_of(name: str) -> Callable[..., Any]:
    """The object of a dotted name."""
    home, _, short = name.rpartition(".")
    return getattr(importlib.import_module(home), short)


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in leaves(each)]
    return [np.asarray(value)]


def is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def judged(case: Case) -> Verdict:
    """The outcome for one function."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _judged(case, began)
    except CompileError as error:
        return Verdict(case, "refused", reason(error), time.perf_counter() - began)
    except Exception as error:  # noqa: BLE001  a report: other exceptions than refusals count as errors of the compiler
        return Verdict(case, "error", f"{type(error).__name__}: {error}"[:300], time.perf_counter() - began)


def _judged(case: Case, began: float) -> Verdict:
    function, keywords = function_of(case.name), case.keywords

    def call(*args: Any) -> Any:
        return function(*args, **keywords)

    expected, got = leaves(call(*case.args)), leaves(mlirad.jit(call)(*copies(case.args)))
    if not _are_close(expected, got, 1e-10):
        return Verdict(case, "wrong value", f"{got} instead of {expected}"[:300])
    wrt = tuple(i for i, x in enumerate(case.args) if is_float(x))
    if not case.is_differentiable or not wrt or not any(x.dtype.kind == "f" for x in expected):
        return Verdict(case, VALUE_ONLY, seconds=time.perf_counter() - began)
    random = np.random.default_rng(1)
    weights = [random.normal(size=x.shape) for x in expected]

    def weighted(*args: Any) -> Any:
        results = call(*args)
        if isinstance(results, tuple | list):
            return sum(np.sum(w * r) for w, r in zip(weights, results, strict=True))
        return np.sum(weights[0] * results)

    gradient = mlirad.grad(weighted, argnums=wrt)(*copies(case.args))
    for _ in range(2):
        direction = {i: random.normal(size=np.shape(case.args[i])) * np.mean(np.abs(case.args[i])) for i in wrt}
        slope = sum(np.sum(g * direction[i]) for i, g in zip(wrt, gradient, strict=True))
        expected_slope = difference(weighted, case.args, direction)
        if not np.isclose(slope, expected_slope, rtol=2e-5, atol=1e-7):
            return Verdict(case, "wrong derivative", f"{slope} instead of {expected_slope}")
    return Verdict(case, RIGHT, seconds=time.perf_counter() - began)


def copies(args: Sequence[Any]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def _are_close(expected: Sequence[np.ndarray], got: Sequence[np.ndarray], relative: float) -> bool:
    return len(expected) == len(got) and all(
        a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=relative, atol=1e-12, equal_nan=True)
        for a, b in zip(expected, got, strict=True)
    )


def difference(
    function: Callable[..., Any], args: Sequence[Any], direction: Mapping[int, Any], h: float = 3e-4
) -> float:
    """The central difference in a direction, of fourth order and with step h; nan if a matrix cannot be factorised."""

    def at(step: float) -> Any:
        moved = [x + step * direction[i] if i in direction else x for i, x in enumerate(args)]
        exact = [x if isinstance(old, np.ndarray) else type(old)(x) for x, old in zip(moved, args, strict=True)]
        return function(*exact)

    try:
        return float((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h))
    except np.linalg.LinAlgError:
        return float("nan")


def reason(error: CompileError) -> str:
    """Why a function is refused: for library code, the unsupported part of it."""
    hint = error.hint or ""
    marker = "its code uses what is not compiled: "
    return hint.partition(marker)[2].rstrip(")") if marker in hint else error.message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="judge functions whose names have this in them")
    parser.add_argument("--seconds", type=int, default=60, help="for each function")
    parser.add_argument("--markdown", action="store_true", help="write the table of the docs")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, too_long)
    verdicts = []
    for case in CASES:
        if options.only not in case.name:
            continue
        signal.alarm(options.seconds)
        verdict = judged(case)
        signal.alarm(0)
        verdicts.append(verdict)
        print(f"{case.name}: {verdict.what} {verdict.why} [{verdict.seconds:.1f} s]", file=sys.stderr, flush=True)
    print("\n".join(markdown(verdicts) if options.markdown else [summary(verdicts)]))


def too_long(_number: int, _frame: object) -> None:
    raise TimeoutError("it takes too long")


def summary(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(v.is_right for v in verdicts)} of {len(verdicts)}"


def markdown(verdicts: Sequence[Verdict]) -> list[str]:
    rows = ["| package | functions | compiled as they stand |", "|---|---:|---:|"]
    for package in dict.fromkeys(v.case.package for v in verdicts):
        own = [v for v in verdicts if v.case.package == package]
        rows.append(f"| {package} | {len(own)} | {sum(v.is_right for v in own)} |")
    rows += ["", "| function | verdict | why |", "|---|---|---|"]
    rows += [f"| {v.case.name} | {v.what} | {v.why.replace('|', '/')} |" for v in verdicts]
    rows += ["", "| reason | functions |", "|---|---:|"]
    for why, number in Counter(v.why for v in verdicts if not v.is_right).most_common():
        rows.append(f"| {why.replace('|', '/')} | {number} |")
    return rows


if __name__ == "__main__":
    main()
