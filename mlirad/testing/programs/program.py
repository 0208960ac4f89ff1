"""A random program: its source, and the arguments of its calls.

Reads: nothing. Writes: nothing. Leaves: programs, their arguments, and the functions that are differentiated.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.testing.programs.kinds import (
    Array,
    Bool,
    Complex,
    Float,
    Generator,
    Int,
    Kind,
    Number,
    Scalar,
    Several,
)

BIT_GENERATORS = (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM)


@dataclass(frozen=True)
class Program:
    """`source` defines f; loss, the number to differentiate; outs, f's float results as a function of `floats` only.

    `traits` are properties that the text does not show: "strided arguments" have other layouts than C; among "aliased
    arguments", some are others or parts of them; with "replaced code", a helper gets another function's code between
    two calls; with "changed globals", captured objects change then.
    """

    seed: int
    bias: str
    source: str
    parameters: dict[str, Kind]
    traits: frozenset[str] = frozenset()

    @property
    def floats(self) -> tuple[str, ...]:
        """The parameters that have derivatives."""
        return tuple(name for name, kind in self.parameters.items() if is_float(kind))

    def arguments(self, number: int, generic: bool = False) -> list[Any]:
        """The arguments of call `number`: multiples of 1/4, or generic ones (away from ties) to differentiate at."""
        rng = np.random.default_rng([self.seed, number, generic])
        made = [_argument(kind, rng, generic) for kind in self.parameters.values()]
        if "strided arguments" in self.traits:
            made = [_strided(each) for each in made]
        if "aliased arguments" in self.traits and not generic:
            return _aliased(self.parameters, made)
        return made


def is_float(kind: Kind) -> bool:
    return isinstance(kind, Float) or (isinstance(kind, Array) and kind.dtype.startswith("float")) or is_complex(kind)


def is_complex(kind: Kind) -> bool:
    return isinstance(kind, Complex) or (isinstance(kind, Array) and kind.dtype.startswith("complex"))


def _argument(kind: Kind, rng: np.random.Generator, generic: bool) -> Any:
    match kind:
        case Array(shape, "int64"):
            return rng.integers(-4, 5, shape)
        case Array(shape, "int8" | "uint8" | "uint64" as dtype):
            return rng.integers(0 if dtype.startswith("u") else -8, 9, shape).astype(dtype)
        case Array(shape, "complex64" | "complex128" as dtype):
            parts = [_argument(Array(shape), rng, generic) for _ in range(2)]
            return np.ascontiguousarray(parts[0] + 1j * parts[1], dtype)
        case Array(shape, dtype):
            values = rng.uniform(-2, 2, shape) if generic else rng.integers(-12, 13, shape) / 4
            return np.ascontiguousarray(values, dtype)
        case Float():
            return float(rng.uniform(-2, 2) if generic else rng.integers(-12, 13) / 4)
        case Complex():
            return complex(_argument(Float(), rng, generic), _argument(Float(), rng, generic))
        case Generator():
            return np.random.Generator(BIT_GENERATORS[rng.integers(len(BIT_GENERATORS))](rng.integers(1 << 30)))
        case Int(low, high):
            return int(rng.integers(low, high + 1))
        case Scalar(dtype):
            value = np.dtype(dtype).type(rng.integers(0, 9))
            return value / 4 if value.dtype.kind == "f" else value
        case Bool():
            return bool(rng.integers(2))
        case Several() | Number():
            raise TypeError("no argument of a random program is of this kind")


def _strided(value: Any) -> Any:
    """The same array backwards in memory, with gaps; or, with two or more axes, in Fortran order."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim > 1:
        return np.asfortranarray(value)
    wide = np.zeros(2 * value.size, value.dtype)[::-2]
    wide[...] = value
    return wide


def laid_out(value: Any, like: Any) -> Any:
    """A copy of an array with the memory layout of `like`, because views may depend on it and functions may write
    through them. For a generator, one in the same state."""
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    if not isinstance(value, np.ndarray):
        return value
    is_plain = like.flags.c_contiguous
    return value.copy() if is_plain else _strided(value.copy())


def _aliased(parameters: dict[str, Kind], values: list[Any]) -> list[Any]:
    made = dict(zip(parameters, values, strict=True))
    for name, of, part in (("y", "x", slice(None)), ("z", "x", slice(1, 4)), ("w", "m", 1)):
        if name in made and of in made:
            made[name] = made[of] if part == slice(None) else made[of][part]
    return list(made.values())


def terms(parameters: dict[str, Kind], results: list[Kind]) -> list[tuple[str, Kind]]:
    """The parts of `r = f(...)`, and of the arguments after it, that are differentiated."""
    parts = [(f"r[{index}]", kind) for index, kind in enumerate(results) if is_float(kind)]
    return parts + [(name, kind) for name, kind in parameters.items() if is_float(kind) and isinstance(kind, Array)]


def loss_of(parameters: dict[str, Kind], results: list[Kind]) -> str:
    lines = [f"def loss({', '.join(parameters)}):", f"    r = f({', '.join(parameters)})", "    t = 0.0"]
    for number, (part, kind) in enumerate(terms(parameters, results)):
        weight = (number + 2) / 8
        if is_complex(kind):
            whole, sign = (part, "+") if isinstance(kind, Array) else (f"np.asarray({part})", "-")
            lines.append(f"    t = t + np.sum({whole}.real * {weight} {sign} {whole}.imag * ({whole}.real + 0.5))")
            continue
        lines.append(f"    t = t + np.sum({part} * ({part} + {weight}))" if isinstance(kind, Array) else
                     f"    t = t + {part} * {weight}")  # fmt: skip
    return "\n".join([*lines, "    return t"])


def outs_of(parameters: dict[str, Kind], results: list[Kind]) -> str:
    """f's float results, the loss and its slope in one direction, as functions of the float parameters."""
    floats = [name for name, kind in parameters.items() if is_float(kind)]
    passed = [
        name if name in floats else f"fixed_{name}" + (".copy()" if isinstance(kind, Array) else "")
        for name, kind in parameters.items()
    ]
    parts = [f"{part} * 1.0" for part, _ in terms(parameters, results)]
    head, called = f"({', '.join(floats)}):", ", ".join(passed)
    outs = [f"def outs{head}", f"    r = f({called})", f"    return ({', '.join(parts)},)"]
    energy = [f"def energy{head}", f"    return loss({called})"]
    slope = [
        f"def slope{head}",
        f"    d = mlirad.grad(energy, argnums={tuple(range(len(floats)))})({', '.join(floats)})",
    ]
    along = " + ".join(
        f"np.sum(d[{number}] * along_{name})" + (".real" if is_complex(parameters[name]) else "")
        for number, name in enumerate(floats)
    )
    return "\n\n\n".join("\n".join(lines) for lines in (outs, energy, [*slope, f"    return {along}"]))


REPLACEMENT = "replacement"
"""In a program with "replaced code", the first helper gets this function's code between two calls."""

COMMON = ("loss", "outs", "energy", "slope")
"""The functions that every program has besides its own."""
