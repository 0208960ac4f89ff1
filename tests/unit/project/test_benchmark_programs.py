"""The programs of `growth.py` and `peers.py`: our gradient is the adjoint written by hand for Numba."""

from __future__ import annotations

import numpy as np
import pytest
from adjoints_by_hand import BENCHMARKS, program_of

import mlirad

NAMES = sorted(
    f"{folder}.{path.stem}" for folder in ("programs", "workloads") for path in (BENCHMARKS / folder).glob("[!_]*.py")
)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_the_adjoint_by_hand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with `fastmath=True`."""
    program = program_of(name, monkeypatch)
    arguments = program.arguments(program.SIZES[0])
    by_hand = program.adjoint(*arguments)
    for fastmath in (False, True):
        ours = mlirad.grad(program.loss, program.ARGNUMS, fastmath=fastmath)(*arguments)
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, by_hand)), strict=True):
            tolerance = 1e-4 if other.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.max(np.abs(other)))
