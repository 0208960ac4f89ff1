"""The campaign behind docs/verification/accuracy.md: its references, its units, and a few thousand numbers."""

from __future__ import annotations

import math

import accuracy_walk
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 80 bits")


def test_references_are_the_functions() -> None:
    for name in (*accuracy_walk.UNARY, *accuracy_walk.BINARY):
        xs = (1.75, 0.625) if name in accuracy_walk.BINARY else (0.625 + (name == "arccosh"),)
        assert float(accuracy_walk.exact(name, *xs)) == pytest.approx(float(getattr(np, name)(*xs)), rel=1e-15)
    assert float(accuracy_walk.exact("erfcx", 3000.0)) == pytest.approx(1 / (3000 * math.sqrt(math.pi)), rel=1e-7)


def test_errors_are_in_units() -> None:
    x = np.array([1.0, 1.5, 3.0])
    wrong = np.array([1.0, 1.5 + 2.0**-51, 3.0 - 2.0**-50])
    np.testing.assert_array_equal(accuracy_walk.units(wrong, x.astype(np.longdouble)), [0, 2, 2])
    assert accuracy_walk.in_digits("sqrt", np.float64(2.0 + 2.0**-50), np.float64(4.0)) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("module", "name", "most"), [("np", "arctan2", 2), ("special", "gamma", 8)])
def test_a_short_campaign(module: str, name: str, most: float) -> None:
    found = accuracy_walk.judge(module, name, np.float64, 1500)
    assert 0.4 < found.worst < most and found.edges == 0 and found.count == 1500
