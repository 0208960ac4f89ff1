"""`fastmath=True`: within tolerance of exact results, and values that are no numbers mean what they did."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import TargetError
from mlirad.targets.cpu import CpuTarget

RNG = np.random.default_rng(3)


def dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def mixed(x, h):
    """A polynomial, divisions by what does not change in a loop, and a sum in order."""
    total = x[0]
    for i in range(1, x.size):
        total = total + ((x[i] * h + 0.5) * h - x[i - 1]) / h
    return total + np.sum(np.exp(x / h) / np.sum(x * x))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-4)])
def test_results_and_derivatives_are_near_the_exact_ones(dtype: Any, tolerance: float) -> None:
    x, h = RNG.normal(size=257).astype(dtype), dtype(1.7)
    fast, exact = mlirad.jit(mixed, fastmath=True), mlirad.jit(mixed)
    wanted = mixed(x.astype(np.float64), 1.7)
    assert fast(x, h) == pytest.approx(wanted, rel=tolerance)
    gradient = mlirad.grad(mixed)(x.astype(np.float64), 1.7)
    np.testing.assert_allclose(mlirad.grad(fast)(x, h), gradient, rtol=tolerance, atol=tolerance)
    if dtype is np.float64:
        v = RNG.normal(size=257)
        _, tangent = mlirad.jvp(fast, (x, h), (v, 0.0))
        assert tangent == pytest.approx(v @ gradient, rel=1e-11)
        assert mlirad.hessian(exact)(x[:3], h) == pytest.approx(mlirad.hessian(fast)(x[:3], h), rel=1e-9)
        # The option changes what is rounded, so the two are not the same code by chance.
        assert dot(x, x) == mlirad.jit(dot)(x, x) != mlirad.jit(dot, fastmath=True)(x, x)


def test_nan_infinity_and_signed_zeros_mean_what_they_do() -> None:
    def values(x, y):
        scaled = x.copy()
        for i in range(x.size):
            scaled[i] = x[i] / y + 0.0 * x[i]
        return np.isnan(x), x - x, x * 0.0, scaled, -(x * 1.0), np.sum(x * y), x + (-0.0), (x + y) - x, x / x

    def summed(x):
        total = -0.0
        for i in range(x.size):
            total += x[i]
        return total

    fast = mlirad.jit(values, fastmath=True)
    given = np.tile([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], 5)
    with np.errstate(all="ignore"):
        for y in (2.0, -0.0, np.inf):
            for found, wanted in zip(fast(given, y), values(given, y), strict=True):
                np.testing.assert_array_equal(found, wanted)
                signed = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])
    assert math.copysign(1.0, mlirad.jit(summed, fastmath=True)(np.full(40, -0.0))) == -1.0


def test_a_formula_is_as_accurate_as_without() -> None:
    """Its instructions have no flags: numbers of several parts would lose the lower ones."""

    def functions(x):
        return np.sin(1e5 * x), np.exp(x), np.log1p(x), np.tan(x), x % 0.7, x**2.3, np.hypot(x, x)

    x = RNG.uniform(0.1, 9.0, 64)
    for found, wanted in zip(mlirad.jit(functions, fastmath=True)(x), functions(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_small_products(dtype: type[np.floating[Any]], tolerance: float) -> None:
    """They are straight-line code that LLVM may reorder; 0 times infinity is nan."""

    def chain(turns, arm):
        frame, place = np.eye(3, dtype=turns.dtype), np.zeros_like(arm)
        for i in range(len(turns)):
            frame = frame @ turns[i]
            place = place + frame @ arm
        return frame, place

    def total(turns, arm):
        frame, place = chain(turns, arm)
        return np.sum(frame * frame) + np.sum(place * place)

    turns, arm = (RNG.normal(size=size).astype(dtype) for size in ((5, 3, 3), (3,)))
    for found, wanted in zip(mlirad.jit(chain, fastmath=True)(turns, arm), chain(turns, arm), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.max(np.abs(wanted)))
    for argument in range(2):
        found, wanted = (mlirad.grad(total, argument, fastmath=is_fast)(turns, arm) for is_fast in (True, False))
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.max(np.abs(wanted)))
    turns[1, 0, 1], arm[:] = np.inf, 0.0
    np.testing.assert_array_equal(np.isnan(mlirad.jit(chain, fastmath=True)(turns, arm)[1]), [True, True, True])


def test_the_option_is_part_of_what_a_kernel_is(tmp_path: Path) -> None:
    """Of its text, of its identity, of its transforms, and of the key of its code on disk."""
    fast = mlirad.jit(dot, fastmath=True)
    assert repr(fast) == "<mlirad kernel dot with fastmath>"
    assert fast is not mlirad.jit(dot) and "fastmath" not in repr(mlirad.jit(dot))
    assert "fastmath" in mlirad.grad(fast).lower(np.ones(4), np.ones(4)).as_text("linalg")
    assert "fastmath" not in mlirad.grad(fast, fastmath=False).lower(np.ones(4), np.ones(4)).as_text("linalg")
    (tmp_path / "program.py").write_text(
        "import sys, numpy as np, mlirad\n"
        "def f(x):\n    s = 0.0\n    for i in range(x.size):\n        s += x[i]\n    return s\n"
        "x = np.sqrt(np.arange(1, 1001))\n"
        "print([float(mlirad.jit(f, fastmath=bool(int(each)))(x)) for each in sys.argv[1:]])\n"
    )
    env = {"MLIRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path), "PATH": ""}

    def run(*modes: str) -> list[float]:
        command = [sys.executable, str(tmp_path / "program.py"), *modes]
        return eval(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)

    one, two = run("1", "0")
    assert one != two and run("0", "1") == [two, one]


@pytest.mark.parametrize("make", [mlirad.jit, mlirad.grad])
def test_what_cannot_be_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="fastmath is True or False, not 1"):
        make(dot, fastmath=1)
    with pytest.raises(TypeError, match=r"fastmath is True or False, not \{'nnan'\}"):
        make(dot, fastmath={"nnan"})
    for target in ("python", "ascend"):
        with pytest.raises(TargetError, match=f"target '{target}' has no option 'fastmath'"):
            make(dot, fastmath=True, target=target)
        make(dot, fastmath=False, target=target)
    assert CpuTarget(fastmath=True).fastmath
