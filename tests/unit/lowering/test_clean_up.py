"""The clean-up passes preserve results, bit for bit, and failing checks; locations; linear time."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import random_ir
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass

from mlirad.dialect.arrays.elements import AddAtOp, ExtractOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, full, insert, sum_of, where
from mlirad.dialect.ops.check import CheckIndexOp, CheckOp, check, check_index
from mlirad.dialect.ops.choice import annihilated
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import DimOp
from mlirad.dialect.ops.wrapped_index import WrapIndexOp
from mlirad.lowering.clean_up.canonicalize import Canonicalize
from mlirad.lowering.clean_up.check_elimination import EliminateChecks
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.clean_up.hoist import Hoist
from mlirad.lowering.clean_up.inline import Inline
from mlirad.testing.expr_functions import branch, for_loop, function, get, program, put, while_loop
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

CLEAN: tuple[ModulePass, ...] = (Canonicalize(), Cse(), Dce())
PIPELINES: dict[str, tuple[ModulePass, ...]] = {
    "canonicalize": (Canonicalize(),),
    "cse": (Cse(),),
    "dce": (Dce(),),
    "hoist": (Hoist(),),
    "checks": (EliminateChecks(),),
    "inline": (Inline(),),
    "optimized": (Inline(), *CLEAN, EliminateChecks(), Hoist(), *CLEAN),
}
F64, I64 = types.F64, types.I64


def applied(passes: tuple[ModulePass, ...], module: ModuleOp) -> ModuleOp:
    """The module after the passes, verified after each."""
    changed = module.clone()
    for each in passes:
        each.apply(Context(), changed)
        changed.verify()
        verify_dominance(changed)
    return changed


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()]


def run_both(module: ModuleOp, passes: tuple[ModulePass, ...], *inputs: object) -> ModuleOp:
    """The module after the passes, which must compute the same as before."""
    changed = applied(passes, module)
    assert random_ir.outcome(changed, inputs) == random_ir.outcome(module, inputs)
    return changed


@functools.cache
def random_program(seed: int) -> tuple[ModuleOp, list[object]]:
    module = random_ir.module(seed)
    inputs = [random_ir.arguments(7 * seed + number) for number in range(2)]
    return module, [(given, random_ir.outcome(module, given)) for given in inputs]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("name", PIPELINES)
def test_random_programs_keep_their_values(name: str, seed: int) -> None:
    module, expected = random_program(seed)
    changed = applied(PIPELINES[name], module)
    for given, outcome in expected:
        assert random_ir.outcome(changed, given) == outcome


@pytest.mark.full
@pytest.mark.parametrize("seed", range(25, 400))
def test_more_random_programs_keep_their_values(seed: int) -> None:
    test_random_programs_keep_their_values("optimized", seed)


def test_the_generator_reaches_what_passes_change() -> None:
    before = [op for seed in range(25) for op in names(random_program(seed)[0])]
    after = [op for seed in range(25) for op in names(applied(PIPELINES["optimized"], random_program(seed)[0]))]
    assert len(after) < len(before) / 2
    for name in ("scf.for", "scf.while", "scf.if", "nd.check_index", "nd.insert", "nd.contract"):
        assert 0 < after.count(name) < before.count(name)
    outcomes = [outcome for seed in range(25) for _, outcome in random_program(seed)[1]]
    assert any(isinstance(outcome[0], str) for outcome in outcomes)  # a check failed
    assert any(not isinstance(outcome[0], str) for outcome in outcomes)


@pytest.mark.parametrize("name", PIPELINES)
def test_every_op_keeps_a_location(name: str) -> None:
    for seed in range(10):
        before = {str(op.location) for op in random_program(seed)[0].walk()}
        for op in applied(PIPELINES[name], random_program(seed)[0]).walk():
            assert str(op.location) in before
            if op.name.startswith("nd.") and op.parent_op() is not None:
                # The generator leaves only the numbers of results and returns without a place.
                assert not isinstance(op.location, UnknownLoc) or op.name in ("nd.constant", "nd.full")


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, np.inf, np.nan])
def test_algebra_is_exact(value: float) -> None:
    def body(x: Expr) -> list[Expr]:
        zero, one = constant(0.0, F64), constant(1.0, F64)
        terms = [x + zero, x + -0.0, x - 0.0, 0.0 - x, -0.0 - x, x * one, x * -1.0, x / one, x / -1.0, x * zero, -(-x)]
        terms += [x - -x, x + -x, (-x) * (-x), x**1.0, x**0.0, where(x == x, x, x)]
        terms += [annihilated(x, zero), annihilated(x, x, one), annihilated(x, x, zero)]
        return [*terms, x > x, x < x, x >= x, x <= x, x == x, x != x]

    changed = run_both(program([F64], body), CLEAN, np.float64(value))
    (left,) = [op for op in changed.walk() if op.name == "nd.annihilate"]
    assert len(left.operands) == 2
    assert names(changed).count("nd.equal") == 1
    assert not {"nd.greater", "nd.less", "nd.greater_equal", "nd.less_equal"} & set(names(changed))


@pytest.mark.parametrize("value", [2**53 + 1, -3, 0, 7])
def test_casts_that_lose_are_kept(value: int) -> None:
    def body(n: Expr) -> list[Expr]:
        return [cast(cast(n, F64), I64), cast(cast(n, types.I32), I64), cast(cast(cast(n, types.I32), I64), types.I32)]

    changed = run_both(program([I64], body), CLEAN, np.int64(value))
    assert names(changed).count("nd.cast") == 4


def test_a_sum_of_equal_terms_is_not_a_product() -> None:
    changed = run_both(
        program([F64], lambda x: [sum_of(full(x, (10,))), sum_of(full(constant(0.0, F64), (10,)))]),
        CLEAN,
        np.float64(0.1),
    )
    assert names(changed).count("nd.sum") == 1


@pytest.mark.parametrize("value", [-0.0, 0.0, 2.0])
def test_adding_to_zeros_is_exact(value: float) -> None:
    def body(x: Expr, i: Expr) -> list[Expr]:
        return [emit(AddAtOp, x, full(constant(0.0, F64), (4,)), i)]

    changed = run_both(program([F64, I64], body), CLEAN, np.float64(value), np.int64(2))
    assert "nd.add_at" not in names(changed)


def test_known_indices_need_no_check_unless_they_fail() -> None:
    def body(x: Expr) -> list[Expr]:
        inside = check_index(constant(-1, I64), constant(4, I64), 0)
        wrapped = emit(WrapIndexOp, constant(-2, I64), constant(4, I64))
        check(constant(True, types.I1), "ValueError", "never")
        return [get(x, inside), get(x, wrapped), get(x, check_index(constant(4, I64), constant(4, I64), 0))]

    module = program([types.tensor((4,), F64)], body)
    changed = run_both(module, CLEAN, np.arange(4.0))
    assert names(changed).count("nd.check_index") == 1
    assert "nd.check" not in names(changed)


def test_static_sizes_are_numbers() -> None:
    changed = applied(CLEAN, program([types.tensor((3, 5), F64)], lambda x: [emit(DimOp, x, axis=1)]))
    assert "nd.dim" not in names(changed)
    assert run(changed, "f", np.zeros((3, 5))) == (5,)


def test_a_counter_is_computed_from_the_induction_variable() -> None:
    def body(n: Expr, x: Expr) -> list[Expr]:
        def step(q: Expr, k: Expr, s: Expr) -> list[Expr]:
            return [k + 3, s + get(x, k)]

        return list(for_loop(n, [constant(2, I64), constant(0.0, F64)], step))

    module = program([I64, types.tensor((20,), F64)], body)
    for trips in (-2, 0, 1, 5):
        changed = run_both(module, CLEAN, np.int64(trips), np.arange(20.0))
    loop = next(op for op in changed.walk() if isinstance(op, scf.ForOp))
    assert [arg.type for arg in loop.iter_args] == [F64]


def test_swapped_carries_are_kept() -> None:
    def body(x: Expr, y: Expr, n: Expr) -> list[Expr]:
        return list(for_loop(n, [x, y], lambda q, a, b: [b, a]))

    for trips in range(4):
        run_both(program([F64, F64, I64], body), CLEAN, np.float64(1), np.float64(2), np.int64(trips))


def test_dead_linear_loop_goes_with_all_it_holds() -> None:
    def body(x: Expr, n: Expr) -> list[Expr]:
        (_, dead, kept) = for_loop(n, [x, x, x], lambda q, a, b, c: [a * 2.0, a + b, c * 0.5])
        branch(dead > 0.0, lambda: [dead], lambda: [x])
        while_loop([dead], lambda d: d > 1.0, lambda d: d * 0.5)
        return [kept]

    changed = run_both(program([F64, I64], body), (Dce(),), np.float64(3), np.int64(4))
    loop = next(op for op in changed.walk() if isinstance(op, scf.ForOp))
    assert len(loop.iter_args) == 1
    assert not {"scf.if", "scf.while", "nd.greater"} & set(names(changed))


def test_checks_are_neither_merged_across_branches_nor_dropped() -> None:
    def body(x: Expr, i: Expr, c: Expr) -> list[Expr]:
        size = constant(4, I64)
        (y,) = branch(c, lambda: [get(x, check_index(i, size, 0))], lambda: [get(x, check_index(i, size, 0))])
        check_index(i, constant(5, I64), 1)
        return [y]

    module = program([types.tensor((4,), F64), I64, types.I1], body)
    for index in (-5, -4, 3, 4):
        changed = run_both(module, PIPELINES["optimized"], np.arange(4.0), np.int64(index), np.bool_(True))
    assert names(changed).count("nd.check_index") == 3


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_hoisting_reads_no_element_too_early(trips: int) -> None:
    """The index is in range only if the loop runs: hoisted, the read would be out of bounds."""

    def body(x: Expr, n: Expr) -> list[Expr]:
        size = constant(6, I64)
        return list(for_loop(n, [constant(0.0, F64)], lambda q, s: s + get(x, check_index(n - 1, size, 0))))

    module = program([types.tensor((6,), F64), I64], body)
    run_both(module, PIPELINES["optimized"], np.arange(6.0), np.int64(trips))


def test_an_array_that_a_loop_overwrites_is_made_in_each_trip() -> None:
    def body(x: Expr, y: Expr) -> list[Expr]:
        def step(q: Expr, s: Expr) -> Expr:
            t = put(s, x + x, q)
            return get(t, 0) + get(t, 3)

        return list(for_loop(4, [y], step))

    changed = run_both(program([types.tensor((4,), F64), F64], body), (Hoist(),), np.arange(4.0), np.float64(1))
    loop = next(op for op in changed.walk() if isinstance(op, scf.ForOp))
    assert "nd.add" in [op.name for op in loop.body.block.ops][:2]


def one_at(t: Expr, index: Expr, n: Expr) -> Expr:
    """t[index] = 1, checked."""
    return put(constant(1.0, F64), t, check_index(index, n, 0))


CHECKED: dict[str, tuple[Callable[..., Any], int]] = {
    # the checked code, and how many checks stay
    "backwards": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, n - 1 - q, n)), 0),
    "one too far": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, q + 1, n)), 1),
    "from the end": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, -1 - q, n)), 0),
    "half": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, np.floor_divide(q, 2), n)), 0),
    "modulo": (lambda x, n, k: for_loop(5, [x], lambda q, t: one_at(t, np.mod(k, 5), n)), 1),
    "smaller": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, np.minimum(q, 3), n)), 0),
    "product": (lambda x, n, k: for_loop(n, [x], lambda q, t: one_at(t, q * q, n)), 1),
    "twice": (lambda x, n, k: [one_at(one_at(x, k, n), check_index(k, n, 0), n)], 2),
}


@pytest.mark.parametrize("name", CHECKED)
def test_which_checks_are_proved(name: str) -> None:
    build, left = CHECKED[name]

    def body(x: Expr, k: Expr) -> list[Expr]:
        return list(build(x, emit(DimOp, x, axis=0), k))

    module = program([types.tensor((-1,), F64), I64], body)
    for size in (0, 1, 3, 6):
        for k in (-7, -1, 0, 2, 5):
            changed = run_both(module, (EliminateChecks(),), np.zeros(size), np.int64(k))
    assert sum(isinstance(op, CheckIndexOp) for op in changed.walk()) == left


def test_what_is_checked_is_known_behind_the_check() -> None:
    def body(x: Expr, k: Expr) -> list[Expr]:
        check((k >= 0) & (k < 4), "ValueError", "no")
        return [emit(ExtractOp, x, check_index(k, constant(4, I64), 0))]

    module = program([types.tensor((4,), F64), I64], body)
    for k in (-1, 0, 3, 4):
        changed = run_both(module, (EliminateChecks(),), np.arange(4.0), np.int64(k))
    assert sum(isinstance(op, CheckIndexOp | CheckOp) for op in changed.walk()) == 1


def test_sums_that_may_wrap_prove_nothing() -> None:
    def body(x: Expr, k: Expr) -> list[Expr]:
        small = (k + 1 < 4) & (k >= 0)
        return list(
            branch(small, lambda: [get(x, check_index(k + 1, constant(4, I64), 0))], lambda: [constant(0.0, F64)])
        )

    module = program([types.tensor((4,), F64), I64], body)
    for k in (-1, 0, 2, 3, 2**63 - 1):
        changed = run_both(module, (EliminateChecks(),), np.arange(4.0), np.int64(k))
    assert "nd.check_index" in names(changed)


@pytest.mark.parametrize("offset", [-3, -2, -1, 0, 2, 3, 4])
@pytest.mark.parametrize("condition", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_what_a_comparison_says_on_either_side(condition: str, offset: int) -> None:
    """A read at k + offset on both sides of a comparison of k with 2: neither side may be used for too much."""
    compare: Any = getattr(np, condition)

    def body(x: Expr, k: Expr) -> list[Expr]:
        def side() -> list[Expr]:
            return [get(x, check_index(k + offset, constant(5, I64), 0))]

        k = np.minimum(np.maximum(k, constant(-1, I64)), constant(5, I64))
        return list(branch(compare(k, constant(2, I64)), side, side))

    module = program([types.tensor((5,), F64), I64], body)
    for k in range(-1, 6):
        run_both(module, PIPELINES["checks"], np.arange(5.0), np.int64(k))


def test_a_counter_that_may_wrap_proves_nothing() -> None:
    def body(x: Expr, step: Expr) -> list[Expr]:
        start = [constant(0, I64), constant(0, I64), constant(0.0, F64)]

        def trip(q: Expr, k: Expr, s: Expr) -> list[Expr]:
            index = check_index(np.minimum(k, constant(3, I64)), constant(4, I64), 0)
            return [q + 1, k + 2**62, s + get(x, index)]

        return list(while_loop(start, lambda q, k, s: q < 4, trip))

    module = program([types.tensor((4,), F64), I64], body)
    changed = run_both(module, PIPELINES["checks"], np.arange(4.0), np.int64(0))
    assert "nd.check_index" in names(changed)


def test_a_read_stays_behind_the_check_that_proves_its_index() -> None:
    """The loop certainly runs, and the index comes from outside; but only the check inside ensures that it is valid."""

    def body(x: Expr, k: Expr) -> list[Expr]:
        def trip(q: Expr, s: Expr) -> Expr:
            check((k >= 0) & (k < 4), "ValueError", "{0} is no index", k)
            return s + get(x, check_index(k, constant(4, I64), 0))

        return list(for_loop(3, [constant(0.0, F64)], trip))

    module = program([types.tensor((4,), F64), I64], body)
    for k in (-2, 0, 3, 9):
        changed = run_both(module, PIPELINES["optimized"], np.arange(4.0), np.int64(k))
    assert "nd.check_index" not in names(changed)


@pytest.mark.parametrize("value", [False, True])
def test_connectives_with_a_known_side(value: bool) -> None:
    def body(c: Expr) -> list[Expr]:
        yes, no = constant(True, types.I1), constant(False, types.I1)
        return [c & yes, c & no, yes & c, no & c, c | yes, c | no, yes | c, no | c, c & c, c | c, ~~c]

    changed = run_both(program([types.I1], body), CLEAN, np.bool_(value))
    assert not {"nd.logical_and", "nd.logical_or", "nd.logical_not"} & set(names(changed))


def test_carries_that_differ_before_the_loop_are_two() -> None:
    def body(x: Expr, y: Expr, n: Expr) -> list[Expr]:
        return list(for_loop(n, [x, y, x], lambda q, a, b, c: [z := a * b + c, z, z]))

    module = program([F64, F64, I64], body)
    for trips in range(3):
        changed = run_both(module, CLEAN, np.float64(2), np.float64(3), np.int64(trips))
    loop = next(op for op in changed.walk() if isinstance(op, scf.ForOp))
    assert len(loop.iter_args) == 2


def test_a_write_that_is_read_is_kept() -> None:
    def body(x: Expr, i: Expr, j: Expr) -> list[Expr]:
        first = put(constant(1.0, F64), x, i)
        return [put(constant(2.0, F64), first, i), get(first, j)]

    module = program([types.tensor((4,), F64), I64, I64], body)
    changed = run_both(module, CLEAN, np.arange(4.0), np.int64(1), np.int64(1))
    inserts = [op for op in changed.walk() if op.name == "nd.insert"]
    assert inserts[1].operands[1] is inserts[0].results[0]  # one chain: the array is written in place twice


def test_functions_are_inlined_bottom_up() -> None:
    def call(name: str, x: Expr) -> Expr:
        return Expr(insert(func.CallOp(name, [x.value], [F64])).results[0])

    module = program([F64], lambda x: [call("g", call("g", x))])
    function(module, "g", [F64], lambda x: [call("h", x) + 1.0])
    function(module, "h", [F64], lambda x: [x * x])
    changed = run_both(module, (Inline(),), np.float64(3))
    assert names(changed).count("func.func") == 1
    assert "func.call" not in names(changed)


def python_calls(action: Callable[[], None]) -> int:
    """How many Python functions an action calls: its cost, without a clock."""
    count = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(count_call)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PIPELINES)
def test_cost_is_linear(name: str) -> None:
    def cost(length: int) -> int:
        def body(x: Expr, t: Expr, n: Expr) -> list[Expr]:
            for _ in range(length):
                size = constant(10, I64)
                (x, t) = for_loop(n, [x, t], lambda q, s, t: [s * 1.0 + 0.5, put(s, t, check_index(q, size, 0))])
                (x,) = branch(x > 1.0, lambda: [x * 0.5], lambda: [x])
            return [x, t]

        module = program([F64, types.tensor((10,), F64), I64], body)
        return python_calls(lambda: [each.apply(Context(), module) for each in PIPELINES[name]] and None)

    cost(2)  # what is cached is cached now
    few, many = cost(10), cost(40)
    assert many < 4.6 * few
