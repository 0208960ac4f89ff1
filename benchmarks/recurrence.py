"""Reads: nothing. Writes: time and memory of the gradient of a recurrence written in place, n = 1e3 to 1e6. Leaves: 0.

Peers: the adjoint written by hand in Numba, and JAX (the same program with `.at[].set`, and rewritten as a `scan`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numba
import numpy as np
from harness import has, high_water, print_ratios, shortest

import mlirad

C = 1.1
LARGEST_JAX_UPDATES = 1000  # each update copies the array in the reverse sweep


def loss(x, c):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


@numba.njit
def adjoint(x, c):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.size):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    g = 2.0 * y
    for i in range(x.size - 1, 0, -1):
        g[i - 1] += c * np.cos(y[i - 1]) * g[i]
    return g


def jax_gradients() -> dict[str, Callable]:
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)

    def with_updates(x, c):
        def step(i, y):
            return y.at[i].set(c * jnp.sin(y[i - 1]) + x[i])

        y = jax.lax.fori_loop(1, x.shape[0], step, jnp.zeros_like(x).at[0].set(x[0]))
        return jnp.sum(y * y)

    def with_scan(x, c):
        def step(before, x_i):
            now = c * jnp.sin(before) + x_i
            return now, now

        _, rest = jax.lax.scan(step, x[0], x[1:])
        return x[0] ** 2 + jnp.sum(rest * rest)

    def gradient(f):
        compiled = jax.jit(jax.grad(f))
        return lambda *args: jax.block_until_ready(compiled(*args))

    return {"JAX, .at[].set": gradient(with_updates), "JAX, rewritten as scan": gradient(with_scan)}


def prepare_mlirad(x):
    return partial(mlirad.grad(loss).lower(x, C).compile(), x, C)


def prepare_numba(x):
    adjoint(x[:8].copy(), C)
    return partial(adjoint, x, C)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e6)
    largest = int(parser.parse_args().largest)
    sizes = [n for n in (10**3, 10**4, 10**5, 10**6) if n <= largest]
    inputs = {n: np.random.default_rng(0).normal(size=n) for n in sizes}

    # Memory first: the children are forked before JAX has threads.
    print("memory: rise of the resident set at its highest, of one call")
    for n, x in inputs.items():
        for name, prepare in (("mlirad", prepare_mlirad), ("Numba, adjoint by hand", prepare_numba)):
            rise = high_water(partial(prepare, x))
            told = "not measured" if rise is None else f"{rise / 2**20:9.2f} MiB {rise / n:9.1f} B an element"
            print(f"  n = {n:9,d}  {name:26s} {told}")

    gradient = mlirad.grad(loss)
    peers = jax_gradients() if has("jax") else {}
    for n, x in inputs.items():
        difference = np.max(np.abs(gradient(x, C) - adjoint(x, C)))
        contenders = {"Numba, adjoint by hand": partial(adjoint, x, C), "mlirad": partial(gradient, x, C)}
        for name, peer in peers.items():
            if n <= LARGEST_JAX_UPDATES or "scan" in name:
                contenders[name] = partial(peer, x, C)
        print_ratios(f"\nn = {n:,d} (largest difference {difference:.1e})", shortest(contenders))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
