"""Undoing writes: what is stored for it, that it is right on random in-place programs, and to second order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand
from inplace_programs import random_program
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.gather import GatherOp, ScatterAddOp, ScatterOp, ScatterUpdateOp
from mlirad.dialect.arrays.slices import ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, sum_of
from mlirad.testing.derivatives import check_jvp, check_vjp, directional, inner, random_like
from mlirad.testing.expr_functions import ask_jvp, ask_vjp, branch, for_loop, function, get, put, while_loop

F64, I64 = types.F64, types.I64
N = 8
ARRAY = types.tensor([N], F64)
ONE = np.float64(1.0)

Body = Callable[..., Any]


def both(body: Body, *arguments: Any) -> tuple[Callable[..., Any], Callable[..., Any], func.FuncOp]:
    """A function of arrays, its gradient, and the gradient's IR."""
    primal, module = ModuleOp([]), ModuleOp([])
    function(primal, "f", arguments, body)
    ask_vjp(module, "vjp", function(module, "f", arguments, body), list(range(len(arguments))))
    expand(module)
    (found,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    return callable_of(primal, "f"), callable_of(module, "vjp"), found


def sizes_of_tapes(op: Operation) -> list[int]:
    """The number of elements on the tapes."""
    return sorted(prod(types.shape(inner.result.type)) for inner in op.walk() if isinstance(inner, TapeOp))


def sweeps(step: Callable[[Expr, Expr], Expr], times: int = 4, n: int = N - 2) -> Body:
    """sum(a * a) after `times` sweeps of `step(i, a)`."""

    def program(a: Expr) -> Expr:
        (a,) = for_loop(times, [a], lambda _, a: for_loop(n, [a], step)[0])
        return sum_of(a * a)

    return program


def test_a_stencil_stores_its_writes_and_not_its_reads() -> None:
    def step(i: Expr, a: Expr) -> Expr:
        return put(np.sin(get(a, i) * get(a, i + 1) * get(a, i + 2)), a, i + 1)

    f, vjp, found = both(sweeps(step), ARRAY)
    assert sizes_of_tapes(found) == [4 * (N - 2)]
    check_vjp(f, vjp, (np.linspace(0.5, 1.5, N),))


def test_what_a_write_overwrites_is_stored_only_if_it_is_read() -> None:
    """Two writes per trip; the value that the second one overwrites is never read."""

    def step(i: Expr, m: Expr) -> Expr:
        v = get(m, 0, i) * get(m, 0, i + 1)
        return put(v * 2.0, put(v, m, 0, i), 1, i)

    def program(m: Expr) -> Expr:
        (m,) = for_loop(4, [m], lambda _, m: for_loop(N - 1, [m], step)[0])
        return sum_of(m * m)

    matrix = types.tensor([2, N], F64)
    f, vjp, found = both(program, matrix)
    assert sizes_of_tapes(found) == [4 * (N - 1)]
    check_vjp(f, vjp, (np.linspace(0.5, 1.0, 2 * N).reshape(2, N),))


def test_buffers_that_are_exchanged() -> None:
    def program(a: Expr) -> Expr:
        def trip(_: Expr, a: Expr, b: Expr) -> Any:
            def step(i: Expr, b: Expr) -> Expr:
                return put(get(a, i) * get(a, i + 1) * get(a, i + 2), b, i + 1)

            return for_loop(N - 2, [b], step)[0], a

        a, b = for_loop(5, [a, a * 0.5], trip)
        return sum_of(a * a) + sum_of(b)

    f, vjp, found = both(program, ARRAY)
    assert sizes_of_tapes(found) == [5 * (N - 2)]
    check_vjp(f, vjp, (np.linspace(0.9, 1.1, N),))


def test_imperfect_nests_and_values_needed_at_two_places() -> None:
    """`pivot` is read before the inner loop, which uses it and overwrites its element."""

    def trip(t: Expr, a: Expr) -> Expr:
        pivot = get(a, 1) * get(a, 2)
        (a,) = for_loop(N - 1, [a], lambda i, a: put(get(a, i) * get(a, i + 1) + pivot, a, i))
        a = put(np.sin(get(a, 3)) * pivot, a, 0)
        return for_loop(N - 1, [a], lambda i, a: put(get(a, i) * get(a, 0), a, i + 1))[0]

    f, vjp, found = both(lambda a: sum_of(for_loop(3, [a], trip)[0]), ARRAY)
    check_vjp(f, vjp, (np.linspace(0.3, 0.8, N),))
    assert sum(sizes_of_tapes(found)) <= 3 * (2 * (N - 1) + 4)


def test_writes_in_branches_and_whiles() -> None:
    def program(a: Expr) -> Expr:
        def trip(k: Expr, a: Expr) -> Any:
            def step(i: Expr, a: Expr) -> Expr:
                v = get(a, i) * get(a, i + 1)
                return branch(v > 0.3, lambda: put(v * v, a, i), lambda: put(v + 0.4, a, i + 1))[0]

            return k + 1, for_loop(N - 1, [a], step)[0]

        return sum_of(while_loop([constant(0, I64), a], lambda k, a: (k < 4) & (get(a, 0) < 2.0), trip)[1])

    f, vjp, _ = both(program, ARRAY)
    check_vjp(f, vjp, (np.linspace(0.3, 0.9, N),))


def test_slices() -> None:
    slices: dict[str, Any] = {"sizes": [N - 2], "strides": [1]}

    def program(a: Expr) -> Expr:
        zero, one, two = (constant(k, I64) for k in range(3))

        def trip(_: Expr, a: Expr) -> Expr:
            value = emit(ExtractSliceOp, a, zero, **slices) * emit(ExtractSliceOp, a, two, **slices)
            return emit(InsertSliceOp, value, a, one, **slices)

        return sum_of(for_loop(4, [a], trip)[0])

    f, vjp, found = both(program, ARRAY)
    assert sizes_of_tapes(found) == [4 * (N - 2)]
    check_vjp(f, vjp, (np.linspace(0.8, 1.2, N),))


def test_index_arrays() -> None:
    """Of three reads at index arrays, only the overwritten part is stored."""
    check_places([np.arange(k, N - 2 + k) for k in range(3)], ScatterOp)


@pytest.mark.parametrize("kind", [ScatterOp, ScatterAddOp])
def test_index_arrays_with_a_place_more_than_once(kind: type[ScatterUpdateOp]) -> None:
    check_places([np.array(numbers) for numbers in ([0, 1, 1, 5], [2, 2, 2, 3], [7, 3, 2, 2])], kind)


def check_places(places: list[np.ndarray], kind: type[ScatterUpdateOp]) -> None:
    """a[places[1]] is written, or added to, four times: the sine of the product of the elements at the three places."""

    def program(a: Expr) -> Expr:
        def trip(_: Expr, a: Expr) -> Expr:
            indices = [constant(each, types.tensor(each.shape, I64)) for each in places]
            x, y, z = (emit(GatherOp, a, each, axes=[0], at=0) for each in indices)
            return emit(kind, np.sin(x * y * z), a, indices[1], axes=[0], at=0)

        return sum_of(for_loop(4, [a], trip)[0])

    f, vjp, found = both(program, ARRAY)
    assert sizes_of_tapes(found) == [4 * len(places[1])]
    check_vjp(f, vjp, (np.linspace(0.5, 1.5, N),))


def test_indices_that_are_overwritten_too() -> None:
    """The indices of the writes come from an array that is permuted in the same loop."""

    def program(a: Expr, p: Expr) -> Expr:
        def step(i: Expr, a: Expr, p: Expr) -> Any:
            x, y = get(p, i), get(p, i + 1)
            p = put(x, put(y, p, i), i + 1)
            return put(get(a, x) * get(a, y) + 0.5, a, get(p, i)), p

        return sum_of(for_loop(3, [a, p], lambda _, a, p: for_loop(N - 1, [a, p], step))[0])

    arguments = [ARRAY, types.tensor([N], I64)]
    primal, module = ModuleOp([]), ModuleOp([])
    function(primal, "f", arguments, program)
    ask_vjp(module, "vjp", function(module, "f", arguments, program), [0])
    expand(module)
    p = np.random.default_rng(0).permutation(N)
    check_vjp(
        lambda a: callable_of(primal, "f")(a, p),
        lambda a, u: callable_of(module, "vjp")(a, p, u),
        (np.linspace(0.2, 0.8, N),),
    )


def factor_in_place(m: Expr, n: int) -> Expr:
    """Gaussian elimination on the matrix itself, column by column."""

    def column(k: Expr, m: Expr) -> Expr:
        def row(i: Expr, m: Expr) -> Expr:
            r = k + 1 + i
            m = put(get(m, r, k) / get(m, k, k), m, r, k)
            return for_loop(
                n - 1 - k,
                [m],
                lambda j, m: put(get(m, r, k + 1 + j) - get(m, r, k) * get(m, k, k + 1 + j), m, r, k + 1 + j),
            )[0]

        return for_loop(n - 1 - k, [m], row)[0]

    return for_loop(n, [m], column)[0]


@pytest.mark.parametrize("n", [4, 8])
def test_lu_in_place_stores_no_more_than_the_matrix(n: int) -> None:
    f, vjp, found = both(lambda m: sum_of(factor_in_place(m, n) * 0.5), types.tensor([n, n], F64))
    assert sum(sizes_of_tapes(found)) <= n * n
    check_vjp(f, vjp, (np.random.default_rng(0).random((n, n)) + 4 * np.eye(n),))


# --- random programs --------------------------------------------------------------------------------------------


def check_gradient(f: Callable[..., Any], vjp: Callable[..., Any], xs: tuple[Any, ...]) -> None:
    """Against central differences, with a smaller step near a branch or a kink."""
    gradients = vjp(*xs, ONE)
    for seed in range(2):
        vs = random_like(xs, seed)
        given = inner(vs, gradients)
        steps = ((1e-6, 2e-6), (1e-7, 2e-5), (1e-5, 2e-5))
        expected = [(inner(directional(f, xs, vs, eps), [ONE]), tolerance) for eps, tolerance in steps]
        assert any(np.isclose(given, e, rtol=tol, atol=tol) for e, tol in expected), (given, expected)


def check_random(seed: int) -> None:
    define, (a, b, p) = random_program(seed)
    primal, module = ModuleOp([]), ModuleOp([])
    define(primal)
    ask_vjp(module, "vjp", define(module), [0, 1])
    expand(module)
    f, vjp = callable_of(primal, "f"), callable_of(module, "vjp")
    check_gradient(lambda a, b: f(a, b, p), lambda a, b, u: vjp(a, b, p, u), (a, b))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    check_random(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12, 400))
def test_more_random_programs(seed: int) -> None:
    check_random(seed)


def second_order(define: Callable[[ModuleOp], func.FuncOp], xs: tuple[Any, ...], rest: tuple[Any, ...]) -> None:
    """Forward over reverse and reverse over reverse, against differences of the gradient."""
    count = len(xs)
    wrt = list(range(count))
    first, forward, reverse = ModuleOp([]), ModuleOp([]), ModuleOp([])
    gradients = [ask_vjp(module, "g", define(module), wrt) for module in (first, forward, reverse)]
    ask_jvp(forward, "h", gradients[1], wrt, wrt)
    ask_vjp(reverse, "h", gradients[2], wrt, wrt)
    for module in (first, forward, reverse):
        expand(module)

    def g(*given: Any) -> Any:
        return callable_of(first, "g")(*given, *rest, ONE)

    def with_rest(module: ModuleOp) -> Callable[..., Any]:
        return lambda *given: callable_of(module, "h")(*given[:count], *rest, ONE, *given[count:])

    check_jvp(g, with_rest(forward), xs, rtol=1e-5, seeds=1)
    check_vjp(g, with_rest(reverse), xs, rtol=1e-5, seeds=1)


def test_second_order_of_a_stencil() -> None:
    def step(i: Expr, a: Expr) -> Expr:
        return put(np.sin(get(a, i) * get(a, i + 1) * get(a, i + 2)), a, i + 1)

    def define(module: ModuleOp) -> func.FuncOp:
        return function(module, "f", [ARRAY], sweeps(step, 3, 4))

    second_order(define, (np.linspace(0.5, 1.2, N),), ())


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_second_order_of_random_programs(seed: int) -> None:
    define, (a, b, p) = random_program(seed)
    second_order(define, (a, b), (p,))


def test_no_loop_of_the_reverse_sweep_makes_an_array() -> None:
    """Writes are undone in place: the loops only update the arrays that they carry."""

    def step(i: Expr, a: Expr) -> Expr:
        return put(get(a, i) * get(a, i + 1) * get(a, i + 2), a, i + 1)

    _, _, found = both(sweeps(step), ARRAY)
    loops = [op for op in found.body.block.ops if isinstance(op, scf.ForOp)]
    assert len(loops) == 2
    made = [op.name for op in loops[1].walk() if any(types.is_tensor(r.type) for r in op.results)]
    assert set(made) <= {"scf.for", "nd.insert", "nd.add_at"}
