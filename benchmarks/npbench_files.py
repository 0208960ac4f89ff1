"""Reads: a clone of NPBench. Writes: which of its kernels compile unchanged, values and gradients. Leaves: 0.

Each `*_numpy.py` of NPBench is imported from the clone and called in a compiled function, on the arrays that NPBench
itself makes, but of smaller sizes (SIZES; `--preset S` takes NPBench's sizes). The results, and the arrays that the
kernel changes, are compared with those of the plain call (to 1e-10 of the largest element, single precision to 1e-4).
The gradient, of a weighted sum of all of them by all floating and complex arguments, is compared with differences in
two directions, taken in 64 bits: to 2e-5, single precision to 1e-2 (batch normalisation enlarges its rounding).

    python benchmarks/npbench_files.py DIR [--only WORD] [--preset S] [--seconds 120] [--markdown]
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from other_peoples_code import copies, difference, leaves, reason, too_long

import mlirad
from mlirad.errors import CompileError

CAP = 24
"""The largest size of an array, and number of trips, of a kernel that SIZES has nothing for."""

SIZES: Mapping[str, Mapping[str, float]] = {
    "azimint_hist": {"N": 400, "npt": 10},
    "azimint_naive": {"N": 400, "npt": 10},
    "conv2d_bias": {"N": 2, "H": 12, "W": 12, "C_in": 3, "C_out": 4, "K": 3},
    "contour_integral": {"NR": 6, "NM": 9, "num_int_pts": 8},
    "lenet": {"N": 2, "H": 28, "W": 28},
    "resnet": {"N": 8, "W": 8, "H": 8, "C1": 8, "C2": 4},
    "spmv": {"M": 40, "N": 40, "nnz": 160},
    "stockham_fft": {"R": 2, "K": 6},
    "nbody": {"N": 8, "tEnd": 0.25},  # later its slopes are of size 1e7, because orbits diverge
}

JUMPS: Mapping[str, str] = {"azimint_hist": "radius", "azimint_naive": "radius"}
"""Arguments without a derivative to compare: at a bin's border the result jumps."""

STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Step sizes of the differences; kernels differ in curvature and in jumps, so the best agreement of two steps
counts."""


@dataclass(frozen=True)
class Verdict:
    name: str
    value: str
    gradient: str
    why: str = ""


@dataclass(frozen=True)
class Benchmark:
    """A kernel, its arguments, and which of these it changes."""

    name: str
    kernel: Callable[..., Any]
    args: tuple[Any, ...]
    changed: tuple[int, ...]
    wrt: tuple[int, ...]
    """The arguments to differentiate by."""


def benchmark(root: Path, name: str, preset: str | None) -> Benchmark:
    info = json.loads((root / "bench_info" / f"{name}.json").read_text())["benchmark"]
    home = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
    given = dict(info["parameters"][preset or "S"])
    if preset is None:
        own = SIZES.get(name, {})
        given = {k: own.get(k, min(v, CAP) if isinstance(v, int) else v) for k, v in given.items()}
    if "init" in info:
        made = getattr(importlib.import_module(home), info["init"]["func_name"])(
            *(given[each] for each in info["init"]["input_args"])
        )
        outputs = info["init"]["output_args"]
        given.update(zip(outputs, made if len(outputs) > 1 else (made,), strict=True))
    args = tuple(given[each] for each in info["input_args"])
    kernel = getattr(importlib.import_module(f"{home}_numpy"), info["func_name"])
    arrays = tuple(i for i, x in enumerate(args) if isinstance(x, np.ndarray))
    trial = copies(args)
    kernel(*trial)
    names = info["input_args"]
    changed = tuple(i for i in arrays if names[i] in info["output_args"] or not np.array_equal(trial[i], args[i]))
    wrt = tuple(i for i, x in enumerate(args) if np.asarray(x).dtype.kind in "fc" and names[i] != JUMPS.get(name))
    return Benchmark(name, kernel, args, changed, wrt)


def outcome(results: Any, args: Sequence[Any], changed: Sequence[int]) -> list[np.ndarray]:
    """The results of a call, and its changed arguments."""
    return [*([] if results is None else leaves(results)), *(np.asarray(args[i]) for i in changed)]


def judged(case: Benchmark) -> Verdict:
    mine, theirs = copies(case.args), copies(case.args)
    expected = outcome(case.kernel(*theirs), theirs, case.changed)
    try:
        got = outcome(mlirad.jit(case.kernel)(*mine), mine, case.changed)
    except CompileError as error:
        return Verdict(case.name, "refused", "", reason(error))
    if not _agree(expected, got):
        return Verdict(case.name, "wrong", "", f"{got} instead of {expected}"[:300])
    if not case.wrt or not any(x.dtype.kind in "fc" for x in expected):
        return Verdict(case.name, "right", "none: no floating argument or result")
    try:
        return Verdict(case.name, "right", *_gradient(case, expected))
    except CompileError as error:
        return Verdict(case.name, "right", "refused", reason(error))


def _gradient(case: Benchmark, expected: Sequence[np.ndarray]) -> tuple[str, str]:
    random = np.random.default_rng(1)
    exact = [x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x for x in case.args]
    weights = [random.normal(size=x.shape) for x in expected if x.dtype.kind in "fc"]
    places = [i for i, x in enumerate(expected) if x.dtype.kind in "fc"]
    kernel, changed, count = case.kernel, case.changed, len(expected) - len(case.changed)

    def weighted(*args: Any) -> Any:
        own = tuple([x.copy() if isinstance(x, np.ndarray) else x for x in args])
        results = kernel(*own)
        given = () if count == 0 else results if isinstance(results, tuple | list) else (results,)
        every = (*given, *[own[i] for i in changed])
        total = 0.0
        for weight, place in zip(weights, places, strict=True):
            part = every[place]
            total = total + np.sum(weight * (np.real(part) + np.imag(part)))
        return total

    gradient = mlirad.grad(weighted, argnums=case.wrt)(*copies(exact))
    for _ in range(2):
        direction = {i: _direction(random, exact[i]) for i in case.wrt}
        slope = sum(float(np.sum(g * direction[i]).real) for i, g in zip(case.wrt, gradient, strict=True))
        with _in_64_bits(kernel):
            differences = [difference(weighted, exact, direction, step) for step in STEPS]
        closest = min(pairwise(d for d in differences if np.isfinite(d)), key=lambda pair: abs(pair[0] - pair[1]))[1]
        if not np.isclose(slope, closest, rtol=1e-2 if _is_single(expected) else 2e-5, atol=1e-7):
            return "wrong", f"{slope} instead of {closest}"
    return "right", ""


def _agree(expected: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> bool:
    """Whether results are equal up to rounding, relative to their largest elements."""
    bound = 1e-4 if _is_single(expected) else 1e-10
    return len(expected) == len(got) and all(
        a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=0, atol=bound * _size(a), equal_nan=True)
        for a, b in zip(expected, got, strict=True)
    )


def _size(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0, where=np.isfinite(array)))


@contextmanager
def _in_64_bits(kernel: Callable[..., Any]) -> Iterator[None]:
    """Let a kernel that creates single-precision arrays create double-precision ones."""
    names = kernel.__globals__
    names["np"] = SimpleNamespace(**vars(np) | {"float32": np.float64})
    try:
        yield
    finally:
        names["np"] = np


def _is_single(results: Sequence[np.ndarray]) -> bool:
    return any(x.dtype in (np.float32, np.complex64) for x in results)


def _direction(random: np.random.Generator, value: Any) -> Any:
    size = np.mean(np.abs(value)) or 1.0
    drawn = random.normal(size=np.shape(value)) * size
    return drawn + 1j * random.normal(size=np.shape(value)) * size if np.iscomplexobj(value) else drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, help="a clone of github.com/spcl/npbench")
    parser.add_argument("--only", default="", help="judge kernels whose names have this in them")
    parser.add_argument("--preset", help="NPBench's sizes: S, M, L or paper")
    parser.add_argument("--seconds", type=int, default=120, help="for each kernel")
    parser.add_argument("--markdown", action="store_true", help="write the table of the docs")
    options = parser.parse_args()
    sys.path.insert(0, str(options.clone))
    signal.signal(signal.SIGALRM, too_long)
    verdicts = []
    for path in sorted((options.clone / "bench_info").glob("*.json")):
        if options.only not in path.stem:
            continue
        began = time.perf_counter()
        verdicts.append(_within(options.seconds, lambda name=path.stem: _of(options.clone, name, options.preset)))
        print(f"{verdicts[-1]} [{time.perf_counter() - began:.1f} s]", file=sys.stderr, flush=True)
    print("\n".join(markdown(verdicts) if options.markdown else [summary(verdicts)]))


def _of(root: Path, name: str, preset: str | None) -> Verdict:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return judged(benchmark(root, name, preset))
        except Exception as error:  # noqa: BLE001  a report: what is no refusal is an error of the compiler, counted so
            return Verdict(name, "error", "", f"{type(error).__name__}: {error}"[:300])


def _within(seconds: int, judge: Callable[[], Verdict]) -> Verdict:
    signal.alarm(seconds)
    try:
        return judge()
    finally:
        signal.alarm(0)


def summary(verdicts: Sequence[Verdict]) -> str:
    values = sum(v.value == "right" for v in verdicts)
    differentiable = [v for v in verdicts if not v.gradient.startswith("none")]
    gradients = sum(v.gradient == "right" for v in differentiable)
    return f"{values} of {len(verdicts)} values, {gradients} of {len(differentiable)} gradients"


def markdown(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [summary(verdicts) + ".", "", "| kernel | value | gradient | why |", "|---|---|---|---|"]
    return rows + [f"| {v.name} | {v.value} | {v.gradient} | {v.why.replace('|', '/')} |" for v in verdicts]


if __name__ == "__main__":
    main()
