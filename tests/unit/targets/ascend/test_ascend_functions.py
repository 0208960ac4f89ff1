"""Every elementwise function that the Ascend target supports, and its gradient, against the cpu target."""

from __future__ import annotations

from typing import Any

import ascend_corpus
import numpy as np
import pytest
from ascend_corpus import BANDS, PROGRAMS, SUBJECTS, Program, Subject

IN_CI = ("np.exp2", "np.tan", "np.modf", "np.fmod")


def test_there_are_enough() -> None:
    assert len([each for each in SUBJECTS if each.has_gradient]) > 60


@pytest.mark.parametrize(("dtype", "band"), BANDS.items())
@pytest.mark.parametrize("subject", [each for each in SUBJECTS if each.name in IN_CI], ids=lambda each: each.name)
def test_a_function_and_its_gradient(subject: Subject, dtype: Any, band: float) -> None:
    assert subject.errors(33, dtype).are_within(band)


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), BANDS.items())
@pytest.mark.parametrize("subject", [*SUBJECTS, *PROGRAMS], ids=lambda each: each.name)
def test_the_corpus_at_every_size(subject: Subject | Program, dtype: Any, band: float) -> None:
    assert ascend_corpus.measured(subject, dtype).are_within(band)


def test_what_is_apart() -> None:
    one = np.float32([1, 2, np.inf])
    assert ascend_corpus.apart(one, np.float32([1, 2.002, 3e38]), 0.0) == pytest.approx(0.134, 0.01)
    assert ascend_corpus.apart(one, np.float32([1, 2.002, np.inf]), 0.0) == pytest.approx(1e-3, 0.01)
    assert ascend_corpus.apart(one, np.float32([1, 2, np.nan])) == np.inf
    assert ascend_corpus.apart(one, one.astype(np.float64)) == np.inf
