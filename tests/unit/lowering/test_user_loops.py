"""The loops of tests/support/user_loops.py: values and writes are Python's, gradients those of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from user_loops import LOOPS, UserLoop

import mlirad


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in arguments)


@pytest.mark.parametrize("each", LOOPS, ids=lambda each: each.name)
def test_values_and_gradients(each: UserLoop) -> None:
    arguments = each.arguments(48)

    def total(*given: Any) -> Any:
        results = each.loop(*given)
        return np.sum(results * np.cos(results))

    written, judged = copies(arguments), copies(arguments)
    value, gradient = mlirad.value_and_grad(total)(*written)
    assert value == pytest.approx(total(*judged), rel=1e-12)
    step = 1e-6 * np.cos(3.0 * np.arange(arguments[0].size)).reshape(arguments[0].shape)
    ahead, behind = (total(arguments[0] + sign * step, *copies(arguments[1:])) for sign in (1, -1))
    assert np.sum(gradient * step) * 2e6 == pytest.approx((ahead - behind) * 1e6, rel=1e-5, abs=1e-6)
