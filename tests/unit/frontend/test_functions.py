"""Functions as values: partial, closures, defaults, *args and **kwargs, callable objects; compared with Python."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import mlirad

X = np.array([1.5, -2.0, 3.0, 0.25, 5.0])


def plain(a, b, c=1.0, *, d=2.0):
    return a + 2 * b + 3 * c + 5 * d


def partials(x):
    p = functools.partial(plain, x[0], d=x[1])
    q = functools.partial(p, x[2])
    return p(x[2]), p(x[3], c=x[4]), p(x[0], d=7.0), q(), q(d=1.0)


OUTSIDE = functools.partial(plain, 2.0, c=3.0)
WITH_ARRAY = functools.partial(np.multiply, np.arange(5.0))


def partials_from_outside(x):
    return OUTSIDE(x[0]), OUTSIDE(x[1], d=x[2]), WITH_ARRAY(x)


def late_binding(x):
    late = []
    for i in range(3):
        late.append(lambda v: v * i)
    bound = [lambda v, i=i: v * i for i in range(3)]
    inner = [lambda v: v * i for i in range(3)]
    return late[0](x[1]), bound[0](x[1]), bound[2](x[1]), inner[0](x[2])


def rebound(x):
    k = 1.0

    def early(v, k=k):
        return v * k

    k = 3.0
    late = lambda v: v * k
    k = 5.0
    return early(x[0]), late(x[0])


def variadic(*a, **k):
    return a[0] * len(a) + sum(k.values()) + k.get("z", 0.0)


def spread(x):
    items, named = (x[0], x[1]), {"y": x[2], "z": x[3]}
    return variadic(*items, **named), variadic(x[0], w=x[1]), variadic(*x)


def only(a, /, b, *, c):
    return a - b * c


def only_by_kind(x):
    return only(x[0], b=x[1], c=x[2]), only(x[0], x[1], c=x[2])


def scaled_by(k):
    """Its parameter lives on in its result, through the branches there."""

    def g(v):
        if v > 0:
            w = v * k
        else:
            w = v - k
        return w + k

    return g


def returned_closures(x):
    s = 0.0
    for i in range(3):
        s += scaled_by(x[1])(x[i])
    return scaled_by(x[0])(x[1]), s


def composed(*functions):
    def run(v):
        for f in functions:
            v = f(v)
        return v

    return run


def compositions(x):
    return composed(np.sin, lambda v: v * 2, scaled_by(x[0]))(x[2])


def applied(f, *args, **kwargs):
    return f(*args, **kwargs)


def applications(x):
    return applied(plain, x[0], x[1], d=x[2]), applied(applied, np.multiply, x, 2.0)


def reductions(x):
    product = functools.reduce(lambda a, b: a * b, [x[0], x[1], x[2]])
    return product, functools.reduce(operator.add, x, 10.0), functools.reduce(operator.sub, x)


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k

    def plus(self, x, more=1.0):
        return x + self.k + more


SCALED = Scaled(3.0)


def objects(x):
    return SCALED(x[0]), SCALED.plus(x[1]), applied(SCALED.plus, x[2], more=x[0]), applied(SCALED, x)


PROGRAMS = [
    partials,
    partials_from_outside,
    late_binding,
    rebound,
    spread,
    only_by_kind,
    returned_closures,
    compositions,
    applications,
    reductions,
    objects,
]


def flat(value):
    items = value if isinstance(value, tuple) else (value,)
    return np.concatenate([np.ravel(item) for item in items])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_python(program) -> None:
    np.testing.assert_allclose(flat(mlirad.jit(program)(X.copy())), flat(program(X.copy())), rtol=1e-14)


@pytest.mark.parametrize("program", [partials, returned_closures, reductions, objects], ids=lambda p: p.__name__)
def test_derivatives(program) -> None:
    def total(x):
        s = 0.0
        for part in program(x):
            s += np.sum(part)
        return s

    steps = 1e-6 * np.eye(len(X))
    expected = [(total(X + step) - total(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(mlirad.grad(total)(X.copy()), expected, rtol=1e-6, atol=1e-7)


def test_attributes_and_partial_arrays_that_change_are_seen() -> None:
    kernel = mlirad.jit(objects)
    kernel(X.copy())
    before = SCALED.k
    try:
        SCALED.k = 4.0
        np.testing.assert_allclose(flat(kernel(X.copy())), flat(objects(X)))
    finally:
        SCALED.k = before
    other = mlirad.jit(partials_from_outside)
    other(X.copy())
    WITH_ARRAY.args[0][1] += 1.0
    np.testing.assert_allclose(flat(other(X.copy())), flat(partials_from_outside(X)))
