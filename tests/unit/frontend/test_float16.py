"""float16: stored as float16, computed in float32 as in NumPy, each result rounded once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import Float16Type, ModuleOp

import mlirad
from mlirad.targets.cpu import CpuTarget, engine

RNG = np.random.default_rng(5)
HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
X, Y = (RNG.standard_normal(1001).astype(np.float16) for _ in range(2))


def ties() -> np.ndarray:
    """Numbers halfway between two halves, and slightly off, normal and subnormal; the ends of the range."""
    wide = HALVES[np.isfinite(HALVES)].astype(np.float64)
    next_one = np.nextafter(HALVES[np.isfinite(HALVES)], np.float16(np.inf)).astype(np.float64)
    middle = (wide + next_one) / 2
    ends = [1e300, -1e300, np.inf, -np.inf, np.nan, 65519.99999999, 65520.0, 2.0**-25, 2.0**-25 * (1 + 1e-15), 1e-320]
    return np.concatenate([middle, middle * (1 + 1e-15), middle * (1 - 1e-15), middle * (1 + 2.0**-24), ends])


def in_a_loop(x: Any, y: Any) -> Any:
    s = x.dtype.type(0)
    for i in range(1, len(x)):
        if x[i] > 0:
            s = s + x[i] * y[i]
        x[i] += x[i - 1] * 0.5
    return s, x


EQUAL: list[Callable[[Any, Any], Any]] = [
    lambda x, y: (x + y, x - y, x * y, x / y, -x, abs(x), x + 1, 2.5 * x),
    lambda x, y: (x // y, x % y, np.fmod(x, y), np.abs(x) ** y, x**2, x**3),
    lambda x, y: (x < y, x == y, np.where(x < y, x, y), np.maximum(x, y), np.isnan(x / y)),
    lambda x, y: (np.exp(x), np.sin(x), np.tanh(y), np.sqrt(np.abs(x)), np.log1p(np.abs(y)), np.floor(x * 9)),
    lambda x, y: (np.sum(x), np.mean(y), np.var(x), np.std(y.reshape(7, 143), 1), x.sum(dtype=np.float32)),
    lambda x, y: (np.max(x), np.argmin(y), x @ y, np.cumsum(x)),
    lambda x, y: (np.sort(x), np.argsort(x, kind="stable"), x[::-2] + 1, x.reshape(7, 143).T, x[x > 0], np.diff(x)),
    lambda x, y: (x.astype(np.int32), abs(x).astype(np.uint8), x.astype(np.int64), x.astype(bool), x.astype(float)),
    lambda x, y: (x + np.float32(1), x + np.arange(1001), x + np.arange(1001, dtype=np.int16), x * np.float64(2)),
    lambda x, y: (x + np.array([2], np.int8), np.sin(np.arange(5, dtype=np.int8)), np.sqrt(y > 0)),
    lambda x, y: (np.zeros(3, np.float16), np.full(2, 0.1, "e"), np.array([0.1, np.nan, np.inf], np.float16)),
    lambda x, y: (np.linspace(0, 1, 7, dtype="f2"), x[3], x[3].item() + 0.1, float(y[3]), np.float16(x[0]) * y[0]),
    lambda x, y: (x * np.finfo(x.dtype).eps, np.finfo(x.dtype).max, x.dtype, x.itemsize, x.nbytes),
    in_a_loop,
]


def require_same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        for pair in zip(found, wanted, strict=True):
            require_same(*pair)
    else:
        assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("function", EQUAL)
def test_programs_give_numpys_bits(function: Callable[[Any, Any], Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = function(X.copy(), Y.copy())
        require_same(mlirad.jit(function)(X.copy(), Y.copy()), wanted)


def test_conversions_are_rounded_once() -> None:
    """From float64 through float32, which must not round to nearest; in vectors, and one by one."""

    def one_by_one(x: Any, out: Any) -> Any:
        for i in range(len(x)):
            out[i] = x[i]
        return out

    with np.errstate(all="ignore"):
        for x in (ties(), np.float32(ties()), np.array([2049, 4097, 2**31 - 1, 65519, 65520, -70000, 2**62])):
            wanted = x.astype(np.float16)
            np.testing.assert_array_equal(mlirad.jit(lambda x: x.astype(np.float16))(x), wanted)
            np.testing.assert_array_equal(mlirad.jit(one_by_one)(x, np.zeros(len(x), np.float16)), wanted)
    widened: Any = mlirad.jit(lambda x: (x.astype(np.float32), x.astype(np.float64)))(HALVES)
    require_same(widened, (HALVES.astype(np.float32), HALVES.astype(np.float64)))


@pytest.mark.parametrize("view", [X[:0], X[:1], X[::3], X[::-1], X.reshape(7, 143).T, X[5:6].reshape(())])
def test_all_layouts(view: np.ndarray) -> None:
    held = view.copy()
    held.flags.writeable = False
    for x in (view, held):
        require_same(mlirad.jit(lambda x: np.exp(x) * x)(x), np.exp(x) * x)


def test_numbers_go_in_and_come_out() -> None:
    f = mlirad.jit(lambda s, t: (s + t, s * 2))
    for s in (np.float16(0.1), np.float16(-65504), np.float16(np.inf), np.float16(6e-8)):
        with np.errstate(all="ignore"):
            require_same(f(s, np.float16(3)), (s + np.float16(3), s * 2))


def smooth_while(x: Any, y: Any) -> Any:
    s = x[0] * x[0] + 1
    while s < 50:
        s = s * 1.5 + y[1]
    return s


SMOOTH: list[Callable[[Any, Any], Any]] = [
    lambda x, y: np.sum(np.exp(x) * y),
    lambda x, y: np.mean(np.tanh(x @ y)) + x[3] * y[2],
    lambda x, y: np.sum(np.sort(x) * y) + np.sum(x[x > 0] * 2) + np.sum(x[np.array([1, 1, 3])]),
    lambda x, y: in_a_loop(x.copy(), y)[0],
    smooth_while,
]


@pytest.mark.parametrize("function", SMOOTH)
def test_derivatives_are_those_of_float32(function: Callable[[Any, Any], Any]) -> None:
    x, y = X[:20], np.abs(Y[:20])
    for found, wanted in zip(
        mlirad.grad(function, argnums=(0, 1))(x, y),
        mlirad.grad(function, argnums=(0, 1))(x.astype(np.float32), y.astype(np.float32)),
        strict=True,
    ):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.02 * np.max(np.abs(wanted)))
    u, v = mlirad.jvp(lambda x: np.sin(x) * y, (x,), (y,))[1], Y[20:40]
    pulled = mlirad.vjp(lambda x: np.sin(x) * y, x)[1](v)[0]
    assert u.dtype == pulled.dtype == np.float16
    assert abs(float(np.sum(np.float64(u) * v)) - float(np.sum(np.float64(pulled) * y))) < 0.05


def test_second_derivative_and_tape() -> None:
    second = mlirad.grad(lambda x: np.sum(mlirad.grad(lambda x: np.sum(x**3))(x)))(X)
    np.testing.assert_allclose(second, 6 * X, rtol=2e-3)


def test_memory_is_of_halves() -> None:
    """Two bytes per element: memory after an array is not touched."""
    buffer = np.full(64, 7, np.float16)
    mlirad.jit(lambda x: np.exp(x, out=x))(buffer[:33])
    np.testing.assert_array_equal(buffer[33:], 7)
    assert ctypes.sizeof(ctypes.c_uint16) == buffer.itemsize


def test_code_for_halves_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        np.testing.assert_array_equal(mlirad.jit(lambda x: x * 2)(X), X * 2)


def test_a_processor_without_conversions_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "has_halves", lambda: False)
    half = Float16Type()  # a new instance, without any findings
    function = func.FuncOp("f", ([half], [half]))
    function.body.block.add_op(func.ReturnOp(function.body.block.args[0]))
    (problem,) = CpuTarget().check(ModuleOp([function]))
    assert "the cpu target has no f16" in str(problem)
