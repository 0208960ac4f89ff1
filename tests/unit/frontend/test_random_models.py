"""Random time loops over 2 to 64 coupled states are compiled as loops; a delay line takes few passes, of any size."""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np
import pytest
import random_models

import mlirad
from mlirad.frontend.interpreter.loops import loop_ops

TRIPS = 211
ARGUMENTS = (0.3, 0.05)


def require_loops(model: random_models.Model) -> None:
    text = mlirad.jit(model.function).lower(*ARGUMENTS, TRIPS).as_text("tensor")
    assert text.count("scf.for") + text.count("scf.while") == model.loops, model.text


def require_value(model: random_models.Model) -> None:
    with np.errstate(all="ignore"):
        wanted = model.function(*ARGUMENTS, TRIPS)
    found = mlirad.jit(model.function)(*ARGUMENTS, TRIPS)
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-10, nan_ok=True), model.text


def require_derivative(model: random_models.Model) -> bool:
    """Whether the derivatives were compared: forward with reverse, and both with differences where nothing jumps."""
    q, dt, trips = *ARGUMENTS, 4
    forward = mlirad.jvp(lambda q: model.function(q, dt, trips), (q,), (1.0,))[1]
    reverse = mlirad.grad(lambda q: model.function(q, dt, trips))(q)
    # A value that is infinite or nan has a derivative that is nan, in every mode.
    assert reverse == pytest.approx(forward, rel=1e-9, abs=1e-12, nan_ok=True), model.text
    if model.body in ("if", "move if") or model.loop == "for known":
        return False
    step = 1e-6
    slope = (model.function(q + step, dt, trips) - model.function(q - step, dt, trips)) / (2 * step)
    assert forward == pytest.approx(slope, rel=1e-5, abs=1e-6, nan_ok=True), model.text
    return math.isfinite(slope)


def test_models_are_loops() -> None:
    holders: Counter[str] = Counter()
    for seed, holder in enumerate(random_models.HOLDERS):
        model = random_models.model(seed, 3 + seed, holder, (None, "delay")[seed % 2])
        require_loops(model)
        holders[model.holder] += 1
    assert len(holders) == len(random_models.HOLDERS)


def test_models_have_the_values_of_python() -> None:
    for seed in range(40, 46):
        require_value(random_models.model(seed, size=6))


def test_models_have_derivatives() -> None:
    models = [random_models.model(seed, 4, body=("plain", "move if")[seed % 2]) for seed in (50, 53, 56, 57, 58)]
    assert sum(map(require_derivative, models)) == 3
    assert not require_derivative(random_models.model(60, size=6))  # it diverges: all derivatives are nan


@pytest.mark.parametrize("holder", random_models.HOLDERS)
def test_passes_do_not_grow_with_the_states(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = 0
    body = "move if" if holder in ("names", "swap", "dict of arrays") else "plain"
    one_pass = loop_ops.one_pass

    def counted(context, loop, header):
        nonlocal passes
        passes += 1
        return one_pass(context, loop, header)

    monkeypatch.setattr(loop_ops, "one_pass", counted)
    counts = []
    for size in (6, 24):
        passes = 0
        model = random_models.model(1, size, holder, "delay", body=body, starts="zeros")
        mlirad.jit(model.function).lower(*ARGUMENTS, TRIPS).as_text("tensor")
        counts.append(passes)
    assert counts[0] == counts[1] <= 7


@pytest.mark.full
def test_a_thousand_models(capsys: pytest.CaptureFixture[str]) -> None:
    start, counts = time.monotonic(), Counter()
    for seed in range(1000):
        model = random_models.model(seed)
        require_loops(model)
        counts["loops"] += 1
        if seed % 5 == 0:
            require_value(model)
            counts["values"] += 1
        if seed % 20 == 0:
            require_derivative(random_models.model(seed, size=6))
            counts["derivatives"] += 1
    with capsys.disabled():
        print(f"\n{dict(counts)}, none wrong, none unrolled, none refused; {time.monotonic() - start:.0f} s")


@pytest.mark.full
def test_compile_time_is_linear_in_the_states(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = (4, 8, 16, 32, 64)
    lines = [f"| coupling | states in | {' | '.join(map(str, sizes))} |", f"|---|---|{'---|' * len(sizes)}"]
    for coupling in sorted(set(random_models.COUPLINGS)):
        for holder, body in (("names", "plain"), ("dataclass", "if"), ("shared", "plain"), ("swap", "move if")):
            seconds = []
            for size in sizes:
                model = random_models.model(2, size, holder, coupling, body, "zeros")
                start = time.process_time()
                mlirad.jit(model.function).lower(*ARGUMENTS, TRIPS).as_text("tensor")
                seconds.append(time.process_time() - start)
            lines.append(f"| {coupling} | {holder}, {body} | {' | '.join(f'{each:.2f} s' for each in seconds)} |")
            # A type that moves against the order of the body takes a pass for each state.
            assert seconds[-1] < 12 * max(seconds[-3], 0.05) or (
                coupling == "against" and holder in random_models.NUMBERS
            )
    with capsys.disabled():
        print("\n" + "\n".join(lines))
