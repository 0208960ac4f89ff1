"""Under the mask: what ops answer about elements that are not needed; and random computations on selections, which the
pass moves to whole arrays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp

import mlirad
from mlirad.dialect import nd  # noqa: F401  (defines the ops)
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, insert
from mlirad.dialect.core.op import op_classes
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted
from mlirad.testing.interpreter import run

NONLINEAR = [
    each
    for each in op_classes()
    if issubclass(each, ElementwiseOp) and not each.linear and not each.get_irdl_definition().properties
]


def slopes_where_harmless(op: type[ElementwiseOp]) -> list[Any] | None:
    """The value of an op of floats and its derivatives, if all operands have the op's harmless value."""
    function = func.FuncOp("f", ([], []))
    with building(function.body.block):
        operands = [constant(float(op.harmless), types.F64) for _ in op.get_irdl_definition().operands]
        try:
            out = emit(op, *operands)
        except CompileError:
            return None  # it takes no floats
        made: list[Expr] = [out]
        if types.is_float(out.type):
            assert isinstance(out.value.owner, ElementwiseOp)
            found = out.value.owner.cotangents([constant(1.0, types.F64)], [out], operands)
            made += [each for each in found if isinstance(each, Expr)]
        insert(func.ReturnOp(*(each.value for each in made)))
    function.function_type = FunctionType.from_lists([], [each.type for each in made])
    return list(run(ModuleOp([function]), "f"))


@pytest.mark.parametrize("op", NONLINEAR, ids=lambda op: op.name)
def test_an_op_and_its_derivatives_are_finite_where_it_is_harmless(op: type[ElementwiseOp]) -> None:
    for value in slopes_where_harmless(op) or []:
        assert np.isfinite(value), f"{op.name}: give @op another harmless="


def test_floats_have_enough_ops_for_the_test_above() -> None:
    assert sum(slopes_where_harmless(op) is not None for op in NONLINEAR) > 15


# Random computations, each a chain of ops on selections by one mask, and its last op.

CHAIN: list[Callable[[Any, Any, Any], Any]] = [
    lambda s, t, a: np.sqrt(s * s + a),
    lambda s, t, a: np.log(s * s) + t,
    lambda s, t, a: 1.0 / s - t,
    lambda s, t, a: np.exp(-(s * t)) * a,
    lambda s, t, a: np.maximum(s, t),
    lambda s, t, a: np.where(s > t, s, a * t),
    lambda s, t, a: abs(s) ** 1.5 - s.mean(),
    lambda s, t, a: s - np.max(t, initial=-1.0) * a,
    lambda s, t, a: s * (t > 0.5) - (s > a).astype(np.float64),
]
ENDS: list[Callable[[Any, Any], Any]] = [
    lambda s, t: s.sum(),
    lambda s, t: s @ t,
    lambda s, t: s.max(initial=-5.0) - t.min(initial=5.0),
    lambda s, t: (s * 0.1).prod() + s.var(),
    lambda s, t: (s > t).any() * 1.0 + np.count_nonzero(s > 0.5),
    lambda s, t: np.sum(s[::-1] * t),  # needs the order
    lambda s, t: s[0] * t[-1] + s.sum(),  # needs elements
]
X = np.array([0.7, -1.2, np.nan, 0.4, np.inf, 1.9, -0.3])
Y = np.array([1.1, 0.6, 0.0, -0.8, np.nan, 0.3, 1.4])
NEEDED = np.array([True, False, False, True, False, True, True])


def program(seed: int) -> Callable[..., Any]:
    rng = random.Random(seed)
    steps, end, is_written = rng.choices(CHAIN, k=rng.randint(1, 3)), rng.choice(ENDS), rng.random() < 0.5
    first, second, third = (steps * 3)[:3]
    count = len(steps)

    def computed(x, y, m, a):
        s, t = x[m], y[m]
        s = first(s, t, a)
        if count > 1:
            s = second(s, t, a)
        if count > 2:
            t = third(t, s, a)
        z = x * 1.0
        if is_written:
            z[m] = s + t
            s = z[m]
        return end(s, t)

    return computed


@pytest.mark.parametrize("seed", range(12))
def test_random_chains(seed: int) -> None:
    check(seed, Interpreted)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12, 150))
def test_many_random_chains(seed: int) -> None:
    check(seed, Interpreted)
    if seed % 10 == 0:
        check(seed, mlirad.jit)


def check(seed: int, compiled: Callable[..., Any]) -> None:
    """Unselected elements are nan and infinite, and do not affect the value or a derivative."""
    f = program(seed)
    wanted = f(X, Y, NEEDED, 0.5)
    np.testing.assert_allclose(compiled(f)(X, Y, NEEDED, 0.5), wanted, rtol=1e-12)
    if not np.isfinite(wanted):
        return  # it is singular at what is selected
    gradient = mlirad.grad(f, argnums=(0, 1))
    found = compiled(lambda x, y, m, a: gradient(x, y, m, a))(X, Y, NEEDED, 0.5)
    h, expected = 1e-6, np.zeros((2, 7))
    for k in np.flatnonzero(NEEDED):
        for number in (0, 1):
            args = [[X.copy(), Y.copy()] for _ in range(2)]
            args[0][number][k] += h
            args[1][number][k] -= h
            expected[number, k] = (f(*args[0], NEEDED, 0.5) - f(*args[1], NEEDED, 0.5)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
