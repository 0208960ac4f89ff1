"""Random programs that append to lists in loops: compared with Python, their derivatives with differences."""

from __future__ import annotations

import copy
import re
import time
from collections import Counter

import numpy as np
import pytest
from random_histories import history

from mlirad import jit
from mlirad.errors import CompileError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted

Y = np.array([0.3, 0.5, 0.7])


def check(seed: int, native: bool) -> str:
    """The outcome of a random program: "value", "derivative", or why it was refused. A wrong number fails.

    Code that uses values that it has not computed fails too: the pipeline and `Interpreted` verify it.
    """
    function, args = history(seed), (Y, 0.4, 6)
    kernel = jit(function) if native else Interpreted(function, "tensor")
    mine, its = copy.deepcopy(args), copy.deepcopy(args)
    wanted = function(*its)
    try:
        found = kernel(*mine)
    except CompileError as error:
        assert error.location is not None, f"seed {seed}"
        return "refused: " + re.sub(r"'\w+'|line \d+", "_", error.message)
    assert found == pytest.approx(wanted, rel=1e-9), f"seed {seed}"
    np.testing.assert_allclose(mine[0], its[0], rtol=1e-9)
    if seed % 4:
        return "value"
    e = 1e-6
    slopes = [(function(Y.copy(), 0.4 + h, 6) - function(Y.copy(), 0.4 - h, 6)) / (2 * h) for h in (e, 2 * e)]
    if abs(slopes[0] - slopes[1]) > 1e-4 * (1 + abs(slopes[0])):
        return "value"  # a branch changes here
    try:
        own = Interpreted(Grad(function, 1), "autodiff")(Y.copy(), 0.4, 6)
    except CompileError as error:
        return f"value; derivative refused: {error.message}"
    assert own == pytest.approx(slopes[0], rel=1e-4, abs=1e-4), f"seed {seed}"
    return "derivative"


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 7, 133, 213])
def test_random_programs(seed: int) -> None:
    assert not check(seed, native=seed % 8 == 7).startswith("refused")


@pytest.mark.full
def test_many_random_programs(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    happened = Counter(check(seed, native=seed % 8 == 7) for seed in range(1000))
    with capsys.disabled():
        print(f"\nnone wrong; {time.monotonic() - start:.0f} s")
        for what, count in happened.most_common():
            print(f"{count:5} {what}")
    assert sum(count for what, count in happened.items() if what.startswith("refused")) < 100
