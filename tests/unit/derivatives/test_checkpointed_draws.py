"""What checkpointed loops and functions draw is drawn once: values, gradients and the generator's state are those of
the same program without checkpoints, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

checkpoint, checkpointed = mlirad.checkpoint, mlirad.checkpointed


def fresh(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def trips(w, rng):
    """Loops in loops, branches, conditions that draw, arrays of sizes that are drawn, all dtypes."""
    s = w
    for _ in range(7):
        s = np.sin(s * rng.normal(1.0, 0.1)) + w * rng.lognormal(0.1 * w, 0.2)
        while rng.random() < 0.6:
            s = s + rng.integers(0, 5) * w
        if s > 1.0:
            s = s - rng.random(dtype=np.float32) * w
        for z in rng.normal(s, 0.2, rng.integers(0, 4)):
            s = s + 0.1 * z * z
        s = s + w * np.sum(rng.integers(0, 2**63, 2, dtype=np.uint64) & np.uint64(1)) * rng.weibull(1 + w * w, 2)[1]
        s = s + w * np.sum(rng.integers(0, 2, 3, dtype=np.bool_)) + rng.laplace(s, 0.5)
    return s


def trips_by_root(w, rng):
    s = w
    for _ in checkpointed(range(7), "sqrt"):
        s = np.sin(s * rng.normal(1.0, 0.1)) + w * rng.lognormal(0.1 * w, 0.2)
        while rng.random() < 0.6:
            s = s + rng.integers(0, 5) * w
        if s > 1.0:
            s = s - rng.random(dtype=np.float32) * w
        for z in checkpointed(rng.normal(s, 0.2, rng.integers(0, 4)), 2):
            s = s + 0.1 * z * z
        s = s + w * np.sum(rng.integers(0, 2**63, 2, dtype=np.uint64) & np.uint64(1)) * rng.weibull(1 + w * w, 2)[1]
        s = s + w * np.sum(rng.integers(0, 2, 3, dtype=np.bool_)) + rng.laplace(s, 0.5)
    return s


def until(w, rng):
    s, k = w, 0
    while s < 30.0 and k < 50 and rng.random() < 0.97:
        s = s + w * rng.lognormal(0.1 * w, 0.2) + np.sin(s) * rng.random()
        k += 1
    return s


def until_by_slots(w, rng):
    s, k = w, 0
    while checkpointed(s < 30.0 and k < 50 and rng.random() < 0.97, 3):
        s = s + w * rng.lognormal(0.1 * w, 0.2) + np.sin(s) * rng.random()
        k += 1
    return s


def layer(x, w, rng):
    keep = rng.random(x.shape) < 0.8
    print("kept", np.sum(keep))
    return np.tanh(x * w * keep) + rng.normal(0.0, 0.1, x.shape)


def net(w, rng):
    x = np.linspace(0.1, 1.0, 6)
    for _ in range(4):
        x = layer(x, w, rng)
    return np.sum(x) * rng.random()


def net_of_checkpoints(w, rng):
    x = np.linspace(0.1, 1.0, 6)
    for _ in checkpointed(range(4), 2):
        x = checkpoint(layer)(x, w, rng)
    return np.sum(x) * rng.random()


def tree(d, w, rng):
    if d == 0:
        return w * rng.normal()
    return np.sin(tree(d - 1, w, rng)) + tree(d - 1, w * rng.random(), rng)


def forest(w, rng):
    s = w
    for _ in range(3):
        s = s + tree(2, s, rng)
    return s


def forest_by_trees(w, rng):
    s = w
    for _ in checkpointed(range(3), "binomial"):
        s = s + tree(2, s, rng)
    return s


PAIRS = [
    (trips, [trips_by_root]),
    (until, [until_by_slots]),
    (net, [net_of_checkpoints, checkpoint(net_of_checkpoints)]),
    (forest, [forest_by_trees, checkpoint(forest)]),
]


def outcome(f: Any, capfd: Any) -> tuple[Any, ...]:
    """Value and gradient, their derivatives, all that is printed, and the generator."""
    rng = fresh()
    found = mlirad.jvp(lambda w: mlirad.value_and_grad(f)(w, rng), (0.6,), (1.0,))
    return found, capfd.readouterr().out, rng.bit_generator.state


@pytest.mark.parametrize(("plain", "others"), PAIRS, ids=lambda f: getattr(f, "__name__", ""))
def test_a_replay_draws_nothing(plain: Any, others: list[Any], capfd: Any) -> None:
    expected = outcome(plain, capfd)
    for other in others:
        assert outcome(other, capfd) == expected


def test_a_pullback_draws_nothing() -> None:
    """Of a generator that has drawn more since; it gives the generator no cotangent."""
    rng, same = fresh(), fresh()
    _, pullback = mlirad.vjp(trips_by_root, 0.6, rng)
    expected = mlirad.grad(trips)(0.6, same)
    rng.random(9)
    state = rng.bit_generator.state
    assert pullback(1.0) == (expected, None)
    assert rng.bit_generator.state == state


def test_a_generator_has_no_derivative() -> None:
    def f(w, r):
        return w * r.normal()

    z = fresh().normal()
    assert mlirad.jit(lambda w, r: mlirad.vjp(f, w, r)[1](1.0))(0.6, fresh()) == (z, None)
    assert mlirad.linearize(f, 0.6, fresh())[1](2.0, None) == 2 * z
    with pytest.raises(mlirad.DifferentiationError, match="argument 1 of f is a random generator"):
        mlirad.grad(f, argnums=1)(0.6, fresh())


def test_second_derivatives() -> None:
    def product(f: Any) -> Any:
        def value_times_slope(w, rng):
            value, slope = mlirad.value_and_grad(f)(w, rng)
            return value * slope

        return mlirad.value_and_grad(value_times_slope)(0.6, fresh())

    np.testing.assert_allclose(product(until_by_slots), product(until), rtol=1e-13)


def test_what_has_no_derivative_is_refused_in_a_replay() -> None:
    with pytest.raises(mlirad.DifferentiationError, match="distribution wald have no derivative"):
        mlirad.grad(lambda w, rng: checkpoint(lambda w: rng.wald(w, 2.0))(w))(0.6, fresh())


def noise(x, rng):
    for _ in range(130):
        x = np.tanh(x * rng.normal(0.0, 1.0, 20)) + np.sin(x)
    return np.sum(x)


def noise_of_unknown_size(x, rng):
    for _ in range(int(rng.integers(5, 9))):
        x = np.tanh(x * rng.normal(0.0, 1.0, 20)) + np.sin(x)
    return np.sum(x)


def test_a_budget_counts_what_is_drawn() -> None:
    x = np.linspace(0.1, 1.0, 20)
    expected = mlirad.value_and_grad(noise)(x, fresh())
    kernel = mlirad.jit(mlirad.value_and_grad(noise), checkpoint=50_000)
    value, gradient = kernel(x, fresh())
    assert value == expected[0] and (gradient == expected[1]).all()
    needed = kernel.last_memory()
    assert needed is not None and needed < 50_000
    with pytest.raises(mlirad.DifferentiationError, match="about 42,"):
        mlirad.jit(mlirad.grad(noise), checkpoint=10_000)(x, fresh())
    with pytest.raises(mlirad.DifferentiationError, match="random numbers that are drawn here"):
        mlirad.jit(mlirad.grad(noise_of_unknown_size), checkpoint=100)(x, fresh())
