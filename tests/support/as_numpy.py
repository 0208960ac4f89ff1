"""Compares what a function emits for traced arguments with what it gives in NumPy: value, dtype, and kind of result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from straight_line import evaluate

from mlirad.dialect.core.expr import Expr
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError
from mlirad.frontend.numpy import numpy_calls  # noqa: F401  (it installs what operators on values compile to)
from mlirad.frontend.values.traced import Traced, as_traced

_PYTHONS_ERRORS = (OverflowError, ZeroDivisionError, IndexError, TypeError, ValueError)


@dataclass(frozen=True)
class Known:
    """An argument that stays as it is, and is not traced."""

    value: Any


def _kind(value: Any) -> str:
    if isinstance(value, Traced):
        return "array" if value.is_array else "number" if value.weak else "scalar"
    return "array" if isinstance(value, np.ndarray) else "scalar" if isinstance(value, np.generic) else "number"


def traced_as(argument: Any, expr: Expr) -> Traced:
    is_array = isinstance(argument, np.ndarray)
    return Traced(expr, weak=_kind(argument) == "number", zero_d=is_array and argument.ndim == 0)


def compiled(function: Callable[..., Any], *arguments: Any) -> list[tuple[str, Any]]:
    """The kinds and values of the function's results (one, or the items of a tuple), for traced arguments."""
    kinds: list[str] = []

    def build(*exprs: Expr) -> list[Expr]:
        remaining = iter(exprs)
        operands = [a.value if isinstance(a, Known) else traced_as(a, next(remaining)) for a in arguments]
        result = function(*operands)
        results = list(result) if isinstance(result, tuple) else [result]
        kinds.extend(_kind(value) for value in results)
        traced = [as_traced(value) for value in results]
        return [x.contents if x.is_array else x.scalar for x in traced]

    # A Python int beyond 64 bits can only be static, so that every traced number has an argument type.
    values = [a if isinstance(a, np.ndarray) else np.asarray(a)[()] for a in arguments if not isinstance(a, Known)]
    with np.errstate(all="ignore"):
        return list(zip(kinds, evaluate(build, *values), strict=True))


def agrees(function: Callable[..., Any], *arguments: Any, rtol: float = 1e-14) -> None:
    """Asserts that a function gives, or raises, for traced arguments what it does in NumPy."""
    concrete = [a.value if isinstance(a, Known) else a for a in arguments]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in concrete]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means of nothing
            expected = function(*copies)
    except _PYTHONS_ERRORS as error:
        _raises_alike(error, function, *arguments)
        return
    results = list(expected) if isinstance(expected, tuple) else [expected]
    actual = compiled(function, *arguments)
    assert len(actual) == len(results)
    for (kind, value), wanted in zip(actual, results, strict=True):
        assert kind == _kind(wanted), f"a {kind} for a {_kind(wanted)}"
        assert np.asarray(value).dtype == np.asarray(wanted).dtype
        assert np.shape(value) == np.shape(wanted)
        tolerance = max(rtol, 2e-6) if np.asarray(wanted).dtype == np.float32 else rtol
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=0 if rtol < 1e-13 else 1e-13)


def _raises_alike(error: Exception, function: Callable[..., Any], *arguments: Any) -> None:
    ours = refusal(lambda: compiled(function, *arguments))
    assert ours is not None, f"no refusal where NumPy raises {error!r}"
    assert is_alike(ours, error), f"{ours!r} for {error!r}"


def refusal(call: Callable[[], Any]) -> CompileError | CheckFailed | None:
    """The exception of a call: at compile time, or by a check at run time."""
    try:
        call()
    except (CompileError, CheckFailed) as error:
        return error
    return None


def is_alike(ours: CompileError | CheckFailed, error: Exception) -> bool:
    """Whether what we raise is an instance of what Python or NumPy raises."""
    if isinstance(ours, CheckFailed):
        return ours.error == type(error).__name__
    return any(isinstance(error, kind) and isinstance(ours, kind) for kind in _PYTHONS_ERRORS)
