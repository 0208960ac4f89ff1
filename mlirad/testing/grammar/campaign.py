"""Campaigns of programs drawn from the grammar, in processes that may crash or hang.

Reads: seeds. Writes: nothing. Leaves: verdicts by kind and reason, and failures by seed.
"""

from __future__ import annotations

import gc
import multiprocessing
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from mlirad.testing.grammar.generate import Program, generate
from mlirad.testing.grammar.judge import Verdict, judge
from mlirad.testing.programs.campaign import Hangs, limited

WORK = 30.0
"""Seconds of work after which a program takes too long to compile, or hangs."""

PATIENCE = 10 * WORK
"""Seconds after which a process counts as hanging in code that is not Python's."""

LIFE = 300
"""Programs that one process judges: the caches of compiled code grow."""

_WORST = ("wrong", "refused", "missing", "deviation")


@dataclass
class Summary:
    """Programs by their worst verdict, verdicts by kind and reason, and failures by seed."""

    programs: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, seed: int, verdicts: Sequence[Verdict]) -> None:
        kinds = {verdict.kind for verdict in verdicts}
        self.programs[next((kind for kind in _WORST if kind in kinds), "same")] += 1
        self.reasons.update({(verdict.kind, verdict.why) for verdict in verdicts if verdict.kind != "wrong"})
        self.failures += [(seed, verdict.why) for verdict in verdicts if verdict.kind == "wrong"]

    def text(self) -> str:
        lines = [", ".join(f"{count} {kind}" for kind, count in self.programs.most_common())]
        lines += [f"{count:8} {kind}, {why}" for (kind, why), count in self.reasons.most_common(60)]
        lines += [f"FAILED {seed}: {why[:300]}" for seed, why in self.failures]
        return "\n".join(lines)


def _work(seeds: range, pipe: Connection) -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with tempfile.TemporaryDirectory(prefix="mlirad-grammar-") as directory:
        for seed in seeds:
            pipe.send(judged(generate(seed), Path(directory)))


def judged(program: Program, directory: Path) -> list[Verdict]:
    """The verdicts on one program; one that takes too long is wrong."""
    try:
        with limited(WORK):
            return judge(program, directory)
    except Hangs:
        return [Verdict("wrong", f"more than {WORK:.0f} seconds of work")]


def campaign(first: int, count: int) -> Summary:
    """Judge the programs of `count` seeds; a program that crashes its process or hangs is a failure, the others go
    on."""
    summary = Summary()
    context = multiprocessing.get_context("spawn")
    seed, end = first, first + count
    while seed < end:
        receiving, sending = context.Pipe(duplex=False)
        last = min(seed + LIFE, end)
        worker = context.Process(target=_work, args=(range(seed, last), sending))
        worker.start()
        sending.close()
        is_alive = True
        while seed < last and is_alive:
            try:
                is_alive = receiving.poll(PATIENCE)
                verdicts = receiving.recv() if is_alive else [Verdict("wrong", "it hangs")]
            except EOFError:
                worker.join()
                is_alive, verdicts = False, [Verdict("wrong", f"it ends the process ({worker.exitcode})")]
            summary.add(seed, verdicts)
            seed += 1
        if not is_alive:
            worker.kill()
        worker.join()
    return summary
