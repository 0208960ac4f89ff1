"""Campaigns of random programs, in separate processes that may crash or hang; they can be resumed from their log.

Reads: seeds, and the log of an earlier run. Writes: one line of JSON for each program to the log, after a line that
identifies the generator. Leaves: a printed summary.
"""

from __future__ import annotations

import gc
import hashlib
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
from mlirad.testing.programs.features import features_of, pairs_of
from mlirad.testing.programs.generate import generate
from mlirad.testing.programs.judge import DERIVATIVES, Natively, OnTarget, Stepwise, Verdict, judge
from mlirad.testing.programs.program import Program

Key = tuple[str, int]

PATIENCE = 60.0
"""Seconds of work after which a program counts as hanging; ten times as many if only the clock is known."""

LIFE = 500
"""Programs that one process judges: the caches of compiled code grow."""


def way(how: str) -> Natively:
    """How programs are run: "native" (on a target: "native:NAME"), or interpreted at one of the first stages."""
    stage, _, target = how.partition(":")
    if stage != "native":
        return Stepwise(stage)
    return OnTarget(target) if target else Natively()


@dataclass
class Summary:
    """The findings of a campaign: reasons of refusals and features, counted by program, and all failures."""

    programs: int = 0
    compiled: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[Key, str]] = field(default_factory=list)

    def add(self, key: Key, text_features: Iterable[str], verdicts: Sequence[Verdict]) -> None:
        """Count a program, and, if it compiled, its pairs of features, including correct derivatives."""
        self.programs += 1
        for verdict in verdicts:
            self.verdicts[verdict.kind, verdict.about] += 1
        self.refused.update({f"{each.about}: {each.why}" for each in verdicts if each.kind == "refused"})
        self.failures += [(key, f"{each.about}: {each.why}") for each in verdicts if each.kind == "wrong"]
        if any(each.kind == "refused" and each.about == "value" for each in verdicts):
            return
        self.compiled += 1
        right = {each.about for each in verdicts if each.kind == "same"}
        features = {*text_features, *(right & set(DERIVATIVES))}
        self.features.update(features)
        self.pairs.update(pairs_of(features))

    @property
    def refusals(self) -> float:
        """The share of programs that were refused."""
        return 1.0 - self.compiled / max(self.programs, 1)

    def rarest(self, count: int) -> list[tuple[tuple[str, str], int]]:
        """The pairs of features that occurred together least often; those that never did come first."""
        met = [(pair, self.pairs[pair]) for pair in pairs_of(set(self.features))]
        return sorted(met, key=lambda each: (each[1], each[0]))[:count]

    def text(self) -> str:
        lines = [f"{self.programs} programs; {self.refusals:.1%} refused"]
        lines += [f"{count:8} {kind}, {about}" for (kind, about), count in sorted(self.verdicts.items())]
        lines += [f"{count:8} refused, {reason}" for reason, count in self.refused.most_common(25)]
        total = len(self.features) * (len(self.features) - 1) // 2
        lines.append(f"{len(self.features)} features in programs that compiled, in {total} pairs; the rarest:")
        lines += [f"{count:8} {one} x {other}" for (one, other), count in self.rarest(8)]
        lines += [f"FAILED {bias} {seed}: {why[:300]}" for (bias, seed), why in self.failures]
        return "\n".join(lines)


class Hangs(Exception):
    """A program takes too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises Hangs in Python code that works for longer; waiting does not count."""

    def stop(_number: int, _frame: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judged(program: Program, how: str, directory: Path, derivatives: bool = True) -> list[Verdict]:
    """The verdicts on one program; an internal error of the compiler is one of them."""
    try:
        with limited(PATIENCE):
            return judge(program, way(how), directory, derivatives)
    except Exception as error:  # noqa: BLE001 - whatever the compiler raises is what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return [Verdict("wrong", "compiler", f"{type(error).__name__} at {where}: {error}")]


def _work(keys: Sequence[Key], how: str, derivatives: bool, pipe: Connection) -> None:
    # IR consists of very many objects that refer to one another: searching them too often takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with tempfile.TemporaryDirectory(prefix="mlirad-programs-") as directory:
        for key in keys:
            bias, seed = key
            program = generate(seed, bias)
            features = sorted(features_of(program.source) | program.traits)
            pipe.send((key, features, judged(program, how, Path(directory), derivatives)))


def run(keys: Sequence[Key], how: str, log: Path | None = None, derivatives: bool = True) -> Summary:
    """Judge programs in another process. One that crashes or hangs is a failure; the rest goes on in a new process."""
    summary = Summary()
    done = set(_read(log, summary)) if log is not None else set()
    left = [key for key in keys if key not in done]
    context = multiprocessing.get_context("spawn")
    while left:
        receiving, sending = context.Pipe(duplex=False)
        part, left = left[:LIFE], left[LIFE:]
        worker = context.Process(target=_work, args=(part, how, derivatives, sending))
        worker.start()
        sending.close()
        while part:
            try:
                if not receiving.poll(10 * PATIENCE):
                    raise Hangs
                key, features, verdicts = receiving.recv()
            except (EOFError, Hangs) as error:
                assert worker.pid is not None
                if isinstance(error, Hangs):
                    os.kill(worker.pid, signal.SIGKILL)
                worker.join()
                what = "hangs" if isinstance(error, Hangs) else f"crashes the process ({worker.exitcode})"
                key, features, verdicts = part[0], [], [Verdict("wrong", "process", what)]
            assert key == part[0]
            part = part[1:]
            summary.add(key, features, verdicts)
            _write(log, key, features, verdicts)
            if any(verdict.about == "process" for verdict in verdicts):
                break
        left = [*part, *left]
        worker.join()
    return summary


def generation() -> str:
    """Identifies the generator: a change to its text changes the programs of all seeds."""
    directory = Path(__file__).parent
    names = ["kinds", "random_expressions", "program", "function_writer", "random_functions", "generate"]
    files = [*(directory / f"{name}.py" for name in names), *sorted((directory / "statements").glob("*.py"))]
    texts = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(texts).hexdigest()[:16]


def _read(log: Path, summary: Summary) -> Iterator[Key]:
    """The programs in a log. Raises ValueError if another generator wrote it."""
    if not log.exists():
        log.write_text(json.dumps({"generator": generation()}) + "\n")
    first, *lines = log.read_text().splitlines()
    if json.loads(first) != {"generator": generation()}:
        raise ValueError(f"{log} belongs to another version of the generator; begin a new log")
    for line in lines:
        bias, seed, features, verdicts = json.loads(line)
        summary.add((bias, seed), features, [Verdict(*verdict) for verdict in verdicts])
        yield bias, seed


def _write(log: Path | None, key: Key, features: Sequence[str], verdicts: Iterable[Verdict]) -> None:
    if log is not None:
        with log.open("a") as file:
            file.write(json.dumps([*key, features, [[v.kind, v.about, v.why] for v in verdicts]]) + "\n")


STAGES = (*stages.SHARED, "native")
