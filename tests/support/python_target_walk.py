"""Compares target `python` with the native one: random programs and their gradients, the loop programs, the examples.

`python tests/support/python_target_walk.py --first SEED --count SEEDS --page FILE` writes the summary. All that is
printed has to pass ruff. Programs are judged in processes of their own, twenty at a time; a log resumes a campaign.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.errors import CompileError
from mlirad.jit import debug_modes
from mlirad.jit.kernel import kernel_for
from mlirad.targets.python.artifact import PythonArtifact
from mlirad.targets.python.printed_program import Program
from mlirad.testing.programs.campaign import generation
from mlirad.testing.programs.generate import BIASES, generate
from mlirad.testing.programs.oracle import call, namespace_of
from mlirad.testing.programs.two_targets import are_alike, difference

ROOT = Path(__file__).resolve().parents[2]
TARGET = "python"
CHUNK = 20
CALLS = 2
"""Of each program, with other arguments."""
LONGEST = 900
"""Seconds for a chunk, and for an example."""
EXAMPLE_CALLS = 2
"""Calls of each kernel of an example that are compared: CPython takes a thousand times as long."""


@dataclass
class Printed:
    """Collects what the target prints, for ruff."""

    directory: Path
    count: int = 0

    def __enter__(self) -> Printed:
        self._before, printed = PythonArtifact.__init__, self

        def collected(self: PythonArtifact, program: Program) -> None:
            printed._before(self, program)
            printed.count += 1
            (printed.directory / f"p{printed.count}.py").write_text(program.text)

        PythonArtifact.__init__ = collected
        return self

    def __exit__(self, *_: object) -> None:
        PythonArtifact.__init__ = self._before

    def complaints(self) -> str:
        """The findings of ruff's default rules."""
        done = self._ruff("check")
        return done.stdout + done.stderr if done.returncode else ""

    def otherwise(self) -> int:
        """How many programs ruff would lay out in another way."""
        return self._ruff("format", "--check").stdout.count("Would reformat")

    def _ruff(self, *command: str) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "."]
        return subprocess.run(whole, capture_output=True, text=True, check=False, cwd=self.directory)


# --- judged in a separate process -----------------------------------------------------------------------------------


def random_programs(directory: Path, keys: Sequence[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    for bias, seed in keys:
        program = generate(seed, bias)
        ours = namespace_of(program, directory)
        floats = tuple(k for k, name in enumerate(program.parameters) if name in program.floats)
        pairs: dict[str, tuple[Any, Any]] = {"value": (ours["f"], ours["f"])}
        if floats:
            gradient = mlirad.value_and_grad(ours["loss"], argnums=floats)
            pairs["gradient"] = gradient, gradient
        for about, (one, other) in pairs.items():
            native, printed = mlirad.jit(one), mlirad.jit(other, target=TARGET)
            found: dict[str, Any] = {"key": [bias, seed], "about": about, "kind": "same"}
            try:
                why = difference(program, native, printed, CALLS)
                if why is not None:
                    found |= {"kind": "wrong", "why": why[:500]}
                elif isinstance(call(native, program.arguments(0, generic=True)), CompileError):
                    found["kind"] = "refused"
            except Exception as error:
                found |= {"kind": "wrong", "why": f"{type(error).__name__}: {error}"[:500]}
            yield found


def loop_programs() -> Iterator[dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    for path in sorted((ROOT / "benchmarks" / "programs").glob("[a-z]*.py")):
        program = importlib.import_module(f"programs.{path.stem}")
        ours, theirs = (program.arguments(min(program.SIZES[0], 40)) for _ in range(2))
        gradient = mlirad.value_and_grad(program.loss, program.ARGNUMS)
        printed = mlirad.jit(gradient, target=TARGET)
        is_same = are_alike((gradient(*ours), list(ours)), (printed(*theirs), list(theirs)))
        yield {"key": path.stem, "about": "gradient", "kind": "same" if is_same else "wrong"}


class Beside:
    """Runs the calls of kernels as they are, and the first few of each by the other target, too."""

    def __init__(self) -> None:
        self.compared: Counter[int] = Counter()
        self.kernels: dict[int, Any] = {}
        self.wrong: list[str] = []
        self.chaotic = 0

    def __call__(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with natively():
            number = id(kernel.__mlirad_function__)
            if self.compared[number] >= EXAMPLE_CALLS:
                return kernel(*args, **kwargs)
            self.compared[number] += 1
            others, named = copy.deepcopy((args, kwargs))
            before = copy.deepcopy((args, kwargs))
            want = kernel(*args, **kwargs)
            if number not in self.kernels:
                self.kernels[number] = kernel_for(kernel.__mlirad_function__, replace(kernel.options, target=TARGET))
            got = self.kernels[number](*others, **named)
            if not are_alike([want, *numbers(args)], [got, *numbers(others)]) and not self._is_chaotic(
                kernel, before, want, got
            ):
                self.wrong.append(f"{kernel!r}: {got!r}, not {want!r}"[:500])
            return want

    def _is_chaotic(self, kernel: Any, before: Any, want: Any, got: Any) -> bool:
        """Whether a change of the last bits of the arguments changes the result as much, natively."""
        args, kwargs = mlirad.tree.map(lambda leaf: leaf * (1 + 2**-51) if _is_float(leaf) else leaf, before)
        near = kernel(*args, **kwargs)
        ours, theirs, others = (list(map(np.asarray, mlirad.tree.leaves(each))) for each in (want, got, near))
        moved = max(np.max(np.abs(x - y), initial=0.0) for x, y in zip(ours, others, strict=True))
        is_chaotic = all(np.allclose(x, y, rtol=0.0, atol=8 * moved) for x, y in zip(ours, theirs, strict=True))
        self.chaotic += is_chaotic
        return is_chaotic


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


class natively:
    """Calls of kernels go as always in here."""

    def __enter__(self) -> None:
        self._token = debug_modes._mode.set(None)

    def __exit__(self, *_: object) -> None:
        debug_modes._mode.reset(self._token)


def numbers(args: Any) -> list[Any]:
    return [leaf for leaf in mlirad.tree.leaves(args) if isinstance(leaf, np.ndarray | float | int)]


def example(path: Path) -> Iterator[dict[str, Any]]:
    beside, said = Beside(), StringIO()
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    code: object = 0
    with debug_modes._Scope(beside), redirect_stdout(said):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            code = end.code
    wrong = [*beside.wrong, *([f"exit code {code}"] if code else [])]
    calls = f"{sum(beside.compared.values())} calls of {len(beside.compared)} kernels"
    if beside.chaotic:
        calls += f", {beside.chaotic} to what the last bits of the arguments decide"
    found: dict[str, Any] = {"key": path.stem, "about": calls, "kind": "wrong" if wrong else "same"}
    yield found | ({"why": "; ".join(wrong)} if wrong else {})


def judge(what: str, keys: Sequence[Any], log: Path) -> None:
    """Judge some programs, and what is printed for them."""
    warnings.simplefilter("ignore")
    os.environ["MLIRAD_CACHE"] = "0"
    with tempfile.TemporaryDirectory() as sources, tempfile.TemporaryDirectory() as outputs:
        judged: Iterator[dict[str, Any]]
        if what == "random":
            judged = random_programs(Path(sources), [tuple(key) for key in keys])
        else:
            judged = loop_programs() if what == "loops" else example(Path(keys[0]))
        with Printed(Path(outputs)) as printed:
            for found in judged:
                _write(log, found)
        complaints = printed.complaints()
        _write(log, {"key": keys, "about": "ruff", "kind": "wrong" if complaints else "same", "why": complaints[:1000]})
        _write(log, {"key": keys, "about": "sources", "kind": "count", "why": [printed.count, printed.otherwise()]})


def _write(log: Path, found: dict[str, Any]) -> None:
    with log.open("a") as file:
        file.write(json.dumps(found) + "\n")


# --- the campaign ---------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The outcomes of all programs."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    sources: int = 0
    otherwise: int = 0

    def add(self, what: str, found: dict[str, Any]) -> None:
        if found["about"] == "sources":
            self.sources += found["why"][0]
            self.otherwise += found["why"][1]
            return
        if what == "example" and found["about"] != "ruff":
            self.examples.append(found)
        elif found["about"] != "ruff":
            self.verdicts[f"{what}: {found['about']}", found["kind"]] += 1
        if found["kind"] == "wrong":
            self.failures.append(f"{what} {found['key']}, {found['about']}: {found.get('why', '')}")


def apart(what: str, keys: Sequence[Any], log: Path) -> list[dict[str, Any]]:
    """Judge programs in another process; the lines that it writes."""
    log.unlink(missing_ok=True)
    with suppress(subprocess.TimeoutExpired):
        command = [sys.executable, __file__, "--judge", what, json.dumps(list(keys)), str(log)]
        done = subprocess.run(command, check=False, timeout=LONGEST, capture_output=True, text=True)
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        if done.returncode == 0:
            return lines
        why = f"ended with {done.returncode}: {done.stderr[-500:]}"
        return [*lines, {"key": list(keys), "about": "process", "kind": "wrong", "why": why}]
    return [{"key": list(keys), "about": "process", "kind": "wrong", "why": f"took more than {LONGEST} s"}]


def walk(first: int, count: int, log: Path, minutes: float) -> Tally:
    """Everything that is not in the log; random programs for this many minutes."""
    tally, end = Tally(), time.monotonic() + 60 * minutes
    log.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"generator": generation(), "first": first})
    if not log.exists() or log.read_text().splitlines()[0] != head:
        log.write_text(head + "\n")
    done: set[str] = set()
    for line in log.read_text().splitlines()[1:]:
        name, what, lines = json.loads(line)
        done.add(name)
        for each in lines:
            tally.add(what, each)
    keys = [(bias, seed) for seed in range(first, first + count) for bias in BIASES]
    work: list[tuple[str, Sequence[Any]]] = [("random", keys[k : k + CHUNK]) for k in range(0, len(keys), CHUNK)]
    work += [("loops", ["all"])]
    work += [("example", [str(path)]) for path in sorted((ROOT / "examples").glob("*.py"))]
    for what, part in work:
        name = f"{what} {part[0]} {len(part)}".replace(str(ROOT), "")
        if name in done or (what == "random" and time.monotonic() > end):
            continue
        lines = apart(what, part, log.with_suffix(".part"))
        for each in lines:
            tally.add(what, each)
        with log.open("a") as file:
            file.write(json.dumps([name, what, lines]) + "\n")
    return tally


def page(tally: Tally, first: int) -> str:
    lines = [
        "# The target `python`, beside native code",
        "",
        "`tests/support/python_target_walk.py` compares what two targets make of one optimized module: random programs",
        f"of all biases (seeds from {first} on, generator `{generation()}`) with their gradients, called twice with",
        "other arguments; the eight loop programs; the first two calls of each kernel of the examples. Floats may",
        "differ by 1e-12 of the largest number at hand (float32: 1e-5), which stands for the sum of absolute terms;",
        "integers, booleans, what is written in arguments, and exceptions with their messages and lines are equal.",
        "",
        "| what | same | refused by both | wrong |",
        "|---|---:|---:|---:|",
    ]
    for about in sorted({about for about, _ in tally.verdicts}):
        same, refused, wrong = (tally.verdicts[about, kind] for kind in ("same", "refused", "wrong"))
        lines.append(f"| {about} | {same:,} | {refused:,} | {wrong:,} |")
    for each in tally.examples:
        is_same = each["kind"] == "same"
        lines.append(
            f"| `{each['key']}.py`: {each['about']} | {'all' if is_same else ''} | | {'' if is_same else 'yes'} |"
        )
    passing = "Not all of them pass" if any(", ruff: " in each for each in tally.failures) else "All of them pass"
    layout = f"It would lay out {tally.otherwise:,} of them in another way."
    lines += ["", f"{tally.sources:,} programs were printed. {passing} `ruff check`. {layout}"]
    lines += ["", *(f"```\n{each.rstrip()}\n```" for each in tally.failures)] if tally.failures else ["", "No failure."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=20, help="how many seeds, of each bias")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no random programs after these")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "fuzz" / "python_target.jsonl")
    parser.add_argument("--page", type=Path, help="where the summary goes")
    parser.add_argument("--judge", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        what, keys, log = options.judge
        judge(what, json.loads(keys), Path(log))
        return 0
    tally = walk(options.first, options.count, options.log, options.minutes)
    text = page(tally, options.first)
    if options.page is not None:
        options.page.write_text(text)
    print(text)
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
