"""Slices of traced length: values, first and second derivatives, in the interpreter and natively."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand
from slice_programs import Sliced, exactly, expected, programs
from xdsl.dialects.builtin import ModuleOp, StringAttr

import mlirad
from mlirad import pipeline
from mlirad.analysis.bounds import size_bounds
from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, dim, full
from mlirad.targets.finding import find_target
from mlirad.testing.derivatives import check_jvp, check_transpose, check_vjp
from mlirad.testing.expr_functions import ask_jvp, ask_vjp, for_loop, function

PROGRAMS = programs()


def _numbers(program: Sliced) -> tuple[list[int], list[int]]:
    return list(range(len(program.arguments))), list(range(len(expected(program))))


def _module(program: Sliced) -> ModuleOp:
    """A module with @f, its @vjp and its @jvp."""
    module = ModuleOp([])
    f = program.define(module)
    f.properties["sym_visibility"] = StringAttr("public")
    ask_vjp(module, "vjp", f, *_numbers(program))
    ask_jvp(module, "jvp", f, *_numbers(program))
    return module


def _check(program: Sliced, call: Callable[[str, Sequence[Any], int], tuple[Any, ...]]) -> None:
    """`call(name, arguments, number of results)` runs a function of the module."""
    inputs, outputs = map(len, _numbers(program))

    def f(*xs: Any) -> tuple[Any, ...]:
        return call("f", xs, outputs)

    # Durbin's recursion amplifies rounding, so NumPy's own error counts, too.
    for value, plain, exact in zip(f(*program.arguments), expected(program), exactly(program), strict=True):
        assert np.shape(value) == np.shape(exact)
        assert np.all(np.abs(value - exact) <= 1e-14 + 1e-12 * np.abs(exact) + np.abs(plain - exact))
    check_jvp(f, lambda *xs: call("jvp", xs, outputs), program.arguments)
    check_vjp(f, lambda *xs: call("vjp", xs, inputs), program.arguments)
    check_transpose(f, lambda *xs: call("vjp", xs, inputs), lambda *xs: call("jvp", xs, outputs), program.arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreted(name: str) -> None:
    program = PROGRAMS[name]
    module = expand(_module(program))
    _check(program, lambda name, xs, _: callable_of(module, name)(*xs))


@pytest.mark.parametrize("name", PROGRAMS)
def test_native(name: str) -> None:
    program = programs(23)[name]
    artifact = pipeline.compile_module(_module(program), find_target("cpu"))
    _check(program, lambda name, xs, count: artifact.invoke(name, list(xs), [np.dtype(np.float64)] * count))


@pytest.mark.parametrize(
    "name",
    ["cholesky", "durbin", *(pytest.param(name, marks=pytest.mark.full) for name in ("gramschmidt", "prefixes"))],
)
def test_second_order(name: str) -> None:
    """Reverse over reverse and forward over reverse, natively."""
    program, module = PROGRAMS[name], ModuleOp([])
    wrt, outs = _numbers(program)
    count = len(wrt) + len(outs)
    gradient = ask_vjp(module, "g", program.define(module), wrt, outs)
    ask_vjp(module, "reverse", gradient, list(range(count)), wrt)
    ask_jvp(module, "forward", gradient, list(range(count)), wrt)
    artifact = pipeline.compile_module(module, find_target("cpu"))

    def call(name: str, results: int) -> Callable[..., tuple[Any, ...]]:
        return lambda *xs: artifact.invoke(name, list(xs), [np.dtype(np.float64)] * results)

    rng = np.random.default_rng(2)
    at = (*program.arguments, *(np.asarray(rng.normal(size=np.shape(value))) for value in expected(program)))
    check_jvp(call("g", len(wrt)), call("forward", len(wrt)), at, rtol=1e-5)
    check_vjp(call("g", len(wrt)), call("reverse", count), at, rtol=1e-5)


@pytest.mark.parametrize("name", ["cholesky", "lu", "ludcmp", "trisolv"])
def test_factorizations_store_no_slice(name: str) -> None:
    """The array of a slice still exists at the end, or is stored one element at a time."""
    program, module = PROGRAMS[name], ModuleOp([])
    ask_vjp(module, "g", program.define(module), *_numbers(program))
    expand(module)
    kept = sum(np.prod(types.shape(op.result.type)) for op in module.walk() if isinstance(op, TapeOp))
    whole = sum(np.size(argument) for argument in program.arguments)
    assert kept <= whole


def test_bounds() -> None:
    seen: list[Expr] = []

    def body(x: Expr, n: Expr) -> Expr:
        zero = constant(0, types.I64)

        def step(q: Expr, total: Expr) -> Expr:
            grown = for_loop(
                3, [extract_slice(x, [zero], [q])], lambda _, y: [full(constant(0.0, types.F64), [-1], [dim(y, 0) + 1])]
            )
            kept = for_loop(3, [extract_slice(x, [zero], [q])], lambda _, y: [np.sin(y)])
            seen.extend(
                [
                    extract_slice(x, [zero], [n]),
                    extract_slice(x, [zero], [n], [-3]),
                    extract_slice(x, [q], [7 - q]),
                    full(constant(0.0, types.F64), [-1], [(q + 1) * 2]),
                    full(constant(0.0, types.F64), [-1], [n]),
                    full(constant(0.0, types.F64), [-1], [apply(np.minimum, n, 4)]),
                    full(constant(0.0, types.F64), [-1], [apply(np.maximum, n, 4)]),
                    kept[0],
                    grown[0],
                ]
            )
            return total

        return for_loop(6, [constant(0.0, types.F64)], step)[0]

    function(ModuleOp([]), "f", [types.tensor((10,), types.F64), types.I64], body)
    assert [size_bounds(value.value) for value in seen] == [[10], [4], [7], [12], [None], [4], [None], [5], [None]]


def _cholesky(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return np.sum(a)


def test_cholesky_in_numpy_reads_its_slices_again() -> None:
    """A slice in a factor is final when it is read, whatever code the frontend emits around the trip counts."""
    a = PROGRAMS["cholesky"].arguments[0]
    lowered = mlirad.jit(mlirad.grad(_cholesky)).lower(a)
    assert "ad.tape" not in lowered.as_text("autodiff")
    bufferized = lowered.as_text("bufferized")
    assert all("mlirad.offset" in line for line in bufferized.splitlines() if "memref.alloc(" in line)
    assert bufferized.count("memref.copy") == 1
