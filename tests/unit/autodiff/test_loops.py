"""First and second derivatives of small programs with loops, against central differences and one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand, passes
from loop_programs import MASKED, Program, programs
from xdsl.dialects.builtin import ModuleOp

from mlirad.testing.derivatives import check_jvp, check_transpose, check_vjp, random_like
from mlirad.testing.expr_functions import ask_forward, ask_jvp, ask_pullback, ask_vjp

PROGRAMS = programs()
ONE = np.float64(1.0)
SECOND_ORDER = ("recurrence", "newton", "trisolve", "for_in_while")


def primal(program: Program) -> Any:
    module = ModuleOp([])
    program.define(module)
    return callable_of(module, "f")


def everything(program: Program) -> list[int]:
    return list(range(len(program.arguments)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_order(name: str) -> None:
    program, module = PROGRAMS[name], ModuleOp([])
    f, wrt = program.define(module), everything(program)
    ask_vjp(module, "vjp", f, wrt)
    ask_jvp(module, "jvp", f, wrt)
    expand(module)
    function, vjp, jvp = primal(program), callable_of(module, "vjp"), callable_of(module, "jvp")
    check_jvp(function, jvp, program.arguments)
    check_vjp(function, vjp, program.arguments)
    check_transpose(function, vjp, jvp, program.arguments)


def second(name: str, mode: str) -> None:
    program = PROGRAMS[name]
    first, both = ModuleOp([]), ModuleOp([])
    wrt = everything(program)
    count = len(wrt)
    if mode == "reverse over forward":
        for module in (first, both):
            tangent = ask_jvp(module, "g", program.define(module), wrt)
        ask_vjp(both, "h", tangent, list(range(2 * count)))
        at = (*program.arguments, *random_like(program.arguments, 5))
        check_vjp(callable_of(expand(first), "g"), callable_of(expand(both), "h"), at, rtol=1e-5)
        return
    for module in (first, both):
        gradient = ask_vjp(module, "g", program.define(module), wrt)
    expand(first)

    def g(*xs: Any) -> Any:
        return callable_of(first, "g")(*xs, ONE)

    def h(*xs: Any) -> Any:
        return callable_of(both, "h")(*xs[:count], ONE, *xs[count:])

    if mode == "reverse over reverse":
        ask_vjp(both, "h", gradient, wrt, wrt)
        expand(both)
        check_vjp(g, h, program.arguments, rtol=1e-5)
    else:
        ask_jvp(both, "h", gradient, wrt, wrt)
        expand(both)
        check_jvp(g, h, program.arguments, rtol=1e-5)


MODES = ("reverse over reverse", "forward over reverse", "reverse over forward")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order(name: str, mode: str) -> None:
    second(name, mode)


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in SECOND_ORDER])
def test_second_order_of_the_rest(name: str, mode: str) -> None:
    second(name, mode)


@pytest.mark.parametrize("name", ["recurrence", "newton_each", "mix", "vector_steps", "inactive_branch"])
def test_forward_and_pullback_in_two_functions(name: str) -> None:
    """The pullback is called twice for one forward sweep, and does not repeat it."""
    program, module = PROGRAMS[name], ModuleOp([])
    f, wrt = program.define(module), everything(program)
    ask_forward(module, "forward", f, wrt)
    ask_pullback(module, "pullback", f, wrt)
    expand(module)
    assert "ad.residuals" not in str(module)
    forward, pullback = callable_of(module, "forward"), callable_of(module, "pullback")
    value, *residuals = forward(*program.arguments)
    np.testing.assert_allclose(value, primal(program)(*program.arguments)[0])
    for _ in range(2):
        check_vjp(
            primal(program),
            lambda *given: pullback(*forward(*given[:-1])[1:], given[-1]),
            program.arguments,
        )
    doubled = [2.0 * gradient for gradient in pullback(*residuals, ONE)]
    for gradient, expected in zip(pullback(*residuals, 2 * ONE), doubled, strict=True):
        np.testing.assert_allclose(gradient, expected)


def test_masked_root() -> None:
    """An exactly zero cotangent or tangent annihilates an infinite factor."""
    module = ModuleOp([])
    f = MASKED.define(module)
    ask_vjp(module, "vjp", f, [0])
    ask_jvp(module, "jvp", f, [0])
    expand(module)
    (x,) = MASKED.arguments
    (gradient,) = callable_of(module, "vjp")(x, ONE)
    np.testing.assert_allclose(gradient, [0.0, 0.5 / np.sqrt(0.5) + 1.0, 0.5 / np.sqrt(2.0) + 4.0])
    (tangent,) = callable_of(module, "jvp")(x, np.array([0.0, 1.0, 1.0]))
    np.testing.assert_allclose(tangent, gradient[1] + gradient[2])


@pytest.mark.parametrize("name", ["recurrence", "newton_each", "mix", "while_in_while"])
def test_every_stage_prints_and_parses_back(name: str) -> None:
    from expanded import parsed

    program, module = PROGRAMS[name], ModuleOp([])
    ask_vjp(module, "vjp", program.define(module), everything(program))
    marked = 0
    for _ in passes(module):
        text = str(module)
        marked += "ad.residual " in text
        assert str(parsed(text)) == text
    assert marked
