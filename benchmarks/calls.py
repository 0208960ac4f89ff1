"""Reads: nothing. Writes: the time of a call that does no work, by number and nesting of its arrays. Leaves: 0.

Peers: the same in NumPy, JAX, and Numba, which does not take dicts of arrays and lists.
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


def of_tree(tree):
    return tree["layers"][3]["w"] * 2.0


def gradient(x):
    return np.sum(np.sin(x) * x)


def numba_of(function):
    import numba

    return numba.njit(function)


def jax_of(function):
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(function)
    return lambda *args: jax.block_until_ready(compiled(*args))


def main() -> int:
    a = np.arange(4.0)
    layers = tuple((np.ones((2, 2)), np.ones(2)) for _ in range(3))
    tree = {
        "layers": [{"w": np.ones((2, 2)), "b": np.ones(2)} for _ in range(8)],
        "scales": {"in": np.ones(3), "out": np.ones(3)},
        "rest": (np.ones(1), np.ones(1)),
    }
    cases = {
        "three arrays of four": (multiply_add, (a, a + 1.0, a + 2.0)),
        "three numbers": (multiply_add, (1.0, 2.0, 3.0)),
        "six arrays in nested tuples": (first_of_layers, (layers,)),
        "nested dict of twenty arrays": (of_tree, (tree,)),
    }
    for title, (function, arguments) in cases.items():
        contenders = {
            "NumPy": partial(function, *arguments),
            "mlirad": partial(warmed(mlirad.jit(function), *arguments), *arguments),
        }
        if has("numba") and title.startswith("three"):
            contenders["Numba"] = partial(numba_of(function), *arguments)
        if has("jax"):
            contenders["JAX"] = partial(jax_of(function), *arguments)
        print_ratios(f"\n{title}", shortest(contenders))
    print_ratios("\nthe gradient of sum(sin(x) * x), x of four", shortest(gradients(a)))
    return 0


def gradients(x):
    found = {"mlirad": partial(warmed(mlirad.grad(gradient), x), x)}
    if has("jax"):
        import jax

        found["JAX"] = partial(jax_of(jax.grad(lambda x: jax.numpy.sum(jax.numpy.sin(x) * x))), x)
    return found


def warmed(kernel, *arguments):
    """A kernel that was called often enough that its calls bypass Python."""
    for _ in range(5):
        kernel(*arguments)
    return kernel


if __name__ == "__main__":
    raise SystemExit(main())
