"""Compares derivatives of complex functions with JAX's own, whose convention mlirad follows.

`python tests/support/complex_as_jax.py --page FILE` writes the largest differences, by function and transform. Needs
`jax`. Each function is one source: its `np` is NumPy for mlirad, and `jax.numpy` for JAX.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import mlirad

RNG = np.random.default_rng(7)
Z, V, W = (RNG.normal(size=6) + 1j * RNG.normal(size=6) for _ in range(3))
X = RNG.uniform(0.5, 1.5, 6)

HOLOMORPHIC: Mapping[str, Callable[[Any], Any]] = {
    "z * z + 2j * z": lambda z: z * z + 2j * z,
    "1 / z": lambda z: 1.0 / z,
    "z / (z + 2)": lambda z: z / (z + 2.0),
    "z ** 3": lambda z: z**3,
    "z ** -2": lambda z: z**-2,
    "z ** (1 + 1j)": lambda z: z ** (1 + 1j),
    "2 ** z": lambda z: 2.0**z,
    "exp": lambda z: np.exp(z),
    "log": lambda z: np.log(z),
    "sqrt": lambda z: np.sqrt(z),
    "sin, cos, tan": lambda z: np.sin(z) + np.cos(z) * np.tan(0.5 * z),
    "sinh, cosh, tanh": lambda z: np.sinh(z) + np.cosh(z) * np.tanh(0.5 * z),
    "square, reciprocal": lambda z: np.square(z) - np.reciprocal(z),
    "sum, mean, prod": lambda z: np.sum(z) * z + np.mean(z * z) - np.prod(z),
    "cumsum": lambda z: np.cumsum(z * z),
    "matmul": lambda z: np.reshape(z, (2, 3)) @ np.reshape(z, (3, 2)),
    "einsum": lambda z: np.einsum("ij,kj->ik", np.reshape(z, (2, 3)), np.reshape(z * z, (2, 3))),
    "outer": lambda z: np.outer(z, z[::-1]),
    "slices": lambda z: z[1:4] * z[::2] - z[-1],
    "index arrays": lambda z: z[np.array([3, 0, 3])] * z[:3],
    "fft, ifft": lambda z: np.fft.fft(z) * np.fft.ifft(z * z),
    "solve": lambda z: np.linalg.solve(np.reshape(z[:4], (2, 2)) + 3.0 * np.eye(2), z[4:]),
    "inv": lambda z: np.linalg.inv(np.reshape(z[:4], (2, 2)) + 3.0 * np.eye(2)),
    "det": lambda z: np.linalg.det(np.reshape(z[:4], (2, 2)) + 3.0 * np.eye(2)) * z,
}
OTHER: Mapping[str, Callable[[Any], Any]] = {
    "conj": lambda z: np.conj(z) * z * z,
    "real, imag": lambda z: z.real * z + 1j * z.imag,
    "real": lambda z: np.real(z * z),
    "imag": lambda z: np.imag(z * z),
    "abs": lambda z: np.abs(z * z + 1.0),
    "abs ** 2": lambda z: np.abs(z) ** 2,
    "angle": lambda z: np.angle(z),
    "z * conj(z)": lambda z: z * np.conj(z),
    "exp(i abs)": lambda z: np.exp(1j * np.abs(z)) * z,
    "where": lambda z: np.where(z.real > 0.0, z * z, np.conj(z)),
    "vdot": lambda z: np.vdot(z, z[::-1] * 1j) * z,
    "var": lambda z: np.var(z),
    "norm": lambda z: np.linalg.norm(z) * z,
    "rfft, irfft": lambda z: np.fft.irfft(np.fft.rfft(z.real) * z[:4], 6),
    "complex and back": lambda z: (z.real + 1j * np.sin(z.imag)) * np.exp(-(z.real**2)),
}
FUNCTIONS = {**HOLOMORPHIC, **OTHER}


def as_jax(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same code over `jax.numpy`."""
    import jax.numpy as jnp

    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, {**function.__globals__, "np": jnp}, function.__name__)


def cotangent(out: Any) -> Any:
    """A cotangent of a result: of its shape, real if it is."""
    shape = np.shape(out)
    made = np.resize(W, shape) * (1 + 0.1 * np.arange(int(np.prod(shape))).reshape(shape))
    return (made if np.asarray(out).dtype.kind == "c" else made.real)[()]


def number_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: np.sum(function(z) * 0.5)


def real_number_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: np.sum(np.real(function(z)) * 0.5 + np.imag(function(z)) ** 2)


def real_of_real(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(np.abs(function(x * np.exp(1j * x))) ** 2)


def found_by(library: Any, function: Callable[[Any], Any], over: Callable[[Any], Any], out: Any) -> dict[str, Any]:
    """The results of a library, by transform. over: adapts a function to the library."""
    f, numbers = over(function), over(real_number_of)(over(function))
    found = {
        "jvp": library.jvp(f, (Z,), (V,))[1],
        "vjp": library.vjp(f, Z)[1](cotangent(out))[0],
        "grad": library.grad(numbers)(Z),
        "real to real": library.grad(over(real_of_real)(f))(X),
        "second": library.jvp(library.grad(numbers), (Z,), (V,))[1],
    }
    if function in HOLOMORPHIC.values():
        found["holomorphic"] = library.grad(over(number_of)(f), holomorphic=True)(Z)
    return found


def differences(name: str) -> dict[str, float]:
    """The largest differences of what mlirad and JAX give, relative to the largest number."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function = FUNCTIONS[name]
    out = function(Z)
    ours = found_by(mlirad, function, lambda f: f, out)
    theirs = found_by(jax, function, as_jax, out)
    found: dict[str, float] = {}
    for transform, expected in theirs.items():
        one, other = np.asarray(ours[transform]), np.asarray(expected)
        assert one.shape == other.shape and one.dtype == other.dtype, (name, transform, one.dtype, other.dtype)
        found[transform] = float(np.max(np.abs(one - other)) / max(1.0, float(np.max(np.abs(other)))))
    return found


COLUMNS = {
    "jvp": "jvp",
    "vjp": "vjp",
    "holomorphic": "grad, holomorphic",
    "grad": "grad of a real number",
    "real to real": "real to complex to real",
    "second": "jvp of grad",
}


def page() -> str:
    import jax

    rows = {name: differences(name) for name in FUNCTIONS}
    worst = max(value for row in rows.values() for value in row.values())
    lines = [
        "# Derivatives of complex functions, compared with JAX's",
        "",
        "<!-- written by tests/support/complex_as_jax.py -->",
        "",
        f"The same {len(rows)} functions of six complex numbers, once with `np` being NumPy and once `jax.numpy`,",
        f"under the transforms of both libraries (JAX {jax.__version__}, 64 bits). The numbers are the largest",
        f"differences, relative to the largest element where that is above 1. Largest of all: {worst:.1e}.",
        "",
        f"| function | {' | '.join(COLUMNS.values())} |",
        "|---|" + "---|" * len(COLUMNS),
    ]
    for name, row in rows.items():
        cells = [f"{row[each]:.0e}" if each in row else "" for each in COLUMNS]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path, required=True)
    parser.parse_args().page.write_text(page())
