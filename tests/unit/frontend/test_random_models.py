"""Random time loops over 2 to 64 coupled states are compiled as loops; a delay line of any size takes few passes."""

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


UNROLLED = {707}
"""Two arrays that begin as the same one are swapped in an inner `while` of two iterations, which runs twice."""


def is_looped(model: random_models.Model) -> bool:
    text = mlirad.jit(model.function).lower(*ARGUMENTS, TRIPS).as_text("tensor")
    return text.count("scf.for") + text.count("scf.while") == model.loops


def require_loops(model: random_models.Model) -> None:
    assert is_looped(model), model.text


def require_value(model: random_models.Model) -> None:
    with np.errstate(all="ignore"):
        wanted = model.function(*ARGUMENTS, TRIPS)
    found = mlirad.jit(model.function)(*ARGUMENTS, TRIPS)
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-10, nan_ok=True), model.text


def require_derivative(model: random_models.Model) -> bool:
    """Whether the derivatives were compared: forward with reverse, and both with differences unless something jumps."""
    q, dt, trips = *ARGUMENTS, 4
    forward = mlirad.jvp(lambda q: model.function(q, dt, trips), (q,), (1.0,))[1]
    reverse = mlirad.grad(lambda q: model.function(q, dt, trips))(q)
    # If a value is infinite or nan, its derivative is nan, in every mode.
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


def passes_over(model: random_models.Model, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the bodies of the function's loops are interpreted."""
    passes = 0
    one_pass = loop_ops.one_pass

    def counted(context, loop, header):
        nonlocal passes
        passes += 1
        return one_pass(context, loop, header)

    with monkeypatch.context() as patch:
        patch.setattr(loop_ops, "one_pass", counted)
        mlirad.jit(model.function).lower(*ARGUMENTS, TRIPS).as_text("tensor")
    return passes


@pytest.mark.parametrize("holder", random_models.HOLDERS)
def test_passes_do_not_grow_with_the_states(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "move if" if holder in ("names", "swap", "dict of arrays") else "plain"
    models = [random_models.model(1, size, holder, "delay", body=body, starts="zeros") for size in (6, 24)]
    few, many = (passes_over(model, monkeypatch) for model in models)
    assert few == many <= 7


@pytest.mark.full
def test_a_thousand_models(capsys: pytest.CaptureFixture[str]) -> None:
    start, counts = time.monotonic(), Counter()
    for seed in range(1000):
        model = random_models.model(seed)
        assert is_looped(model) == (seed not in UNROLLED), model.text
        counts["loops"] += seed not in UNROLLED
        if seed % 5 == 0:
            require_value(model)
            counts["values"] += 1
        if seed % 20 == 0:
            require_derivative(random_models.model(seed, size=6))
            counts["derivatives"] += 1
    with capsys.disabled():
        print(f"\n{dict(counts)}, none wrong, none refused; {time.monotonic() - start:.0f} s")


@pytest.mark.full
def test_passes_of_every_coupling(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (4, 8, 16, 32, 64)
    lines = [f"| coupling | states in | {' | '.join(map(str, sizes))} |", f"|---|---|{'---|' * len(sizes)}"]
    for coupling in sorted(set(random_models.COUPLINGS)):
        for holder, body in (("names", "plain"), ("dataclass", "if"), ("shared", "plain"), ("swap", "move if")):
            passes, seconds = [], []
            for size in sizes:
                model = random_models.model(2, size, holder, coupling, body, "zeros")
                start = time.process_time()
                passes.append(passes_over(model, monkeypatch))
                seconds.append(time.process_time() - start)
            cells = (f"{count} / {each:.2f}" for count, each in zip(passes, seconds, strict=True))
            lines.append(f"| {coupling} | {holder}, {body} | {' | '.join(cells)} |")
            # A type that moves against the order of the body takes one pass for each state.
            moves_against = coupling == "against" and holder in random_models.NUMBERS
            assert passes[-1] <= (sizes[-1] + 4 if moves_against else 16), lines[-1]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
