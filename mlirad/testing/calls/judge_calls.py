"""Compares compiled calls with NumPy: values, dtypes and exceptions, and derivatives up to second order.

Reads: calls. Writes: nothing. Gives: verdicts. Derivatives are compared with differences of NumPy's own values, and
forward with reverse mode: `<v, vjp u> == <jvp v, u>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mlirad.errors import CompileError
from mlirad.testing.calls import packed
from mlirad.testing.calls.packed import Call, Loss

SAME, REFUSED, WRONG, NONE, UNDECIDED = "same", "refused", "wrong", "none", "undecided"
"""NONE: no float is among the results, so there is no derivative; UNDECIDED: differences are inconclusive."""

ORDERS = ("reverse", "forward", "second")

Verdict = tuple[str, str]
"""One of the above, and why."""


def judged_values(
    calls: Sequence[Call], wanted: Sequence[Any], kernels: dict[tuple[str, ...], Any] | None = None
) -> list[Verdict]:
    """Verdicts on the values of calls that return `wanted` in NumPy."""
    found = packed.values(calls, kernels)
    return [
        compared(got, want, _size(call.inputs.values()), _has_float32(call.inputs.values()), _half_of(call.text))
        for call, got, want in zip(calls, found, wanted, strict=True)
    ]


_NAMES_OF_NEAR = """
sin cos tan asin acos atan arcsin arccos arctan arctan2 atan2 sinh cosh tanh arcsinh arccosh arctanh asinh acosh atanh
exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 power pow float_power cbrt hypot
"""
_NEAR = frozenset(_NAMES_OF_NEAR.split())
"""Ufuncs with float32 results, later rounded to float16, that may differ in the last place."""


def _half_of(text: str) -> float:
    """The tolerance of float16 results: none for a ufunc, which is float32, rounded once. NumPy rounds sums at each
    addition."""
    name = text.partition("(")[0].removeprefix("np.")
    is_of_elements = isinstance(getattr(np, name, None), np.ufunc)
    return 2e-2 if not is_of_elements else 1e-3 if name in _NEAR else 0.0


def _size(inputs: Iterable[Any]) -> float:
    """The largest finite number among the inputs: differences below its rounding do not count."""
    arrays = [np.abs(np.asarray(each)).astype(np.float64) for each in inputs]
    return max((float(each[np.isfinite(each)].max(initial=0.0)) for each in arrays), default=0.0)


def _has_float32(inputs: Iterable[Any]) -> bool:
    """Whether float32 is among the inputs: NumPy may then compute in float32 and cast the result to float64."""
    return any(getattr(each, "dtype", None) in (np.float32, np.complex64) for each in inputs)


def compared(got: Any, want: Any, size: float = 0.0, is_coarse: bool = False, half: float = 2e-2) -> Verdict:
    if isinstance(got, CompileError):
        return REFUSED, refusal(got)
    if isinstance(want, Exception):
        return (SAME, "") if isinstance(got, public_class(want)) else (WRONG, f"{_shown(got)}, not {_shown(want)}")
    return (SAME, "") if is_same(got, want, size, is_coarse, half) else (WRONG, f"{_shown(got)}, not {_shown(want)}")


def public_class(error: Exception) -> type:
    """The class by which users catch an exception: NumPy has private subclasses of some."""
    kinds = type(error).__mro__
    return ValueError if ValueError in kinds else next(kind for kind in kinds if not _is_private(kind))


def _is_private(kind: type) -> bool:
    return any(part.startswith("_") for part in kind.__module__.split("."))


def refusal(error: CompileError) -> str:
    """The first line of a message, and in a second line what to write instead."""
    return "\n".join(filter(None, (error.message.splitlines()[0], error.hint)))


def is_same(got: Any, want: Any, size: float = 0.0, is_coarse: bool = False, half: float = 2e-2) -> bool:
    """Check that class, dtype and shape are equal, and floats up to the last places, relative to the scale."""
    if type(got) is not type(want) and not (isinstance(got, tuple) and isinstance(want, tuple)):
        return False
    if isinstance(want, tuple | list):
        return len(got) == len(want) and all(
            is_same(one, other, size, is_coarse, half) for one, other in zip(got, want, strict=True)
        )
    if isinstance(want, dict):
        return list(got) == list(want) and all(is_same(got[key], want[key], size, is_coarse, half) for key in want)
    if isinstance(want, float):
        return bool(
            np.isclose(got, want, rtol=2e-5 if is_coarse else 1e-10, atol=1e-12 * max(size, 0.1), equal_nan=True)
        )
    if not isinstance(want, np.ndarray | np.generic):
        return bool(got == want)
    one, other = np.asarray(got), np.asarray(want)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if other.dtype.kind not in "fc":
        return bool(np.all(one == other))
    size_of_part = other.dtype.itemsize // (2 if other.dtype.kind == "c" else 1)
    coarse = {2: half, 4: 2e-5}.get(size_of_part, 2e-5 if is_coarse else 1e-10)
    finite = np.abs(other[np.isfinite(other)])
    atol = coarse * 1e-2 * max(float(finite.max(initial=0.0)), size)
    return np.allclose(one, other, rtol=coarse, atol=atol, equal_nan=True)


def judged_derivatives(losses: Sequence[Loss], orders: Sequence[str] = ORDERS) -> list[dict[str, Verdict]]:
    """Verdicts on the derivatives of losses, by order: "reverse", "forward" and "second"."""
    with np.errstate(all="ignore"):
        directions = {loss: _direction(loss, number) for number, loss in enumerate(losses)}
        gradients = packed.gradients(losses)
        tangents = packed.tangents(losses, directions)
        second = packed.second_derivatives(losses, directions) if "second" in orders else [None] * len(losses)
        return [
            _derivatives(loss, directions[loss], *found)
            for loss, *found in zip(losses, gradients, tangents, second, strict=True)
        ]


def _derivatives(
    loss: Loss, direction: Mapping[str, Any], gradient: Any, tangent: Any, second: Any
) -> dict[str, Verdict]:
    first, curvature = _differences(loss, direction)
    tolerance, ratio = (1e-3 if loss.is_coarse else 1e-5), 100
    if loss.has_halves and not isinstance(gradient, Exception):
        tolerance, ratio = 1e-2 * (1 + _along(gradient, direction, np.abs)), 10
    reverse = _along(gradient, direction)
    forward = tangent if isinstance(tangent, Exception) else float(tangent)
    found = {"reverse": _near(reverse, first, tolerance), "forward": _near(forward, first, tolerance)}
    if second is not None:
        found["second"] = _near(_along(second, direction), curvature, ratio * tolerance)
    if not isinstance(reverse, Exception) and not isinstance(forward, Exception):
        dual = _near(reverse, (forward, 0.0), tolerance if loss.is_coarse else 1e-9)
        if dual[0] == WRONG:
            found["reverse"] = WRONG, f"<v, vjp u>, <jvp v, u>: {dual[1]}"
    return found


def _direction(loss: Loss, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name in loss.call.floats():
        value = loss.call.inputs[name]
        drawn = rng.standard_normal(np.shape(value))
        kind = getattr(value, "dtype", None)
        found[name] = float(drawn) if kind is None else drawn.astype(kind) if np.ndim(value) else kind.type(drawn)
        if isinstance(value, np.ndarray):
            found[name] = np.asarray(found[name], kind)
    return found


def _along(gradient: Any, direction: Mapping[str, Any], part: Callable[[Any], Any] = np.positive) -> Any:
    """The derivative along a direction, or the sum of the parts of its terms."""
    if isinstance(gradient, Exception):
        return gradient
    terms = [np.asarray(gradient[name], float) * np.asarray(v) for name, v in direction.items()]
    return float(sum(np.sum(part(each)) for each in terms))


def _differences(loss: Loss, direction: Mapping[str, Any]) -> tuple[tuple[float, float], tuple[float, float]]:
    """First and second differences along the direction, in float64, and the distance of two step sizes' results."""
    plain = packed.plain_loss(loss)
    wide = {
        name: value.astype(np.float64) if name in direction and hasattr(value, "astype") else value
        for name, value in loss.call.inputs.items()
    }

    steps = {name: np.asarray(each, np.float64)[()] for name, each in direction.items()}

    def at(step: float) -> Any:
        moved = {name: value + step * steps[name] if name in steps else value for name, value in wide.items()}
        value = plain({name: _like(each, wide[name]) for name, each in moved.items()})
        return np.nan if isinstance(value, Exception) else value

    here = at(0.0)
    is_rounded = getattr(here, "dtype", np.dtype(float)).itemsize < 8
    scale = 3e3 if is_rounded else 1.0
    h = 1e-6 * scale
    ahead, behind = (float(at(h)) - float(here)) / h, (float(here) - float(at(-h))) / h
    firsts = [(ahead + behind) / 2, (float(at(2 * h)) - float(at(-2 * h))) / (4 * h)]
    bend = abs(ahead - behind) if abs(ahead - behind) > 1e-3 * (1 + abs(ahead)) else 0.0  # at a kink
    seconds = [(float(at(h)) - 2 * float(here) + float(at(-h))) / h**2 for h in (1e-4, 2e-4)]
    if is_rounded:
        seconds = [np.nan, np.nan]
    if _has_halves(packed.plain_outcome(loss.call, wide)):  # its steps are larger than those of the differences
        firsts = seconds = [np.nan, np.nan]
    return (firsts[0], abs(firsts[0] - firsts[1]) + bend), (seconds[0], abs(seconds[0] - seconds[1]))


def _has_halves(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_halves, value))
    return getattr(value, "dtype", None) == np.float16


def _like(moved: Any, value: Any) -> Any:
    return np.asarray(moved) if isinstance(value, np.ndarray) else moved


def _near(got: Any, wanted: tuple[float, float], tolerance: float) -> Verdict:
    if isinstance(got, CompileError):
        return REFUSED, refusal(got)
    if isinstance(got, Exception):
        return WRONG, _shown(got)
    want, doubt = wanted
    if not np.isfinite(want) or doubt > tolerance * (1 + abs(want)):
        return UNDECIDED, ""
    return (SAME, "") if abs(got - want) <= tolerance * (1 + abs(want)) else (WRONG, f"{got!r}, not {want!r}")


def _shown(value: Any) -> str:
    text = f"{type(value).__name__}: {value}" if isinstance(value, Exception) else repr(value)
    text = f"{value.dtype} {value.shape} {text}" if isinstance(value, np.ndarray) else text
    return " ".join(text.split())[:300]
