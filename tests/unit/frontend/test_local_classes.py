"""Classes defined by a class statement inside the function."""

from __future__ import annotations

import dataclasses
import enum
import linecache
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

SCALE = 3.0


def plain(x):
    class Oscillator:
        RATE = 0.5

        def __init__(self, u, shift=3.0, *, sign=1):
            self.u, self.shift, self.sign = u, shift, sign

        def energy(self):
            return self.sign * np.sum(self.u * self.RATE) + self.shift * SCALE

        @property
        def raised(self):
            return self.u + 1

        @staticmethod
        def doubled(t):
            return t * 2

        @classmethod
        def rate(cls):
            return cls.RATE

    one = Oscillator(x)
    for _ in range(3):
        one.u = one.u * 0.5 + Oscillator.doubled(one.raised) * Oscillator.rate()
    return one.energy() + isinstance(one, Oscillator)


def of_data(x, n):
    @dataclass
    class State:
        u: np.ndarray
        t: float = 0.0
        KIND: ClassVar[int] = 2

        def step(self, h=0.1):
            self.u = self.u - h * self.u * self.KIND
            self.t += h

    state = State(x * 1.0)
    while state.t < 0.1 * n:
        state.step()
    return np.sum(state.u)


def derived(x):
    class Base:
        def __init__(self, u):
            self.u = u

        def value(self):
            return self.scale() * np.sum(self.u)

        def scale(self):
            return 1.0

    class Derived(Base):
        def scale(self):
            return 2.0

    return Base(x).value() + Derived(x).value()


def in_a_function_of_its_own(x):
    def made(v):
        @dataclasses.dataclass(frozen=True)
        class Pair:
            first: float
            second: float = 2.0

        return Pair(v)

    total = 0.0
    for v in x:
        total = total + made(v).first * made(v * 2).second
    return total


class Once:
    def factor(self):
        return 1.0


class Twice(Once):
    def factor(self):
        return 2.0


Chosen = Once


def of_several_bases(x):
    def made(base):
        class Derived(base):
            pass

        return Derived()

    return np.sum(x) * made(Once).factor() + 10.0 * np.sum(x * x) * made(Twice).factor()


def of_a_global_base(x):
    class Derived(Chosen):
        pass

    return np.sum(x) * Derived().factor()


@pytest.mark.parametrize("f", [plain, of_data, derived, in_a_function_of_its_own, of_several_bases])
def test_a_class_made_in_a_function(f):
    x = np.array([1.0, 2.0])
    rest = (4,) if f is of_data else ()
    np.testing.assert_allclose(mlirad.jit(f)(x, *rest), f(x, *rest), rtol=1e-14)
    value, gradient = mlirad.value_and_grad(f)(x, *rest)
    assert value == pytest.approx(f(x, *rest))
    steps = [np.eye(2)[k] * 1e-6 for k in range(2)]
    differences = [(f(x + step, *rest) - f(x - step, *rest)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6)


def test_what_its_methods_read_is_guarded():
    global SCALE
    kernel = mlirad.jit(plain)
    before = kernel(np.ones(2))
    SCALE = 5.0
    try:
        assert kernel(np.ones(2)) == before + 6.0
    finally:
        SCALE = 3.0


def test_its_bases_are_guarded():
    global Chosen
    kernel = mlirad.jit(of_a_global_base)
    before = kernel(np.ones(2))
    Chosen = Twice
    try:
        assert kernel(np.ones(2)) == 2.0 * before
    finally:
        Chosen = Once


class Counting:
    made = 0

    def __init_subclass__(cls):
        Counting.made += 1


def of_a_base_that_runs_code(x):
    class Derived(Counting):
        pass

    return x


def of_an_enum(x):
    class Level(enum.IntEnum):
        LOW = 1

    return x * Level.LOW


def around(x):
    k = 2.0

    class Holder:
        def get(self):
            return k

    return Holder().get() * x


def of_values(x):
    class Holder:
        start = x

    return Holder.start


def by_a_call(x):
    class Holder:
        rate = np.sqrt(2.0)

    return Holder.rate * x


def with_a_loop(x):
    class Holder:
        for k in range(3):
            pass

    return x


def with_keywords(x):
    class Holder(flag=True):
        pass

    return x


def decorated(x):
    @np.vectorize
    class Holder:
        pass

    return x


@pytest.mark.parametrize(
    ("f", "line", "why"),
    [
        (around, "def get(self):", "uses 'k' of the code around the class"),
        (of_values, "start = x", "must be a constant"),
        (by_a_call, "rate = np.sqrt(2.0)", "must be a constant"),
        (with_a_loop, "for k in range(3):", "this statement of a class is not compiled"),
        (with_keywords, "class Holder(flag=True):", "keywords"),
        (of_a_base_that_runs_code, "class Derived(Counting):", "runs code of its own"),
        (of_an_enum, "class Level(enum.IntEnum):", "runs code of its own"),
        (decorated, "@np.vectorize", "this decorator of a class is not compiled"),
    ],
)
def test_refusals_are_at_the_line(f, line, why):
    with pytest.raises(CompileError, match=why) as caught:
        mlirad.jit(f)(np.ones(2))
    place = caught.value.location
    assert place is not None
    assert linecache.getline(place.filename, place.lineno).strip() == line
    assert caught.value.hint
    assert Counting.made == 0
