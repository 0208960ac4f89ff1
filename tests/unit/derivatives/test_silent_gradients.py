"""Programs with gradients that other systems computed wrongly: they agree with differences here, in both modes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from silent_gradients import PROGRAMS, Program

import mlirad

PAGE = Path(__file__).parents[3] / "docs" / "verification" / "silent-gradients.md"


def differences(program: Program) -> np.ndarray:
    step = 1e-6
    sides = [
        [program.function(program.x + sign * step * e, *program.constants) for sign in (1, -1)]
        for e in np.eye(program.x.size)
    ]
    return np.array([(above - below) / (2 * step) for above, below in sides])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_both_modes_are_right(program: Program) -> None:
    expected = differences(program)
    x = program.x.copy()
    gradient = mlirad.grad(program.function)(x, *program.constants)
    assert np.array_equal(x, program.x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)

    def of_x(x):
        return program.function(x, *program.constants)

    u = np.linspace(1.0, 2.0, x.size)
    value, tangent = mlirad.jvp(of_x, (x,), (u,))
    np.testing.assert_allclose(value, program.function(x, *program.constants), rtol=1e-15)
    np.testing.assert_allclose(tangent, gradient @ u, rtol=1e-12)


def test_the_page_has_every_program() -> None:
    page = PAGE.read_text()
    for program in PROGRAMS:
        assert f"| `{program.name}`: {program.about} | [{program.report}]({program.address}) | right |" in page
