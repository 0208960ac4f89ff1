"""The values that the tape stores, those that it recomputes, and those that it must not recompute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand, passes
from loop_programs import programs
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import mlirad
from mlirad.autodiff.tape.tape import Tape
from mlirad.dialect.ad.tape import GrowOp, TapeOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.ops.check import CheckIndexOp, CheckOp, check, check_index
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_vjp, branch, for_loop, function, get, put, while_loop

F64, I64 = types.F64, types.I64
VECTOR = types.tensor([10], F64)


def gradient(define: Callable[[ModuleOp], func.FuncOp], wrt: list[int]) -> func.FuncOp:
    """The expanded gradient of a program, a function @vjp."""
    module = ModuleOp([])
    ask_vjp(module, "vjp", define(module), wrt)
    expand(module)
    (found,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    return found


def of_program(name: str) -> func.FuncOp:
    program = programs()[name]
    return gradient(program.define, list(range(len(program.arguments))))


def of_body(body: Callable[..., Any], *arguments: Any) -> func.FuncOp:
    return gradient(lambda module: function(module, "f", arguments, body), [0])


def tapes(op: Operation) -> list[str]:
    return sorted(str(inner.result.type) for inner in op.walk() if isinstance(inner, TapeOp))


def count(op: Operation, kind: type[Operation]) -> int:
    return sum(isinstance(inner, kind) for inner in op.walk())


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("seidel", []),  # linear code
        ("recurrence", ["tensor<7xf64>"]),  # sin; what it is applied to is read from the final array
        ("trisolve", []),  # n*n/2 reads, all from final arrays
        ("last_value", ["tensor<12xf64>"]),
        ("newton", ["tensor<?xf64>"]),
    ],
)
def test_what_is_stored(name: str, stored: list[str]) -> None:
    assert tapes(of_program(name)) == stored


def test_linear_code_has_no_forward_loop() -> None:
    def sweep(y: Expr) -> Any:
        return get(for_loop(8, [y], lambda i, y: put(get(y, i) + 2.0 * get(y, i + 1), y, i + 1))[0], 5)

    assert count(of_body(sweep, VECTOR), scf.ForOp) == 1


def test_known_trip_counts_make_one_flat_tape() -> None:
    def nest(x: Expr) -> Any:
        def inner(s: Expr) -> Expr:
            return for_loop(3, [s], lambda j, s: np.sin(s) * 1.1)[0]

        return for_loop(5, [x], lambda i, s: inner(s))[0]

    found = of_body(nest, F64)
    assert tapes(found) == ["tensor<15xf64>"] and count(found, GrowOp) == 0


def test_counts_of_arguments_are_known_above_the_nest() -> None:
    def nest(x: Expr, n: Expr) -> Any:
        return for_loop(n, [x], lambda i, s: for_loop(n * 2 - 1, [s], lambda j, s: np.sin(s) * s)[0])[0]

    found = of_body(nest, F64, I64)
    assert set(tapes(found)) == {"tensor<?xf64>"} and count(found, GrowOp) == 0


def test_a_triangular_nest_grows_ahead_of_its_inner_loop() -> None:
    def nest(x: Expr) -> Any:
        return for_loop(5, [x], lambda i, s: for_loop(i, [s], lambda j, s: np.sin(s) * 1.1)[0])[0]

    found = of_body(nest, F64)
    (outer, _) = [op for op in found.body.block.ops if isinstance(op, scf.ForOp)]
    growths = [op for op in outer.body.block.ops if isinstance(op, GrowOp)]
    assert growths and count(found, GrowOp) == len(growths)


def test_cheap_values_are_recomputed_and_counters_rebuilt() -> None:
    """Only the carry is stored, whatever is computed from it; indices and their predicates are never stored."""

    def program(x: Expr) -> Any:
        def step(i: Expr, j: Expr, s: Expr) -> Any:
            a = s + get(x, i)
            b = a * 2.0 - s
            (c,) = branch(j > 6, lambda: a * b, lambda: b * b * 0.1)
            return j + 2, c * s

        return for_loop(10, [constant(3, I64), get(x, 0)], step)[1]

    stored = tapes(of_body(program, VECTOR))
    assert all("f64" in each for each in stored) and len(stored) <= 2


def test_predicates_of_transcendentals_are_stored() -> None:
    """Recomputed on another code path, it might differ, so the bit is stored."""

    def program(x: Expr) -> Any:
        def step(i: Expr, s: Expr) -> Any:
            decision = np.sin(get(x, i)) > 0.5
            return branch(decision, lambda: s * get(x, i), lambda: s)[0]

        return for_loop(10, [get(x, 0)], step)[0]

    assert "tensor<10xi1>" in tapes(of_body(program, VECTOR))

    def exact(x: Expr) -> Any:
        def step(i: Expr, s: Expr) -> Any:
            return branch(get(x, i) * 2.0 > 0.5, lambda: s * get(x, i), lambda: s)[0]

        return for_loop(10, [get(x, 0)], step)[0]

    assert "tensor<10xi1>" not in tapes(of_body(exact, VECTOR))


def test_checks_are_not_repeated() -> None:
    def program(x: Expr, n: Expr) -> Any:
        def step(i: Expr, s: Expr) -> Any:
            index = check_index(i - 1, constant(10, I64), 0)
            check(s > -1e9, "ValueError", "too small")
            return s * get(x, index)

        return for_loop(n, [constant(1.0, F64)], step)[0]

    module, primal = ModuleOp([]), ModuleOp([])
    f = function(module, "f", [VECTOR, I64], program)
    function(primal, "f", [VECTOR, I64], program)
    ask_vjp(module, "vjp", f, [0])
    expand(module)
    forward, reverse = (op for op in next(iter(module.ops)).regions[0].block.ops if isinstance(op, scf.ForOp))
    assert count(forward, CheckIndexOp) == count(forward, CheckOp) == 1
    assert count(reverse, CheckIndexOp) == count(reverse, CheckOp) == 0
    n = np.int64(7)
    check_vjp(
        lambda x: callable_of(primal, "f")(x, n),
        lambda x, u: callable_of(module, "vjp")(x, n, u),
        (np.linspace(0.5, 1.5, 10),),
    )


def test_a_value_of_a_branch_outside_of_loops_needs_no_tape() -> None:
    def program(x: Expr) -> Any:
        def then() -> Any:
            (r,) = while_loop([x], lambda r: r < 10.0, lambda r: r * r * 1.5)
            return np.sin(r) * r

        return branch(x > 1.0, then, lambda: x * x)[0]

    module, primal = ModuleOp([]), ModuleOp([])
    function(primal, "f", [F64], program)
    ask_vjp(module, "vjp", function(module, "f", [F64], program), [0])
    expand(module)
    for x in (0.5, 1.7):
        check_vjp(callable_of(primal, "f"), callable_of(module, "vjp"), (np.float64(x),))


def test_an_array_is_stored_whole_where_nothing_else_will_do() -> None:
    """Correct, but costly: every trip reads all of an array that the loop overwrites."""

    def program(x: Expr) -> Any:
        from mlirad.dialect.core.expr import sum_of

        return sum_of(for_loop(4, [x], lambda i, y: put(sum_of(y * y), y * 0.9, i))[0])

    module, primal = ModuleOp([]), ModuleOp([])
    function(primal, "f", [VECTOR], program)
    ask_vjp(module, "vjp", function(module, "f", [VECTOR], program), [0])
    expand(module)
    assert tapes(module) == ["tensor<40xf64>"]
    check_vjp(callable_of(primal, "f"), callable_of(module, "vjp"), (np.linspace(0.1, 0.5, 10),))


def test_no_marker_is_left_and_tapes_of_the_forward_sweep_are_never_read_unwritten() -> None:
    """The interpreter fills new tapes with nan: a gradient that read an entry too early would show it."""
    for name, program in programs().items():
        module = ModuleOp([])
        ask_vjp(module, "vjp", program.define(module), list(range(len(program.arguments))))
        for each in passes(module):
            if isinstance(each, Tape):
                assert not any(marker in str(module) for marker in ("ad.residual", "ad.record", "ad.replay")), name
        result = callable_of(module, "vjp")(*program.arguments, np.float64(1.0))
        assert all(np.isfinite(value).all() for value in result), name


def elements_touched(op: Operation) -> list[Operation]:
    """The ops in op's loops that access a whole array of the program's size."""
    from mlirad.dialect.core.op import NdOp

    def is_large(inner: Operation) -> bool:
        in_loop = isinstance(inner.parent_op(), scf.ForOp | scf.WhileOp | scf.IfOp)
        makes_array = any(types.is_tensor(result.type) for result in inner.results)
        return in_loop and makes_array and isinstance(inner, NdOp) and inner.memory.overwrites is None

    return [inner for inner in op.walk() if is_large(inner)]


@pytest.mark.parametrize("name", ["recurrence", "seidel", "stencil", "newton_each", "break", "trisolve"])
def test_an_element_costs_no_array_in_either_sweep(name: str) -> None:
    """No op in a loop creates an array, except by updating one in place."""
    assert [op.name for op in elements_touched(of_program(name))] == []


def read_in_places(x: np.ndarray, steps: int) -> Any:
    """Indices from an array that is overwritten, some negative. The last is far too large in some trips, in which no
    element is read."""
    total, places = 0.0, np.array([0, -7, 5])
    for n in range(steps):
        i, j, k = places[0], places[1], places[2]
        total += np.sin(x[i]) * x[j]
        if -7 <= k < 7:
            total += x[k] * x[k] * x[i]
        places[0] = (3 * i + j * j + n) % 7
        places[1] = -1 - (i * i + n) % 7
        places[2] = (n % 3 - 1) * 99999999999 + j
    return total


def test_checked_indices_share_a_word() -> None:
    x, gradient = np.linspace(0.3, 1.2, 7), mlirad.grad(read_in_places)
    for steps in (0, 1, 2, 9):
        steps_of = 1e-6 * np.eye(len(x))
        expected = [(read_in_places(x + h, steps) - read_in_places(x - h, steps)) / 2e-6 for h in steps_of]
        np.testing.assert_allclose(gradient(x, steps), expected, rtol=1e-6, atol=1e-8)
    text = gradient.lower(x, 9).as_text("autodiff")
    assert text.count("nd.shift_right") == 3
    with pytest.raises(IndexError):
        gradient(x[:6], 9)
