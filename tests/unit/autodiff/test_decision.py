"""Deciding what the tape stores changes no IR, and a decision is immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from expanded import CLEAN, callable_of, context, expand
from inplace_programs import random_program
from loop_programs import programs
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.autodiff.naming import erase_dead
from mlirad.autodiff.requests.differentiate import Differentiate
from mlirad.autodiff.tape.decision import forward_values, plans
from mlirad.autodiff.tape.decision.decide import decide
from mlirad.autodiff.tape.decision.plans import Decision
from mlirad.autodiff.tape.tape import find_markers, has_markers
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, dim, sum_of
from mlirad.lowering.clean_up.dce import Dce
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_vjp, for_loop, function, get, put, while_loop

Define = Callable[[ModuleOp], func.FuncOp]

N = 8
ARRAY, INDICES = types.tensor([N], types.F64), types.tensor([N], types.I64)


def sizes_from_an_array(module: ModuleOp) -> func.FuncOp:
    """s *= sum(sin(a[:p[i]])**2), in a loop that overwrites p[i + 1]: p no longer contains the size of a stored
    array."""

    def program(a: Expr, p: Expr) -> Expr:
        def step(i: Expr, s: Expr, p: Expr) -> Any:
            n = apply(np.minimum, apply(np.maximum, get(p, i), 1), N)
            part = np.sin(extract_slice(a, [constant(0, types.I64)], [n]))
            return sum_of(part * part) * s, put((n * 3 + i) - (n * 2), p, i + 1)

        return for_loop(N - 1, [constant(1.0, types.F64), p], step)[0]

    return function(module, "f", [ARRAY, INDICES], program)


def an_array_that_shrinks(module: ModuleOp) -> func.FuncOp:
    """A loop carries an array of unknown size: its length in a trip is not an operand of any op."""

    def program(a: Expr) -> Expr:
        def step(x: Expr, s: Expr) -> Any:
            part = np.sin(x)
            rest = extract_slice(x, [constant(1, types.I64)], [dim(x, 0) - 1])
            return rest, s * sum_of(part * part)

        start = extract_slice(a, [constant(0, types.I64)], [apply(np.minimum, dim(a, 0) - 0, N)])
        unknown = extract_slice(start, [constant(0, types.I64)], [dim(start, 0)])
        return while_loop([unknown, constant(1.0, types.F64)], lambda x, s: dim(x, 0) > 1, step)[1]

    return function(module, "f", [types.tensor([-1], types.F64)], program)


EXTRA: Mapping[str, tuple[Define, tuple[Any, ...], int]] = {
    "sizes_from_an_array": (sizes_from_an_array, (np.linspace(0.3, 1.2, N), np.array([3, 1, 4, 1, 5, 2, 6, 2])), 1),
    "an_array_that_shrinks": (an_array_that_shrinks, (np.linspace(0.3, 1.2, 5),), 1),
}
PROGRAMS: Mapping[str, tuple[Define, int]] = {
    **{name: (program.define, len(program.arguments)) for name, program in programs().items()},
    **{f"random_{seed}": (random_program(seed)[0], 2) for seed in range(20)},
    **{name: (define, count) for name, (define, _, count) in EXTRA.items()},
}


@cache
def decisions(name: str) -> list[Decision]:
    """The decisions for the gradient of a program; deciding leaves its text unchanged."""
    define, count = PROGRAMS[name]
    module = ModuleOp([])
    ask_vjp(module, "vjp", define(module), list(range(count)))
    for each in (*CLEAN, Differentiate(), Dce()):
        each.apply(context(), module)
    found: list[Decision] = []
    for op in module.ops:
        if isinstance(op, func.FuncOp) and has_markers(op):
            entry = op.body.block
            erase_dead(entry, None)
            markers, before = find_markers(entry), str(module)
            found.append(decide(entry, markers.reverse_blocks, markers.needed))
            assert str(module) == before
    return found


def changeable(value: Any, path: str = "decision") -> Iterator[str]:
    """The mutable parts of a value, except the IR that it names."""
    if value is None or isinstance(value, SSAValue | Operation | Block | Enum | int | float):
        return
    if is_dataclass(value):
        if not type(value).__dataclass_params__.frozen:
            yield path
        for each in fields(value):
            yield from changeable(getattr(value, each.name), f"{path}.{each.name}")
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from changeable(each, f"{path}[]")
    elif isinstance(value, MappingProxyType):
        for key, each in value.items():
            yield from changeable(key, f"{path}.keys()")
            yield from changeable(each, f"{path}[]")
    else:
        yield f"{path}: {type(value).__name__}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_deciding_changes_no_text_and_gives_what_cannot_be_changed(name: str) -> None:
    for decision in decisions(name):
        assert not set(changeable(decision))


def test_the_test_sees_what_it_should() -> None:
    (decision,) = decisions("recurrence")
    with pytest.raises(FrozenInstanceError):
        decision.tapes = ()
    with pytest.raises(TypeError):
        decision.plans[next(iter(decision.plans))] = plans.Count((), 1)
    assert list(changeable(plans.TapePlan([], (), None, 1, ()))) == ["decision.values: list"]


def test_the_programs_need_plans_of_every_kind() -> None:
    pairs = [pair for name in PROGRAMS for decision in decisions(name) for pair in decision.plans.items()]
    kinds = {type(plan) for _, plan in pairs}
    assert kinds == {plans.Load, *plans.Unstored.__args__}
    assert {type(value) for value, _ in pairs} >= {
        forward_values.Overwritten,
        forward_values.Base,
        forward_values.Size,
    }


@pytest.mark.parametrize("name", EXTRA)
def test_sizes_of_stored_arrays_are_recovered_before_the_arrays(name: str) -> None:
    define, arguments, count = EXTRA[name]
    primal, module = ModuleOp([]), ModuleOp([])
    define(primal)
    ask_vjp(module, "vjp", define(module), list(range(count)))
    expand(module)
    rest = arguments[count:]
    check_vjp(
        lambda *given: callable_of(primal, "f")(*given, *rest),
        lambda *given: callable_of(module, "vjp")(*given[:count], *rest, *given[count:]),
        arguments[:count],
    )
