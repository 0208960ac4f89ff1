"""Measures elementwise functions against references of 64 bits of mantissa or 40 digits, and against NumPy's time.

Reads: the compiler, NumPy, SciPy, mpmath. Writes: a page, if asked. Leaves: nothing.

`python tests/support/accuracy_walk.py --count 2000000 --page docs/verification/accuracy.md`. Half of the numbers are
bit patterns, evenly spaced ones of float32 and random ones of float64; the others are of usual size. The worst number
of each function is judged in 40 digits, and so are all of a function that NumPy does not have in 80 bits, which are
fewer.
"""

from __future__ import annotations

import argparse
import linecache
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from scipy import special

import mlirad

mp: Any = mpmath.mp  # its functions are made when it is imported
mp.dps = 40
Array = np.ndarray[Any, Any]
BLOCK = 1 << 17

UNARY = """
exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sqrt
""".split()
BINARY = ["arctan2", "hypot", "power", "logaddexp", "logaddexp2"]
SPECIAL: dict[str, Callable[[Any], Any]] = {
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda x: (
        mp.exp(x * x) * mp.erfc(x) if x < 1000 else mp.hyp2f0(1, 0.5, -1 / (x * x)) / (x * mp.sqrt(mp.pi))
    ),
    "erfinv": mp.erfinv,
    "gamma": mp.gamma,
    "gammaln": lambda x: mp.re(mp.loggamma(x)),
    "psi": mp.digamma,
}
MP = {"arctan2": "atan2", "power": "power"} | {
    f"arc{name}": f"a{name}" for name in "sin cos tan sinh cosh tanh".split()
}


def exact(name: str, *xs: Any) -> Any:
    """In 40 digits."""
    if name in SPECIAL:
        return SPECIAL[name](*xs)
    if name in ("logaddexp", "logaddexp2"):
        base = mp.e if name == "logaddexp" else mp.mpf(2)
        return max(xs) + mp.log1p(base ** (min(xs) - max(xs))) / mp.log(base)
    bases = {"log2": 2, "log10": 10}
    if name in bases:
        return mp.log(xs[0]) / mp.log(bases[name])
    if name == "cbrt":
        return mp.sign(xs[0]) * mp.cbrt(abs(xs[0]))
    return mp.power(2, xs[0]) if name == "exp2" else mp.re(getattr(mp, MP.get(name, name))(*xs))


@dataclass
class Verdict:
    """The largest error of a function, in units in the last place, where it is, and what edges differ from NumPy's."""

    worst: float
    at: tuple[Any, ...]
    edges: int
    count: int
    times: tuple[float, float]


def kernel(module: str, name: str, arity: int) -> Any:
    text = f"f = lambda {', '.join('xy'[:arity])}: {module}.{name}({', '.join('xy'[:arity])})"
    place = f"<{module}.{name}>"
    linecache.cache[place] = (len(text), None, [text], place)
    space: dict[str, Any] = {"np": np, "special": special}
    exec(compile(text, place, "exec"), space)
    return mlirad.jit(space["f"])


def numbers(dtype: Any, count: int, draw: np.random.Generator, start: int) -> Array:
    bits: Any = np.uint32 if dtype == np.float32 else np.uint64
    half = count // 2
    if dtype == np.float32:
        step = max(1, 2**32 // half)
        patterns = ((start + np.arange(half, dtype=np.uint64)) * np.uint64(step)).astype(bits).view(dtype)
    else:
        patterns = draw.integers(0, np.iinfo(bits).max, half, dtype=bits).view(dtype)
    size = 10.0 ** draw.uniform(-8, 3, count - half)
    return np.concatenate([patterns, (size * draw.choice([-1, 1], size.size)).astype(dtype)])


def edges(dtype: Any) -> Array:
    info = np.finfo(dtype)
    half = [0.0, np.inf, 1.0, 2.0, 0.5, float(info.tiny), float(info.max), float(info.smallest_subnormal)]
    return np.array([*half, *(-x for x in half), np.nan], dtype)


def units(found: Array, reference: Array) -> Array:
    """The error in units in the last place; 0 where the reference is no normal number of the type."""
    near = reference.astype(found.dtype)
    error = np.abs(found.astype(np.longdouble) - reference) / np.spacing(np.abs(near)).astype(np.longdouble)
    return np.where(np.isfinite(near) & (np.abs(near) >= np.finfo(found.dtype).tiny) & np.isfinite(found), error, 0)


def in_digits(name: str, found: Any, *xs: Any) -> float:
    value = exact(name, *(mp.mpf(float(x)) for x in xs))
    unit = np.spacing(np.abs(found.dtype.type(float(value))))
    return float(abs(mp.mpf(float(found)) - value) / mp.mpf(float(unit)))


def judge(module: str, name: str, dtype: Any, count: int) -> Verdict:
    arity = 2 if name in BINARY else 1
    compiled, plain = kernel(module, name, arity), getattr(np if module == "np" else special, name)
    draw, worst, at, done = np.random.default_rng(1), 0.0, (), 0
    total = count if module == "np" else min(count, 20_000)
    while done < total:
        size = min(BLOCK, total - done)
        xs = [numbers(dtype, size, draw, done // 2) for _ in range(arity)]
        found = compiled(*xs)
        if module == "np":
            error = units(found, plain(*(x.astype(np.longdouble) for x in xs)))
        else:
            near = plain(*xs)
            places = np.flatnonzero(np.isfinite(near) & np.isfinite(found) & (np.abs(near) >= np.finfo(dtype).tiny))
            error = np.zeros(size)
            error[places] = [in_digits(name, found[i], *(x[i] for x in xs)) for i in places]
        place = int(np.argmax(error))
        if error[place] > worst:
            arguments = [x[place] for x in xs]
            worst, at = in_digits(name, found[place], *arguments), tuple(arguments)
        done += size
    ends = edges(dtype)
    given = [ends] if arity == 1 else [np.repeat(ends, ends.size), np.tile(ends, ends.size)]
    found, wanted = compiled(*given), plain(*given)
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted)
    is_end = ~np.isfinite(wanted) | (wanted == 0) | ~np.isfinite(found) | (found == 0)
    usual = [draw.uniform(0.01, 0.99, 1_000_000).astype(dtype) + (name == "arccosh") for _ in range(arity)]
    return Verdict(worst, at, int(np.sum(is_end & ~same)), total, (seconds(compiled, usual), seconds(plain, usual)))


def seconds(function: Callable[..., Any], arguments: Sequence[Array]) -> float:
    function(*arguments)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        function(*arguments)
        best = min(best, time.process_time() - start)
    return best


HEAD = """# Accuracy

`make accuracy` measured this: the largest error of each elementwise function, in units in the last place (ulp) of the
exact result, where that is a normal number. Half of the numbers are random bit patterns of the whole range, half have
usual sizes. *Edges*: how many results that are zero, infinite or nan differ from NumPy's (or SciPy's), including signs,
for zeros, infinities, nan, 1, 2, 1/2, the largest and the smallest numbers, and pairs of them. *Time*: for a million
elements in (0, 1), as a multiple of NumPy's (or SciPy's) own.

| function | dtype | numbers | largest error | at | edges | time |
|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000_000)
    parser.add_argument("--page", type=Path)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    rows: list[str] = []
    for name in chosen.names or [*UNARY, *BINARY, *SPECIAL]:
        module = "special" if name in SPECIAL else "np"
        for dtype in (np.float64, np.float32):
            with np.errstate(all="ignore"):
                found = judge(module, name, dtype, chosen.count)
            at = ", ".join(repr(float(x)) for x in found.at)
            ratio = found.times[0] / found.times[1]
            spelled = f"`{'np' if module == 'np' else 'scipy.special'}.{name}`"
            cells = [spelled, dtype.__name__, found.count, f"{found.worst:.2f}", at, found.edges, f"{ratio:.2f}"]
            rows.append(f"| {' | '.join(map(str, cells))} |")
            print(rows[-1], flush=True)
    if chosen.page is not None:
        notes = chosen.page.read_text().partition("\n## ")[2] if chosen.page.exists() else ""
        chosen.page.write_text(HEAD + "\n".join(rows) + "\n" + (f"\n## {notes}" if notes else ""))


if __name__ == "__main__":
    main()
