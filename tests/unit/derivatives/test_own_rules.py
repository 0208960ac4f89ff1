"""Custom derivative rules: under every transform, in loops and branches, and their refusals.

A factor distinguishes the rules from the derivatives of the functions themselves.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.kernel import forget_all
from mlirad.library.own_rules import REGISTERED

X = np.array([0.3, -0.7, 1.2])
FACTOR = np.array([2.0])


@mlirad.custom_vjp
def squared(x):
    return x * x


squared.defvjp(lambda x: (squared(x), x), lambda x, g: (6.0 * x * g,))


@mlirad.custom_jvp
def squared_too(x):
    return x * x


@squared_too.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return squared_too(x), 6.0 * x * t


@mlirad.custom_jvp
def by_argument(x):
    return x * x


by_argument.defjvps(lambda t, out, x: 6.0 * t * x)


class Triple:
    """A number with derivatives that obey the rule: d(x*x) = 6 x dx."""

    def __init__(self, value, first, second):
        self.value, self.first, self.second = value, first, second

    def __add__(self, other):
        return Triple(self.value + other.value, self.first + other.first, self.second + other.second)

    def scaled(self, c):
        return Triple(self.value * c, self.first * c, self.second * c)

    def times(self, other):
        second = self.second * other.value + 2 * self.first * other.first + self.value * other.second
        return Triple(self.value * other.value, self.first * other.value + self.value * other.first, second)

    def squared(self):
        """Of y = x x: y' = 6 x x', and of that by the product rule y'' = 6 x' x' + 6 x x''."""
        return Triple(
            self.value**2, 6 * self.value * self.first, 6 * self.first * self.first + 6 * self.value * self.second
        )


def made(square):
    def program(x):
        total, i = 0.0, 0
        while i < 3:
            if x[i] > 0.0:
                total = total + square(x[i]) * square(total)
            else:
                x[i] = square(x[i])
                total += x[i]
            i += 1
        for _ in range(2):
            total = square(total * 1.1)
        return total

    return program


def expected(along: np.ndarray) -> Triple:
    """The program at X, its first and second derivatives along a direction."""
    total = Triple(0.0, 0.0, 0.0)
    for value, t in zip(X, along, strict=True):
        x = Triple(value, t, 0.0)
        total = total + (x.squared().times(total.squared()) if value > 0 else x.squared())
    for _ in range(2):
        total = total.scaled(1.1).squared()
    return total


@pytest.mark.parametrize("square", [squared, squared_too, by_argument])
def test_rules_hold_in_loops_and_branches_in_all_modes(square) -> None:
    program = made(square)
    units = np.eye(3)
    first = np.array([expected(unit).first for unit in units])
    second = np.array(
        [[(expected(u + v).second - expected(u).second - expected(v).second) / 2 for v in units] for u in units]
    )

    def all_of(x):
        gradient, both = mlirad.grad(program), mlirad.vmap(mlirad.grad(program))(np.stack((x, x)))
        forward = mlirad.jacfwd(program)
        lanes = mlirad.grad(lambda xs: np.sum(mlirad.vmap(program)(xs)))(np.stack((x, x)))
        along = mlirad.jvp(program, (x.copy(),), (np.ones(3),))[1]
        hessians = [mode(each)(x.copy()) for mode in (mlirad.jacfwd, mlirad.jacrev) for each in (gradient, forward)]
        return gradient(x.copy()), forward(x.copy()), along, both, lanes, hessians

    gradient, forward, along, both, lanes, hessians = mlirad.jit(all_of)(X)
    np.testing.assert_allclose(gradient, first, rtol=1e-13)
    np.testing.assert_allclose(forward, first, rtol=1e-13)
    np.testing.assert_allclose(along, first.sum(), rtol=1e-12)
    for each in (*both, *lanes):
        np.testing.assert_allclose(each, first, rtol=1e-13)
    for each in hessians:
        np.testing.assert_allclose(each, second, rtol=1e-12, atol=1e-15)


@mlirad.custom_vjp
def affine(p, scale=2.0):
    return {"y": p["w"] @ p["x"] * scale, "calls": 1}


def affine_fwd(p, scale):
    return affine(p, scale), (p, scale)


def affine_bwd(kept, g):
    p, scale = kept
    gy = (g["y"] * scale * FACTOR[0]).astype(g["y"].dtype)
    return {"w": np.outer(gy, p["x"]), "x": p["w"].T @ gy, "name": None}, None


affine.defvjp(affine_fwd, affine_bwd)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arguments_and_results_are_pytrees_and_rules_capture_arrays(dtype) -> None:
    w, x = np.array([[2.0, 1.0], [0.0, 3.0]], dtype), np.array([0.3, -0.7], dtype)

    def loss(w, x):
        return np.sum(affine({"w": w, "x": x[::-1], "name": "a layer"})["y"])

    gw, gx = mlirad.grad(loss, argnums=(0, 1))(w, x)
    assert gw.dtype == gx.dtype == dtype
    np.testing.assert_allclose(gw, FACTOR[0] * 2 * np.outer(np.ones(2), x[::-1]), rtol=1e-6)
    np.testing.assert_allclose(gx, FACTOR[0] * 2 * w.sum(axis=0)[::-1], rtol=1e-6)


def test_check_grads_takes_functions_with_rules() -> None:
    @mlirad.custom_vjp
    def right(x):
        return np.exp(x) * x

    right.defvjp(lambda x: (right(x), (np.exp(x), x)), lambda r, g: ((r[0] * r[1] + r[0]) * g,))
    mlirad.check_grads(right, (X,), order=2)
    with pytest.raises(AssertionError, match="order 1"):
        mlirad.check_grads(squared, (X,), order=1)


@partial(mlirad.custom_jvp, nondiff_argnums=(0, 2))
def repeated(f, x, n):
    for _ in range(n):
        x = f(x)
    return x


@repeated.defjvp
def repeated_jvp(f, n, primals, tangents):
    (x,), (t,) = primals, tangents
    return repeated(f, x, n), mlirad.jvp(f, (x,), (t,))[1] * n


def test_functions_are_arguments_that_are_not_differentiated() -> None:
    both = mlirad.jit(lambda x, c: mlirad.grad(lambda z: repeated(lambda y: y * c + np.sin(y), z, 3))(x))
    np.testing.assert_allclose(both(0.4, 2.0), 3 * (2.0 + np.cos(0.4)))
    with pytest.raises(mlirad.DifferentiationError, match="the rule does not cover") as error:
        mlirad.grad(lambda c: repeated(lambda y: y * c, 0.4, 3))(2.0)
    assert "stop_gradient" in str(error.value)
    stopped = mlirad.grad(lambda c: repeated(lambda y: y * mlirad.stop_gradient(c), c, 3))
    assert stopped(2.0) == 6.0


def test_sizes_that_depend_on_data_recursion_and_checkpoints() -> None:
    def of_all(x):
        chosen = np.sum(squared(x[x > 0.0]))
        for _ in mlirad.checkpointed(range(3), 2):
            x = squared(x) * 0.5
        return chosen + np.sum(x) + recursive(x[0], 2)

    def recursive(x, n):
        return x if n == 0 else squared(recursive(x, n - 1))

    def derivative(x):
        y, d = x, np.ones_like(x)
        for _ in range(3):
            y, d = y * y * 0.5, 3.0 * y * d
        found = d + (x > 0) * 6 * x
        y, d = y[0], d[0]
        for _ in range(2):
            y, d = y * y, 6 * y * d
        found[0] += d
        return found

    np.testing.assert_allclose(mlirad.grad(of_all)(X), derivative(X), rtol=1e-12)
    np.testing.assert_allclose(mlirad.jvp(lambda x: np.sum(squared(x[x > 0])), (X,), (X,))[1], 6 * X[X > 0] @ X[X > 0])
    assert mlirad.grad(lambda x: np.sum(squared(x)))(np.zeros(0)).shape == (0,)


# Refusals at the user's line.


def total(x):
    return np.sum(x * x)


def ruled(fwd, bwd, function=total) -> Any:
    made = mlirad.custom_vjp(function)
    made.defvjp(fwd, bwd)
    return made


def kept(x):
    return total(x), x


def writing(x):
    x[0] = 1.0  # the line
    return total(x), x


def no_pair(x):
    return total(x)  # the line


def other_result(x):
    return x, x  # the line


def other_shape(x, g):
    return (g,)  # the line


def other_dtype(x, g):
    return (x.astype(np.float32),)  # the line


def other_structure(x, g):
    return x  # the line


def raising(x, g):  # the line
    raise NotImplementedError


REMEMBERED = []


def remembering(x, g):
    REMEMBERED.append(1.0)  # the line
    return (x,)


@pytest.mark.parametrize(
    ("fwd", "bwd", "message"),
    [
        (writing, lambda x, g: (x,), "writes an array that is passed to it"),
        (no_pair, lambda x, g: (x,), "instead of a pair"),
        (other_result, lambda x, g: (x,), r"an array \(3,\) float64 where the function returns a NumPy float64"),
        (kept, other_shape, r"where its argument 0 is an array \(3,\)"),
        (kept, other_dtype, "returns float32 where its argument 0 is float64"),
        (kept, other_structure, "for 1 argument"),
        (kept, raising, "always raises"),
        (kept, remembering, "change"),
    ],
)
def test_what_a_rule_may_not_do_is_refused_at_its_line(fwd, bwd, message) -> None:
    with pytest.raises(mlirad.CompileError, match=message) as error:
        mlirad.jit(ruled(fwd, bwd))(X)
    assert "# the line" in str(error.value)


def test_rules_that_are_not_linear_serve_one_mode() -> None:
    clipped = ruled(kept, lambda x, g: (2 * x * np.clip(g, -1.0, 1.0),))
    np.testing.assert_allclose(mlirad.grad(lambda x: 3.0 * clipped(x))(X), 2 * X)
    with pytest.raises(mlirad.DifferentiationError, match="not linear in the cotangents"):
        mlirad.jvp(clipped, (X,), (X,))


def climb(s, a):
    return s if s > 3.0 else climb(s * 1.5 + 0.2 * np.sin(a * s), a)


def test_rules_of_functions_that_call_themselves_serve_both_modes() -> None:
    """The values that the transpose needs are known when the function has been cut in two, and are checked then."""
    backward, forward = mlirad.custom_vjp(climb), mlirad.custom_jvp(climb)
    backward.defvjp(
        lambda s, a: (climb(s, a), (s, a)), lambda kept, g: mlirad.vjp(lambda s, a: 2.0 * climb(s, a), *kept)[1](g)
    )
    forward.defjvp(lambda primals, tangents: (climb(*primals), 2.0 * mlirad.jvp(climb, primals, tangents)[1]))
    slopes = mlirad.grad(climb, argnums=(0, 1))(0.5, 0.7)
    for function in (backward, forward):
        np.testing.assert_allclose(mlirad.grad(function, argnums=(0, 1))(0.5, 0.7), 2.0 * np.array(slopes))
        tangent = mlirad.jvp(function, (0.5, 0.7), (1.0, 0.3))[1]
        np.testing.assert_allclose(tangent, 2.0 * (slopes[0] + 0.3 * slopes[1]))
    bent = mlirad.custom_vjp(climb)
    bent.defvjp(lambda s, a: (climb(s, a), (s, a)), lambda kept, g: (climb(g, kept[1]), climb(kept[0], g)))
    with pytest.raises(mlirad.DifferentiationError, match="not linear in the cotangents"):
        mlirad.jvp(bent, (0.5, 0.7), (1.0, 0.3))


def test_a_function_without_a_rule_and_one_that_writes_its_argument() -> None:
    with pytest.raises(mlirad.CompileError, match="without a rule"):
        mlirad.jit(mlirad.custom_vjp(total))(X)
    with pytest.raises(mlirad.CompileError, match="writes an array that is passed to it"):
        mlirad.jit(ruled(kept, lambda x, g: (x,), function=lambda x: np.sum(np.add(x, 1.0, out=x))))(X)
    with pytest.raises(mlirad.CompileError, match="cannot be used in a compiled function"):
        mlirad.jit(lambda x: mlirad.custom_jvp(total)(x))(X)
    with pytest.raises(TypeError, match="a rule is a function"):
        mlirad.custom_jvp(total).defjvp(3.0)  # pyright: ignore[reportArgumentType]  # it is wrong


# Outside of compiled code, and between processes.


def test_it_is_the_plain_function_and_found_by_its_name() -> None:
    assert squared(3.0) == 9.0 and squared.__name__ == "squared"
    assert pickle.loads(pickle.dumps(squared)) is squared
    assert pickle.loads(pickle.dumps(ruled(kept, other_shape))).rules == (kept, other_shape)


def test_another_rule_is_another_kernel() -> None:
    function = ruled(kept, lambda x, g: (2 * x * g,))
    gradient = mlirad.grad(function)
    np.testing.assert_allclose(gradient(X), 2 * X)
    function.defvjp(kept, lambda x, g: (FACTOR * x * g,))
    FACTOR[:] = 5.0
    np.testing.assert_allclose(gradient(X), 5 * X)
    FACTOR[:] = 2.0
    np.testing.assert_allclose(gradient(X), 2 * X)
    assert gradient.cache_info().misses == 2


@pytest.fixture
def registry():
    """Registrations of a test are removed after it."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)
    forget_all()


def test_rules_are_registered_for_functions_that_are_there(registry) -> None:
    gradient = mlirad.grad(lambda x: np.sum(np.abs(x)))
    np.testing.assert_array_equal(gradient(X), np.sign(X))

    def smooth(primals, tangents):
        (x,), (t,) = primals, tangents
        return np.abs(x), t * x / np.sqrt(x * x + 1.0)

    mlirad.register_derivative(np.abs, jvp=smooth)
    np.testing.assert_allclose(gradient(X), X / np.sqrt(X * X + 1.0))

    def power(x, n=2):
        return x**n

    mlirad.register_derivative(power, vjp=(lambda x, n: (power(x, n), x), lambda x, g: (100.0 * x * g, None)))
    assert mlirad.jit(mlirad.grad(power))(3.0) == 300.0 and mlirad.hessian(power)(3.0) == 100.0
    with pytest.raises(TypeError, match="either jvp=, a rule, or vjp="):
        mlirad.register_derivative(power)


def test_a_registered_rule_takes_undifferentiated_arguments_first(registry) -> None:
    def applied(f, x):
        return f(x)

    def rule(f, primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 10.0 * f(x) * t

    mlirad.register_derivative(applied, jvp=rule, nondiff_argnums=(0,))
    assert mlirad.grad(lambda x: applied(lambda y: y * y, x))(3.0) == 90.0
    assert mlirad.grad(lambda x: applied(np.cos, x))(0.0) == 10.0
