"""Campaigns of random programs, in a process of their own that may crash or hang; resumable by their log.

Reads: seeds, and the log of an earlier run. Writes: one line of JSON a program to the log. Leaves: a printed summary.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mlirad import stages
from mlirad.testing.programs.generate import Program, generate
from mlirad.testing.programs.judge import Natively, Stepwise, Verdict, judge

Key = tuple[str, int]

PATIENCE = 120.0
"""Seconds after which a program hangs."""


def way(how: str) -> Natively:
    """How programs are run: "native", or interpreted at one of the first stages."""
    return Natively() if how == "native" else Stepwise(how)


@dataclass
class Summary:
    """What a campaign found: verdicts counted, reasons of refusals counted by program, failures in full."""

    programs: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[Key, str]] = field(default_factory=list)

    def add(self, key: Key, verdicts: Iterable[Verdict]) -> None:
        self.programs += 1
        reasons: set[str] = set()
        for verdict in verdicts:
            self.verdicts[verdict.kind, verdict.about] += 1
            if verdict.kind == "refused":
                reasons.add(f"{verdict.about}: {verdict.why}")
            if verdict.kind == "wrong":
                self.failures.append((key, f"{verdict.about}: {verdict.why}"))
        self.refused.update(reasons)

    def text(self) -> str:
        share = sum(count for reason, count in self.refused.items() if reason.startswith("value")) / max(
            self.programs, 1
        )
        lines = [f"{self.programs} programs; {share:.1%} refused"]
        lines += [f"{count:8} {kind}, {about}" for (kind, about), count in sorted(self.verdicts.items())]
        lines += [f"{count:8} refused, {reason}" for reason, count in self.refused.most_common(25)]
        lines += [f"FAILED {bias} {seed}: {why[:300]}" for (bias, seed), why in self.failures]
        return "\n".join(lines)


class Hangs(Exception):
    """A program takes too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises Hangs in Python code that takes longer."""

    def stop(_number: int, _frame: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judged(program: Program, how: str, directory: Path, derivatives: bool = True) -> list[Verdict]:
    """The verdicts on one program; an exception of the compiler's own is one of them."""
    try:
        with limited(PATIENCE / 2):
            return judge(program, way(how), directory, derivatives)
    except Exception as error:  # noqa: BLE001 - whatever the compiler raises is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return [Verdict("wrong", "compiler", f"{type(error).__name__} at {where}: {error}")]


def _work(keys: Sequence[Key], how: str, derivatives: bool, pipe: Connection) -> None:
    with tempfile.TemporaryDirectory(prefix="mlirad-programs-") as directory:
        for key in keys:
            bias, seed = key
            pipe.send((key, judged(generate(seed, bias), how, Path(directory), derivatives)))


def run(keys: Sequence[Key], how: str, log: Path | None = None, derivatives: bool = True) -> Summary:
    """Judge programs in another process; one that crashes it or hangs is a failure, and the rest goes on anew."""
    summary = Summary()
    done = set(_read(log, summary)) if log is not None else set()
    left = [key for key in keys if key not in done]
    context = multiprocessing.get_context("spawn")
    while left:
        receiving, sending = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(left, how, derivatives, sending))
        worker.start()
        sending.close()
        while left:
            try:
                if not receiving.poll(PATIENCE):
                    raise Hangs
                key, verdicts = receiving.recv()
            except (EOFError, Hangs) as error:
                assert worker.pid is not None
                if isinstance(error, Hangs):
                    os.kill(worker.pid, signal.SIGKILL)
                worker.join()
                what = "hangs" if isinstance(error, Hangs) else f"crashes the process ({worker.exitcode})"
                key, verdicts = left[0], [Verdict("wrong", "process", what)]
            assert key == left[0]
            left = left[1:]
            summary.add(key, verdicts)
            _write(log, key, verdicts)
            if any(verdict.about == "process" for verdict in verdicts):
                break
        worker.join()
    return summary


def _read(log: Path, summary: Summary) -> Iterator[Key]:
    for line in log.read_text().splitlines() if log.exists() else ():
        bias, seed, verdicts = json.loads(line)
        summary.add((bias, seed), [Verdict(*verdict) for verdict in verdicts])
        yield bias, seed


def _write(log: Path | None, key: Key, verdicts: Iterable[Verdict]) -> None:
    if log is not None:
        with log.open("a") as file:
            file.write(json.dumps([*key, [[v.kind, v.about, v.why] for v in verdicts]]) + "\n")


STAGES = (*stages.SHARED, "native")
