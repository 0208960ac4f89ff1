"""Functions made from functions: composed, curried, returned, stored, decorated; compared with plain Python.

A function is its code and its cells. Only a call of the same code with the same cells is a recursion.
"""

from __future__ import annotations

import functools
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import duals
import numpy as np
import pytest
import random_compositions

import mlirad
from mlirad import grad, jit
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

TRANSFORMS = re.compile("grad|slope|derivative")


def check(seeds: range, run: Callable[[Any], Callable[..., Any]]) -> Counter[str]:
    happened: Counter[str] = Counter()
    for seed in seeds:
        wanted = random_compositions.composed(seed, duals.grad, duals.jvp)(0.4)
        found = run(random_compositions.composed(seed, mlirad.grad, mlirad.jvp))(0.4)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), f"seed {seed}"
        happened["derivatives" if TRANSFORMS.search(random_compositions.own_text(seed)) else "plain"] += 1
    return happened


def test_random_compositions() -> None:
    happened = check(range(60), lambda f: Interpreted(f, "autodiff"))
    assert happened["derivatives"] > 10 < happened["plain"]
    check(range(60, 66), jit)


@pytest.mark.full
def test_a_thousand_compositions(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    happened = check(range(900), lambda f: Interpreted(f, "autodiff"))
    native = check(range(900, 1000), jit)
    with capsys.disabled():
        print(
            f"\n{sum(happened.values())} interpreted, {sum(native.values())} native, ten deep, "
            f"{(happened + native)['derivatives']} with derivatives: none wrong, none refused; "
            f"{time.monotonic() - start:.0f} s"
        )


def compose(f, g):
    def h(x):
        return f(g(x))

    return h


def twice(f):
    def h(x):
        return f(f(x))

    return h


def nth_derivative(f, n):
    if n == 0:
        return f
    return nth_derivative(grad(f), n - 1)


def derivative_of(f, n):
    """The same, with each derivative as a closure."""
    if n == 0:
        return f

    def derived(x):
        return grad(derivative_of(f, n - 1))(x)

    return derived


def layered(widths, last):
    for w in widths:
        last = (lambda w, following: lambda x: following(np.tanh(w @ x)))(w, last)
    return last


def sine(x):
    return np.sin(x)


def damp(x):
    return 0.9 * x + 0.1


X = np.array([0.3, 0.4, 0.5])
FUNCTIONS = [
    compose(compose(sine, damp), sine),
    twice(twice(damp)),
    twice(twice(twice(compose(sine, damp)))),
    functools.reduce(compose, [sine, damp] * 60),  # deeper than a function is inlined in itself
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_made_around_the_kernel(function) -> None:
    for x in (0.3, X):
        np.testing.assert_allclose(jit(function)(x), function(x), rtol=1e-12)
    np.testing.assert_allclose(grad(function)(0.3), duals.grad(function)(0.3), rtol=1e-12)


@pytest.mark.parametrize("n", range(5))
def test_nth_derivatives(n: int) -> None:
    wanted = [0.3**5, 5 * 0.3**4, 20 * 0.3**3, 60 * 0.3**2, 120 * 0.3][n]
    for of in (nth_derivative, derivative_of):
        assert jit(of(lambda x: x**5, n))(0.3) == pytest.approx(wanted)

        def inside(x, of=of):
            return of(lambda y: y**5, n)(x)

        assert jit(inside)(0.3) == pytest.approx(wanted)


def test_layers_of_closures() -> None:
    rng = np.random.default_rng(0)
    net = layered([rng.normal(size=(3, 3)) for _ in range(6)], np.sum)
    np.testing.assert_allclose(jit(net)(X), net(X), rtol=1e-12)
    e = 1e-6
    differences = [(net(X + e * d) - net(X - e * d)) / (2 * e) for d in np.eye(3)]
    np.testing.assert_allclose(grad(net)(X), differences, rtol=1e-6, atol=1e-9)


def test_one_code_with_other_globals() -> None:
    """Two functions with the same code, one calling the other: this is no recursion either."""
    text = jit(lambda x: x)  # a kernel is a leaf, whatever function it has
    spaces = [{"inner": text, "by": 2.0}, {"inner": None, "by": 3.0}]

    def pattern(x):
        return by * inner(x)  # noqa: F821  (globals of each copy)

    made = [type(pattern)(pattern.__code__, space) for space in spaces]
    spaces[1]["inner"] = made[0]
    assert jit(made[1])(5.0) == 30.0


def test_true_recursions_are_functions() -> None:
    def through_closures(n, x):
        def visit(k, f):
            if k < 1:
                return f(x)
            return 0.5 * visit(k - 1, f)

        return visit(n, lambda y: compose(sine, damp)(y))

    def mutual(n, x):
        def even(k):
            return x if k == 0 else compose(damp, odd)(k - 1)

        def odd(k):
            return 2.0 * x if k == 0 else twice(damp)(even(k - 1))

        return even(n)

    for function, name in ((through_closures, "visit"), (mutual, "even")):
        kernel = jit(function)
        for n in (0, 1, 7, 200):
            assert kernel(n, 0.4) == pytest.approx(function(n, 0.4), rel=1e-12)
        assert f"func.call @{name}" in kernel.lower(7, 0.4).as_text("tensor")
    assert grad(through_closures, 1)(3, 0.4) == pytest.approx(0.125 * 0.9 * np.cos(0.46))


def test_a_recursion_that_makes_closures_is_specialised_on_its_depth() -> None:
    def descend(n, following):
        return following(1.0) if n < 1 else descend(n - 1, lambda v: following(v * n))

    kernel = jit(lambda n: descend(n, lambda v: v))
    assert [kernel(n) for n in (5, 0, 3)] == [120.0, 1.0, 6.0]
    with pytest.raises(CompileError, match="descend calls itself too often"):
        kernel(5.0)


def test_decorators_inside_a_kernel() -> None:
    def function(x):
        def scaled(by):
            def decorate(f):
                @functools.wraps(f)
                def wrapper(*args, **named):
                    return by * f(*args, **named)

                return wrapper

            return decorate

        @scaled(2.0)
        @scaled(x)
        def square(y, plus=1.0):
            return y * y + plus

        @grad
        def slope(y):
            return square(y) * y

        return square(x), square(x, plus=3.0), slope(x)

    assert jit(function)(3.0) == (2 * 3 * 10, 2 * 3 * 12, 2 * 3 * (3 * 9 + 1))


def test_what_wraps_a_kernel_is_not_taken_for_it() -> None:
    @jit
    def kernel(x):
        return x * 2.0

    slope = grad(lambda x: x * x)
    slope(1.0)

    @functools.wraps(kernel)
    def plus_one(x):
        return kernel(x) + 1.0

    @functools.wraps(slope)
    def slope_plus_one(x):
        return slope(x) + 1.0

    @functools.wraps(mlirad.grad)
    def twice_the_gradient(f):
        return lambda x: 2.0 * mlirad.grad(f)(x)

    class Counted:
        def __init__(self, function):
            functools.update_wrapper(self, function)
            self.function = function

        def __call__(self, x):
            return self.function(x) + 3.0

    counted = Counted(kernel)
    assert jit(plus_one)(3.0) == 7.0
    assert jit(slope_plus_one)(3.0) == 7.0
    assert jit(lambda x: plus_one(x))(3.0) == 7.0
    assert grad(lambda x: plus_one(x) * x)(3.0) == 13.0
    assert jit(counted)(3.0) == 9.0
    assert jit(lambda x: counted(x))(3.0) == 9.0
    assert jit(lambda x: twice_the_gradient(lambda y: y * y)(x))(3.0) == 12.0
