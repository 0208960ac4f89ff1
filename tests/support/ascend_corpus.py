"""Compares the Ascend target with the cpu target: functions, programs, and their gradients, at every size and dtype.

`python tests/support/ascend_corpus.py --page docs/verification/ascend.md` measures all (`make ascend`).

Reads: the compiler. Writes: a page, if asked. Leaves: nothing.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import mlirad
from mlirad import nn

Array = np.ndarray[Any, Any]
SIZES = (1, 7, 31, 32, 33, 2048, 65537)
BANDS: dict[Any, float] = {np.float32: 1e-5, np.float16: 2e-3}
FLOOR = 2.0**-6
"""Errors are relative to a result, or to this part of the largest result where it is smaller."""


@dataclass(frozen=True)
class Domain:
    """The numbers that a function is asked for: usual ones between `low` and `high`, and a wide choice.

    The wide choice has numbers of every magnitude from `smallest` to `largest`, zeros, infinities, nan, and the largest
    and smallest numbers of the dtype; if `is_bounded`, none beyond `smallest` and `largest`.
    """

    low: float = -4.0
    high: float = 4.0
    smallest: float = 0.0
    largest: float = math.inf

    def usual(self, size: int, dtype: Any, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, size).astype(dtype)

    def wide(self, size: int, dtype: Any, rng: np.random.Generator) -> Array:
        info = np.finfo(dtype)
        smallest = max(self.smallest, float(info.smallest_subnormal))
        largest = min(self.largest, float(info.max))
        magnitudes = np.exp(rng.uniform(math.log(smallest), math.log(largest), size))
        edges = np.array([0.0, 0.5, 1.0, 2.0, smallest, 100 * smallest, max(smallest, float(info.tiny)), largest])
        edges = np.concatenate([edges, -edges, [math.inf, -math.inf, math.nan]])
        kind, sign = rng.integers(4, size=size), rng.choice([1.0, -1.0], size)
        found = np.select([kind < 2, kind == 2], [self.usual(size, np.float64, rng), sign * magnitudes])
        found = np.where(kind == 3, rng.choice(edges, size), found)
        return np.clip(found, -info.max, info.max, where=np.isfinite(found), out=found).astype(dtype)


ANY, POSITIVE, UNIT = Domain(), Domain(0.05, 4.0), Domain(-0.97, 0.97)
PERIODIC = Domain(largest=1e5)
DIVIDEND, DIVISOR = Domain(0.05, 4.0, 1e-6, 1e6), Domain(0.2, 4.0, 1e-6, 1e6)


@dataclass(frozen=True)
class Errors:
    """The largest of values, usual ones and the wide choice, and of gradients.

    own: how far the cpu's values and gradients in float32 are from those in float64: what the problem allows.
    """

    value: float
    gradient: float = 0.0
    own: float = 0.0

    def are_within(self, band: float) -> bool:
        return max(self.value, self.gradient) <= max(band, 2 * self.own)


@dataclass(frozen=True)
class Subject:
    """A function of arrays of a size, and the domain of each; whether its results have gradients.

    cancels: whether small results are differences of numbers near 1, so that errors are relative to FLOOR at least.
    """

    function: Callable[..., Any]
    domains: tuple[Domain, ...]
    has_gradient: bool = True
    cancels: bool = False
    sizes: tuple[int, ...] = SIZES

    @property
    def name(self) -> str:
        name = self.function.__name__
        module = "special" if self.is_of_scipy else "np" if hasattr(np, name) else "nn"
        return f"{module}.{name}"

    @property
    def is_of_scipy(self) -> bool:
        name = self.function.__name__
        return getattr(special, name, None) is self.function and not hasattr(np, name)

    def arguments(self, size: int, dtype: Any, is_wide: bool = False) -> list[Array]:
        rng = np.random.default_rng([size, np.dtype(dtype).itemsize, is_wide])
        return [(each.wide if is_wide else each.usual)(size, dtype, rng) for each in self.domains]

    def call(self, *args: Any) -> Any:
        """SciPy computes of float16 in float64, which the target refuses: float32 instead."""
        if not self.is_of_scipy or args[0].dtype != np.float16:
            return self.function(*args)
        return self.function(*[each.astype(np.float32) for each in args]).astype(np.float16)

    def errors(self, size: int, dtype: Any) -> Errors:
        function = self.call
        kernels = [mlirad.jit(lambda *args: function(*args), target=target) for target in ("ascend", "cpu")]
        worst = 0.0
        for is_wide in (False, True):
            args = self.arguments(size, dtype, is_wide)
            found, expected = (kernel(*args) for kernel in kernels)
            lowest = FLOOR if self.cancels else 0.0
            worst = max(worst, apart(found, expected, 0.0 if is_wide else FLOOR, lowest))
        if not self.has_gradient:
            return Errors(worst)
        args = (*self.arguments(size, dtype), weights(size, dtype=dtype))
        d_found, d_expected = (gradient(function, args, target) for target in ("ascend", "cpu"))
        return Errors(worst, apart(d_found, d_expected))


@dataclass(frozen=True)
class Program:
    """A function of arrays with the shapes of a size, and the greatest size to try."""

    function: Callable[..., Any]
    shapes: Callable[[int], Sequence[tuple[int, ...]]]
    sizes: tuple[int, ...] = SIZES

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, size: int, dtype: Any) -> list[Array]:
        rng = np.random.default_rng([size, 7])
        return [rng.standard_normal(shape).astype(dtype) for shape in self.shapes(size)]

    def errors(self, size: int, dtype: Any) -> Errors:
        args = self.arguments(size, dtype)
        found, expected = (mlirad.jit(self.function, target=target)(*args) for target in ("ascend", "cpu"))
        args.append(weights(*np.shape(expected), dtype=dtype))
        d_found, d_expected = (gradient(self.function, args, target) for target in ("ascend", "cpu"))
        own = 0.0
        if dtype is np.float32:
            wide = [each.astype(np.float64) for each in args]
            exact, d_exact = mlirad.jit(self.function)(*wide[:-1]), gradient(self.function, wide, "cpu")
            own = max(
                apart(expected, np.asarray(exact).astype(dtype)),
                apart(d_expected, tuple(each.astype(dtype) for each in d_exact)),
            )
        return Errors(apart(found, expected), apart(d_found, d_expected), own)


def weights(*shape: int, dtype: Any) -> Array:
    return np.random.default_rng(shape).uniform(0.5, 1.5, shape).astype(dtype)


def gradient_kernel(function: Callable[..., Any], count: int, target: str) -> Any:
    """The gradient of the sum of the results, times one more argument, with respect to the first ones."""

    def weighed(*args: Array) -> Any:
        found = function(*args[:-1])
        parts = found if isinstance(found, tuple) else (found,)
        return sum([np.sum(part * args[-1]) for part in parts])

    return mlirad.grad(weighed, argnums=tuple(range(count)), target=target)


def gradient(function: Callable[..., Any], args: Sequence[Array], target: str) -> tuple[Array, ...]:
    return gradient_kernel(function, len(args) - 1, target)(*args)


def apart(found: Any, expected: Any, floor: float = FLOOR, lowest: float = 0.0) -> float:
    """The largest error, relative to the result, to `floor` times the largest result, and to `lowest` at least.

    Infinity if a dtype, a shape or a nan differs. An infinity is the largest number, as results near it may be rounded
    to either; the smallest number is no difference.
    """
    if isinstance(expected, tuple):
        return max(apart(*each, floor, lowest) for each in zip(found, expected, strict=True))
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return math.inf
    if found.dtype == bool:
        return 0.0 if np.array_equal(found, expected) else math.inf
    info, is_number = np.finfo(found.dtype), ~np.isnan(expected)
    if not np.array_equal(is_number, ~np.isnan(found)):
        return math.inf
    largest = float(info.max)
    found, expected = (np.clip(each[is_number].astype(np.float64), -largest, largest) for each in (found, expected))
    difference = np.abs(found - expected)
    scale = np.maximum(np.abs(expected), max(floor * np.abs(expected).max(initial=0.0), lowest))
    is_seen = difference > float(info.smallest_subnormal)
    return float(np.divide(difference, scale, where=is_seen, out=np.zeros_like(scale)).max(initial=0.0))


def _subjects() -> list[Subject]:
    of_any = (
        *(np.negative, np.positive, np.absolute, np.fabs, np.sign, np.exp, np.exp2, np.expm1),
        *(np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.square, np.cbrt, np.floor, np.ceil, np.trunc, np.rint),
        *(np.fix, np.degrees, np.radians, np.deg2rad, np.rad2deg, np.nan_to_num, np.round, np.modf),
        *(nn.relu, nn.gelu, nn.silu, nn.sigmoid, nn.softplus, nn.leaky_relu, special.expit),
        *(special.erf, special.erfc, special.erfcx),
    )
    of_two = (
        *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.arctan2, np.hypot),
        *(np.copysign, np.heaviside),
    )
    comparisons = (np.greater, np.less, np.equal, np.not_equal, np.greater_equal, np.less_equal)
    of_positive = (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal, special.entr)
    return [
        *(Subject(each, (ANY,)) for each in of_any),
        *(Subject(each, (PERIODIC,)) for each in (np.sin, np.cos, np.tan, np.sinc)),
        *(Subject(each, (POSITIVE,)) for each in of_positive),
        *(Subject(each, (UNIT,)) for each in (np.arcsin, np.arccos, np.arctanh)),
        *(Subject(np.arccosh, (Domain(1.01, 5.0),)), Subject(special.logit, (Domain(0.02, 0.98),))),
        *(Subject(each, (ANY,), False) for each in (np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not)),
        *(Subject(each, (ANY, ANY)) for each in of_two),
        *(Subject(each, (ANY, ANY), cancels=True) for each in (np.logaddexp, np.logaddexp2)),
        Subject(np.i0, (ANY,), sizes=(1, 33, 2048)),  # its gradient is 79 kernels
        *(Subject(each, (POSITIVE, POSITIVE)) for each in (np.power, special.xlogy, special.xlog1py)),
        *(Subject(each, (DIVIDEND, DIVISOR)) for each in (np.fmod, np.remainder, np.floor_divide)),
        *(Subject(each, (ANY, ANY), False) for each in comparisons),
    ]


def softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def logsumexp(x: Array) -> Array:
    m = np.max(x, axis=1)
    return m + np.log(np.sum(np.exp(x - m[:, None]), axis=1))


def layernorm(x: Array, scale: Array, shift: Array) -> Array:
    centred = x - np.mean(x, axis=1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + x.dtype.type(1e-3))
    return centred / deviation * scale + shift


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(q @ k.T / q.dtype.type(8**0.5)) @ v


def mean_squared_error(x: Array, y: Array) -> Any:
    return np.mean((x - y) ** 2)


def cross_entropy(x: Array, y: Array) -> Any:
    """x: logits, a row each; y: logits of the wanted probabilities."""
    return -np.mean(np.sum(softmax(y) * (x - logsumexp(x)[:, None]), axis=1))


def _rows(n: int) -> tuple[int, int]:
    return 3, n


SUBJECTS = _subjects()
PROGRAMS = [
    Program(softmax, lambda n: [_rows(n)]),
    Program(logsumexp, lambda n: [_rows(n)]),
    Program(layernorm, lambda n: [_rows(n), (n,), (n,)]),
    Program(attention, lambda n: [(n, 8), (n, 8), (n, 5)], SIZES[:-1]),
    Program(mean_squared_error, lambda n: [(n,), (n,)]),
    Program(cross_entropy, lambda n: [(n, 10), (n, 10)]),
]


def measured(subject: Subject | Program, dtype: Any) -> Errors:
    """The largest errors over all sizes."""
    errors = [subject.errors(size, dtype) for size in subject.sizes]
    return Errors(*(max(getattr(each, name) for each in errors) for name in ("value", "gradient", "own")))


def main(args: Sequence[str] | None = None) -> int:
    """Exit code 1: an error is above its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", type=Path)
    found = parser.parse_args(args)
    warnings.simplefilter("ignore")
    rows, code = list[str](), 0
    for subject in (*SUBJECTS, *PROGRAMS):
        if found.names and subject.name.split(".")[-1] not in found.names:
            continue
        start, errors = time.perf_counter(), {dtype: measured(subject, dtype) for dtype in BANDS}
        single, half = errors[np.float32], errors[np.float16]
        columns = [single.value, single.gradient, single.own, half.value, half.gradient]
        rows.append(f"| `{subject.name}` | {' | '.join(f'{each:.1e}' if each else '0' for each in columns)} |")
        is_within = all(errors[dtype].are_within(band) for dtype, band in BANDS.items())
        print(rows[-1], f"{time.perf_counter() - start:.1f} s", "" if is_within else "<-- above its band", flush=True)
        code |= not is_within
    if found.page is not None:
        head = found.page.read_text().split(HEAD)[0]
        found.page.write_text("\n".join([head + HEAD + "|---" * 6 + "|", *rows, ""]))
    return code


HEAD = "| function | float32 | gradient | cpu's own | float16 | gradient |\n"

if __name__ == "__main__":
    raise SystemExit(main())
