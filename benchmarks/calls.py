"""Reads: nothing. Writes: the time of a call whose work is nothing, by number and nesting of its arrays. Leaves: 0.

Peers: the same in NumPy, and JAX.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from harness import has, print_ratios, shortest

import mlirad


def multiply_add(a, b, c):
    return a * b + c


def first_of_layers(layers):
    return layers[0][0] + 1.0


def jax_of(function):
    import jax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(function)
    return lambda *args: jax.block_until_ready(compiled(*args))


def main() -> int:
    a = np.arange(4.0)
    layers = tuple((np.ones((2, 2)), np.ones(2)) for _ in range(3))
    cases = {
        "three arrays of four": (multiply_add, (a, a + 1.0, a + 2.0)),
        "three numbers": (multiply_add, (1.0, 2.0, 3.0)),
        "six arrays in nested tuples": (first_of_layers, (layers,)),
    }
    for title, (function, arguments) in cases.items():
        contenders = {
            "NumPy": partial(function, *arguments),
            "mlirad": partial(mlirad.jit(function), *arguments),
        }
        if has("jax"):
            contenders["JAX"] = partial(jax_of(function), *arguments)
        print_ratios(f"\n{title}", shortest(contenders))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
