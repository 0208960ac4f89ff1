"""Functions that take their surroundings as an argument: derivatives with respect to arrays in outside objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.debug_modes import op_by_op
from mlirad.library.lifted import Lifted


@dataclass(eq=False)
class Held:
    value: Any


class Layer:
    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.w, self.b = Held(rng.standard_normal(3)), Held(rng.standard_normal(3))

    def __call__(self, x: Any) -> Any:
        return np.tanh(x * self.w.value + self.b.value)


class Network:
    """Layers called from several places, with one holder in two places, in a loop and on one side of a branch."""

    def __init__(self) -> None:
        self.layers = [Layer(0), Layer(1), Layer(2)]
        self.again = self.layers[0].w

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        for _ in range(2):
            x = x * self.again.value
        if x[0] > 0.0:
            x = x + self.layers[1].b.value ** 2
        return np.sum(x**2)

    @property
    def holders(self) -> list[Held]:
        return [each for layer in self.layers for each in (layer.w, layer.b)]


def differences(network: Network, x: np.ndarray, step: float = 1e-6) -> list[np.ndarray]:
    found = []
    for holder in network.holders:
        slopes = np.empty(3)
        for number in range(3):
            holder.value[number] += step
            above = network(x)
            holder.value[number] -= 2 * step
            slopes[number] = (above - network(x)) / (2 * step)
            holder.value[number] += step
        found.append(slopes)
    return found


def test_derivatives_by_what_objects_hold() -> None:
    network, x = Network(), np.array([0.3, -0.5, 1.2])
    lifted = Lifted(network, network.holders)
    gradient = mlirad.grad(lifted, (0, 1))
    for _ in range(2):
        arrays = tuple(each.value for each in network.holders)
        slopes, _ = gradient(arrays, x)
        np.testing.assert_allclose(slopes, differences(network, x), rtol=1e-7, atol=1e-9)
        assert lifted(arrays, x) == network(x)  # in Python, and the held array is put back
        with op_by_op():
            np.testing.assert_allclose(gradient(arrays, x)[0], slopes, rtol=1e-12)
        for each in network.holders:
            each.value *= 0.5  # in place: the next call sees it
    before = gradient(tuple(each.value for each in network.holders), x)[0]
    old = network.holders
    network.layers[1].w = Held(np.ones(3))  # another object: the stand-in for the old one is no longer used
    after = gradient(tuple(each.value for each in old), x)[0]
    assert np.all(before[2] != 0.0) and np.all(after[2] == 0.0)


def test_second_derivatives_through_compiled_calls() -> None:
    network, x = Network(), np.array([0.3, -0.5, 1.2])
    slopes_of = mlirad.grad(Lifted(network, network.holders))

    def squared(x: Any) -> Any:
        arrays = tuple([each.value for layer in network.layers for each in (layer.w, layer.b)])
        return sum([np.sum(each**2) for each in slopes_of(arrays, x)])

    mlirad.check_grads(squared, (x,), order=1)


def test_what_is_refused() -> None:
    network, x = Network(), np.ones(3)
    with pytest.raises(TypeError, match="a holder is a dataclass object of one array, not ndarray"):
        Lifted(network, [network.layers[0].w.value])
    with pytest.raises(mlirad.CompileError, match="takes a tuple of 6 arrays first"):
        mlirad.grad(Lifted(network, network.holders))((x,), x)
    with pytest.raises(mlirad.CompileError, match="make it outside"):
        mlirad.jit(lambda x: mlirad.grad(Lifted(network, ()))((), x))(x)
