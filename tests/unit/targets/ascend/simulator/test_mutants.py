"""Damaged kernels are detected: every mutant is caught, or is in the list of those shown to be harmless.

Every push looks at some mutants of some programs. `make full` looks at all of them, and `make ascend-mutants` writes
the list.
"""

from __future__ import annotations

from random import Random

import ascend_campaign
import pytest
from ascend_campaign import HARMFUL, SURVIVORS, Subject, survivors
from ascend_mutants import Mutant
from ascend_programs import CORPUS

from mlirad.targets.ascend.simulator.faults import Fault

QUICK = {"exp of a sum by hand": 50, "matmul by hand": 40, "on three cores": 30, "softmax": 40, "batched matmul": 20}
"""The programs that every push tests, and the number of mutants for each."""
LISTED = survivors(SURVIVORS.read_text())


def check(subject: Subject, tried: list[Mutant], orders: int) -> None:
    """Compare with the list, restricted to these mutants."""
    listed = LISTED.get((subject.case.name, subject.name), {})
    verdicts = [subject.judge(each) for each in tried]
    alive = {each.mutant: each.why for each in verdicts if each.found is None}
    assert alive == {name: why for name, why in listed.items() if name in {each.name for each in tried}}
    assert not [each.line() for each in verdicts if each.shown is not None], "the detector refuses what is harmless"
    assert all(subject.survives(each, orders) for each in tried if each.name in alive)


@pytest.mark.parametrize("name", QUICK)
def test_some_mutants_are_caught_or_known_to_be_harmless(name: str) -> None:
    subjects, random = list(ascend_campaign.subjects(CORPUS[name])), Random(0)
    for subject in subjects:
        undamaged = Mutant("none", subject.program.module)
        assert subject.survives(undamaged, 10)
        makes = subject.all_mutants()
        tried = [make() for make in random.sample(makes, QUICK[name] // len(subjects))]
        check(subject, tried, 5)


@pytest.mark.full
@pytest.mark.parametrize("name", CORPUS)
def test_every_mutant_is_caught_or_known_to_be_harmless(name: str) -> None:
    if name not in {case for case, _ in LISTED}:
        pytest.skip("the campaign has not judged it so far")
    subjects = list(ascend_campaign.subjects(CORPUS[name]))
    assert {kernel for case, kernel in LISTED if case == name} <= {each.name for each in subjects}
    for subject in subjects:
        check(subject, [make() for make in subject.all_mutants()], 100)


def test_the_list_names_programs_and_reasons() -> None:
    judged = {case for case, _ in LISTED}
    assert judged <= CORPUS.keys() and len(judged) >= 20
    assert not {"None", HARMFUL} & {why for mine in LISTED.values() for why in mine.values()}


def test_a_race_shows_in_some_legal_order() -> None:
    """The detector's reports are real: without its barrier, the kernel gives other numbers in some order."""
    (subject,) = ascend_campaign.subjects(CORPUS["exp of a sum by hand"])
    (racy,) = [each for each in (make() for make in subject.all_mutants()) if each.name == "delete barrier V (1)"]
    assert subject.judge(racy).found == Fault.READ_AFTER_WRITE.value
    assert not subject.survives(racy, 200)
