"""Campaigns of random calls, twenty to a kernel: `python -m mlirad.testing.calls`.

Reads: seeds, and the log of an earlier run. Writes: one line of JSON for each seed to the log. Gives: a summary. A
crash or hang of a process is the result of its current seed; the next process continues after that seed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

from mlirad import stages
from mlirad.testing.calls import packed
from mlirad.testing.calls.drawn_calls import VALUES, described, drawn_call, other_inputs
from mlirad.testing.calls.inputs import LAYOUTS
from mlirad.testing.calls.judge_calls import REFUSED, SAME, WRONG, Verdict, compared, judged_derivatives, judged_values
from mlirad.testing.calls.left_out import left_out, unsafe
from mlirad.testing.calls.packed import WRAPS, Call
from mlirad.testing.interpreted import Interpreted

AT_ONCE = 20
RAISING = 4
"""How many calls of a seed raise an exception in NumPy; each is interpreted separately."""
SETS = 8
"""How many sets of inputs a kernel is called with. They have the same layouts, so they share its code."""
DIFFERENTIATED = 3
"""Derivatives are compiled for one call in this many, because they take longer than all values."""
LIFE, PATIENCE = 50, 600.0
"""How many seeds a process judges, and the seconds without a result after which a seed counts as hanging."""


@dataclass
class Summary:
    """The numbers of verdicts and of reasons for refusals, and all wrong calls."""

    seeds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    """How many calls were drawn and judged; a call that gives a value is run on SETS sets of numbers."""

    def add(self, what: str, call: Call, verdict: Verdict) -> None:
        kind, why = verdict
        self.counts[f"{what} {kind}"] += 1
        if kind == REFUSED:
            self.refused[why.partition("\n")[0]] += 1
        elif kind == WRONG:
            self.wrong.append(f"{what}: {call.text} {json.dumps(described(call))}: {why}")

    def as_line(self, seed: int) -> str:
        return json.dumps([seed, self.counts, self.refused, self.wrong, self.left_out, self.drawn])

    def add_line(self, line: str) -> int:
        seed, counts, refused, wrong, left_out, drawn = json.loads(line)
        self.seeds += 1
        self.counts.update(counts)
        self.refused.update(refused)
        self.left_out.update(left_out)
        self.drawn += drawn
        self.wrong += [f"seed {seed}: {each}" for each in wrong]
        return seed

    def calls(self) -> int:
        """How many calls gave a value or an exception that was compared with NumPy's."""
        return sum(count for what, count in self.counts.items() if what.split()[0] in ("value", "exception"))

    def text(self) -> str:
        lines = [f"{self.seeds} seeds, {self.calls()} calls"]
        lines += [f"{count:8} {what}" for what, count in sorted(self.counts.items())]
        lines += [f"{count:8} refused: {why}" for why, count in self.refused.most_common(20)]
        return "\n".join([*lines, *(f"WRONG {each}" for each in self.wrong)])


def judged(seed: int, derivatives: bool = True) -> Summary:
    """The verdicts on the calls of one seed."""
    rng, summary = Random(seed), Summary(1)
    good: list[tuple[Call, Any]] = []
    layouts: dict[Call, Mapping[str, str]] = {}
    raising = 0
    for _ in range(10 * AT_ONCE):
        call = drawn_call(rng)
        reason = unsafe(call)
        want = None if reason else packed.plain_outcome(call)
        reason = reason or left_out(call, want)
        if reason is not None:
            summary.left_out[reason] += 1
            continue
        if not isinstance(want, Exception):
            good.append((call, want))
            layouts[call] = {name: rng.choice(LAYOUTS) for name in call.inputs}
        elif raising < RAISING:
            raising += 1
            summary.add("exception", call, _raised(call, want))
            summary.drawn += 1
        if len(good) == AT_ONCE:
            break
    summary.drawn += len(good)
    kernels: dict[tuple[str, ...], Any] = {}
    for number in range(SETS):
        values = VALUES[number % len(VALUES)]
        calls = [_valid(call, values, layouts[call], rng) for call, _ in good]
        verdicts = judged_values(calls, [packed.plain_outcome(call) for call in calls], kernels)
        for call, verdict in zip(calls, verdicts, strict=True):
            summary.add("value", call, verdict)
        good = [each for each, (kind, _) in zip(good, verdicts, strict=True) if kind == SAME]
    if derivatives:
        _derivatives(good, rng, summary)
    return summary


def _valid(call: Call, values: str, layouts: Mapping[str, str], rng: Random) -> Call:
    """The call on other inputs, if NumPy accepts them and the call is judged on them; else on the same inputs, laid
    out."""
    other = other_inputs(call, values, layouts, rng)
    want = packed.plain_outcome(other)
    if not isinstance(want, Exception) and left_out(other, want) is None:
        return other
    return other_inputs(call, None, layouts, rng)


def _raised(call: Call, want: Exception) -> Verdict:
    """A call that raises in NumPy is refused, or raises the same."""
    function = packed.Pack([call]).space["call_0"]
    return compared(packed.outcome_of(lambda: Interpreted(function, stages.TENSOR)(*call.inputs.values())), want)


def _derivatives(good: Sequence[tuple[Call, Any]], rng: Random, summary: Summary) -> None:
    losses = [packed.loss_of(call, rng.choice(WRAPS), want) for call, want in good]
    chosen = [each for each in losses if each is not None and rng.randrange(DIFFERENTIATED) == 0]
    for loss, orders in zip(chosen, judged_derivatives(chosen), strict=True):
        for order, verdict in orders.items():
            summary.add(f"{order} {loss.wrap}", loss.call, verdict)


# --- processes --------------------------------------------------------------------------------------------------


def run(seeds: Sequence[int], log: Path) -> Summary:
    """Judge seeds in other processes, without those in the log."""
    os.environ["MLIRAD_CACHE"] = "0"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    context = multiprocessing.get_context("spawn")
    while left := [seed for seed in seeds if seed not in _done(log)][:LIFE]:
        worker = context.Process(target=_work, args=(left, log))
        worker.start()
        is_hanging = _is_hanging(worker, log)
        if is_hanging:
            worker.kill()
        worker.join()
        at = next((seed for seed in left if seed not in _done(log)), None)
        if (worker.exitcode or is_hanging) and at is not None:
            what = "hangs" if is_hanging else f"crashes the process ({worker.exitcode})"
            _write(log, Summary(wrong=[what]).as_line(at))
    summary = Summary()
    for line in log.read_text().splitlines():
        summary.add_line(line)
    return summary


def _is_hanging(worker: BaseProcess, log: Path) -> bool:
    """Waits until a process ends, or works on one seed for too long."""
    before = -1
    while worker.is_alive() and before < log.stat().st_size:
        before = log.stat().st_size
        worker.join(PATIENCE)
    return worker.is_alive()


def _done(log: Path) -> set[int]:
    return {json.loads(line)[0] for line in log.read_text().splitlines()}


def _work(seeds: Sequence[int], log: Path) -> None:
    for seed in seeds:
        try:
            line = judged(seed).as_line(seed)
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises is what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
            line = Summary(wrong=[what]).as_line(seed)
        _write(log, line)


def _write(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")
