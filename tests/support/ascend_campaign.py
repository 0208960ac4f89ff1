"""Damages every kernel of a corpus in every single place, and says how each mutant is found, or why it is harmless.

Reads: a corpus. Writes: docs/verification/ascend-mutants.md and the list of survivors. Leaves: nothing.

    python tests/support/ascend_campaign.py [--orders 1000] [--only NAME...] [--log FILE]

It goes on behind the programs that its log has, and writes when it has all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

import ascend_proofs
from ascend_launches import GivenLaunch, ReadyLaunch
from ascend_mutants import Mutant, mutants
from ascend_programs import CORPUS, Case
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.legal_order import run_in_random_order
from mlirad.targets.ascend.simulator.recording_core import RecordingCore
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "verification" / "ascend-mutants.md"
SURVIVORS = ROOT / "tests" / "data" / "ascend_survivors.txt"

INVALID, WRONG = "invalid", "other numbers"
HARMFUL = "some order gives other bits"
ORIGINAL = "as the original"
OWN_ORDERS = 20
KINDS: dict[str, tuple[str, ...]] = {
    "illegal": (
        INVALID,
        *(
            each.value
            for each in (
                *(Fault.BOUNDS, Fault.SHAPE, Fault.ALIGNMENT, Fault.SPACE, Fault.OVERLAP),
                *(Fault.PIPE_PAIR, Fault.EVENT_ID, Fault.LAUNCH, Fault.READ_ONLY),
            )
        ),
    ),
    "race": tuple(
        each.value
        for each in (*(Fault.READ_AFTER_WRITE, Fault.WRITE_AFTER_READ, Fault.WRITE_AFTER_WRITE, Fault.BETWEEN_BLOCKS),)
    ),
    "flag set twice or left": (Fault.DOUBLE_SET.value, Fault.LEFTOVER.value),
    "deadlock": (Fault.DEADLOCK.value,),
    "uninitialised read": (Fault.UNINITIALISED.value,),
    "other numbers": (WRONG,),
}
"""The columns of the page, and the faults that they count."""

EXPLAINED = {
    r"number [123] \+1 in mad .*": "a row, column or depth more is multiplied: padding, which is zero",
    r"size 0 \+1 in pointer_cast .*": "a buffer in L1 is longer, by fractals of padding that nothing reads",
    r"as if whole in minui .*": "padding in L1 is read, too, and the multiplication does not use it",
    r"(first trip -1|end \+1) of for .*": "the maximum of the only part is taken twice",
    r"address [-+]32 in pointer_cast .*": "the maximum of one part and that of all parts, of which there is one, meet",
}
"""Reasons that are not proved: by the mutant."""


@dataclass(frozen=True)
class Verdict:
    """How a mutant was found; or, if it was not, why it is harmless. why: None if nothing shows that it is.

    shown: a proof that it is harmless although it was found, which one of both has wrong.
    """

    case: str
    kernel: str
    mutant: str
    found: str | None
    why: str | None = None
    shown: str | None = None
    form: str | None = field(default=None, repr=False)

    def line(self) -> str:
        return f"{self.case}, {self.kernel}: {self.mutant}: {self.found or self.why}"


@dataclass
class Subject:
    """One kernel of a case, and its launches."""

    case: Case
    name: str
    program: SimulatedProgram
    ready: list[ReadyLaunch]
    flows: list[ascend_proofs.Flow] = field(default_factory=list)
    forms: dict[str, bool] = field(default_factory=dict)

    def flow(self, core: RecordingCore, launch: ReadyLaunch, program: SimulatedProgram) -> ascend_proofs.Flow:
        return ascend_proofs.flow(program.functions[self.name].op, core.traces, list(launch.memories.values()))

    def original_flows(self) -> list[ascend_proofs.Flow]:
        if not self.flows:
            self.flows = [self.flow(each.recorded(self.program), each, self.program) for each in self.ready]
        return self.flows

    def all_mutants(self, deletions_only: bool = False) -> list[Callable[[], Mutant]]:
        blocks = min(each.given.blocks for each in self.ready)
        return list(mutants(self.program.functions[self.name].op, blocks, deletions_only))

    def judge(self, mutant: Mutant) -> Verdict:
        found, program = self.caught(mutant)
        why, form = (None, None) if program is None else self.why(mutant, program)
        verdict = Verdict(self.case.name, self.name, mutant.name, found, form=form)
        return replace(verdict, why=why or explained(mutant.name)) if found is None else replace(verdict, shown=why)

    def caught(self, mutant: Mutant) -> tuple[str | None, SimulatedProgram | None]:
        """The faults that are found, and the program, if it can be loaded."""
        program = None
        try:
            program = self.case.program(mutant.module)
            for launch in self.ready:
                launch.reset()
                launch.run(program, mutant.more_blocks)
                if not launch.is_right():
                    return WRONG, program
        except SimulatorFault as fault:
            return fault.kind.value, program
        except VerifyException:
            return INVALID, None
        return None, program

    def why(self, mutant: Mutant, program: SimulatedProgram) -> tuple[str | None, str | None]:
        """The weakest of the reasons for its launches, and what says in which orders they may run."""
        reasons: list[str] = []
        forms: list[str] = []
        for launch, original in zip(self.ready, self.original_flows(), strict=True):
            try:
                core = launch.recorded(program, mutant.more_blocks)
            except SimulatorFault:
                return None, None
            changed = self.flow(core, launch, program)
            if (found := ascend_proofs.reason(original, changed)) is None:
                return None, None
            reasons.append(found)
            forms.append(repr((changed.instructions(), changed.places, changed.orders_of_instructions())))
        weakest = max(reasons, key=ascend_proofs.REASONS.index)
        return weakest, ORIGINAL if weakest in ascend_proofs.IN_ORDERS_OF_ORIGINAL else "".join(forms)

    def survives(self, mutant: Mutant, orders: int) -> bool:
        """Whether so many random legal orders of each launch give the same bits."""
        program = self.case.program(mutant.module)
        for launch in self.ready:
            core = launch.recorded(program, mutant.more_blocks)
            for seed in range(orders):
                launch.reset()
                try:
                    run_in_random_order(core.traces, core.memories_of_blocks, seed, self.case.flags_count)
                except SimulatorFault:
                    return False
                if not launch.is_right():
                    return False
        return True


def subjects(case: Case) -> Iterator[Subject]:
    """The kernels of a case. If a kernel is launched often, only its first three launches count."""
    by_kernel: dict[str, list[GivenLaunch]] = {}
    for launch in case.launches():
        by_kernel.setdefault(launch.kernel, []).append(launch)
    program = case.program(case.text())
    for name, given in by_kernel.items():
        yield Subject(case, name, program, [each.again() for each in given[:3]])


def explained(name: str) -> str | None:
    return next((why for pattern, why in EXPLAINED.items() if re.fullmatch(pattern, name)), None)


def survives_all(subject: Subject, mutant: Mutant, form: str | None, orders: int) -> bool:
    """Whether it survives so many orders.

    Mutants with the same instructions, places and order of instructions may run in the same orders: one of them is
    executed in all, and each of the others in some. So it is with those that may only run as the original may.
    """
    if form is None:
        return subject.survives(mutant, orders)
    if form not in subject.forms:
        chosen = Mutant("none", subject.program.module) if form == ORIGINAL else mutant
        subject.forms[form] = subject.survives(chosen, orders)
    return subject.forms[form] and subject.survives(mutant, min(orders, OWN_ORDERS))


def say(line: str) -> None:
    print(line, flush=True)


def run(names: Iterable[str], orders: int) -> Iterator[Verdict]:
    """The verdicts on all mutants."""
    for name in names:
        began = time.process_time()
        mine: list[Verdict] = []
        for subject in subjects(CORPUS[name]):
            for make in subject.all_mutants():
                mutant = make()
                verdict = subject.judge(mutant)
                if verdict.found is None and not survives_all(subject, mutant, verdict.form, orders):
                    verdict = replace(verdict, why=HARMFUL)
                mine.append(verdict)
        alive = [each for each in mine if each.found is None]
        say(f"{name}: {len(mine)} mutants, {len(alive)} alive, {time.process_time() - began:.0f} s")
        for each in mine:
            if each.found is None and each.why in (None, HARMFUL):
                say(f"    not caught: {each.line()}")
            elif each.shown is not None:
                say(f"    caught, and harmless ({each.shown}): {each.line()}")
        yield from mine


def listed(verdicts: Iterable[Verdict]) -> str:
    """The survivors, by kernel and reason."""
    lines: list[str] = []
    alive = [each for each in verdicts if each.found is None]
    for place, mine in groupby(alive, lambda each: (each.case, each.kernel)):
        lines.append(", ".join(place))
        ordered = sorted(mine, key=lambda each: str(each.why))
        for why, these in groupby(ordered, lambda each: each.why):
            lines += [f"  {why}", *(f"    {each.mutant}" for each in these)]
    return "\n".join(lines) + "\n"


def survivors(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """The mutants of a list, with their reasons, by case and kernel."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    mine: dict[str, str] = {}
    why = ""
    for line in text.splitlines():
        if line.startswith("    "):
            mine[line.strip()] = why
        elif line.startswith("  "):
            why = line.strip()
        else:
            case, _, kernel = line.rpartition(", ")
            mine = found[case, kernel] = {}
    return found


def page(done: Mapping[str, tuple[int, Sequence[Verdict]]]) -> str:
    """A row for each program. done: how many orders, and the verdicts."""
    verdicts = [each for _, mine in done.values() for each in mine]
    alive = [each for each in verdicts if each.found is None]
    reasons = Counter(each.why for each in alive)
    header = ["program", "kernels", "mutants", *KINDS, "harmless", "orders"]
    rows = [header, ["---", *["---:"] * (len(header) - 1)]]
    for name, (orders, mine) in done.items():
        found = Counter(each.found for each in mine)
        counts = [sum(found[kind] for kind in kinds) for kinds in KINDS.values()]
        assert sum(counts) + found[None] == len(mine), "each verdict has a column"
        rows.append([name, *map(str, (len({each.kernel for each in mine}), len(mine), *counts, found[None], orders))])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    listed = "\n".join(f"| {count:,} | {why} |" for why, count in reasons.most_common())
    not_proved = sum(each.why in EXPLAINED.values() for each in alive)
    strict = [each for each in verdicts if each.shown is not None]
    refused = f"By it, {len(strict)} of the mutants that the simulator refuses are harmless, too."
    kernels = len({(each.case, each.kernel) for each in verdicts})
    return f"""# Damaged kernels

`make ascend-mutants` writes this page (`tests/support/ascend_campaign.py`). In {kernels} kernels of {len(done)}
programs (`ascend_programs.py`), every synchronisation, address, size, mask and count is damaged, one at a time
(`ascend_mutants.py`). These are {len(verdicts):,} mutants, of which the simulator finds {len(verdicts) - len(alive):,}.

The other {len(alive):,} are harmless. They were executed in random orders that the hardware may choose, and gave the
same bits in all; the last column says in how many. Mutants that may run in the same orders only, or in the original's
only, share them: one of these kernels is executed in all, each of the others in {OWN_ORDERS}.
`tests/data/ascend_survivors.txt` lists them with their reasons. A test fails if another mutant survives, or if a listed
one is found.

| mutants | why they are harmless |
|---:|---|
{listed}

All but {not_proved} reasons are computed, for all values and orders (`ascend_proofs.py`): each byte of the
results comes from the same computation, and where two instructions touch one byte, the first has finished before the
second starts. This shares no code with the race detector. {refused}

{table}
"""


def logged(log: Path) -> dict[str, tuple[int, list[Verdict]]]:
    """The programs that a log has, with the number of orders and the verdicts, unless their text has changed."""
    found: dict[str, tuple[int, list[Verdict]]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        case, text, orders, verdicts = json.loads(line)
        if case in CORPUS and text == digest(CORPUS[case]):
            found[case] = (
                orders,
                [
                    Verdict(case, kernel, mutant, caught, why or (None if caught else explained(mutant)), shown)
                    for kernel, mutant, caught, why, shown in verdicts
                ],
            )
    return found


def digest(case: Case) -> str:
    return hashlib.sha256(case.text().encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "ascend-mutants.jsonl")
    options = parser.parse_args()
    options.log.parent.mkdir(exist_ok=True)
    done = logged(options.log)
    for name in options.only or CORPUS:
        if options.orders <= done.get(name, (0, []))[0]:
            continue
        mine = list(run([name], options.orders))
        done[name] = options.orders, mine
        verdicts = [(each.kernel, each.mutant, each.found, each.why, each.shown) for each in mine]
        with options.log.open("a") as file:
            file.write(f"{json.dumps([name, digest(CORPUS[name]), options.orders, verdicts])}\n")
    if done.keys() >= CORPUS.keys():
        PAGE.write_text(page({name: done[name] for name in CORPUS}))
        SURVIVORS.write_text(listed(each for name in CORPUS for each in done[name][1]))


if __name__ == "__main__":
    main()
