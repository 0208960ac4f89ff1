"""Reads: nothing. Writes: the time of k pullbacks of one `mlirad.vjp`, compared with k gradients and JAX. Leaves: 0.

The forward sweep is long (a loop), so k pullbacks that repeated it would cost as much as k gradients.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from harness import has, print_ratios, shortest

import mlirad

N = 20_000


def states(x):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = np.tanh(1.1 * np.sin(y[i - 1]) + np.exp(-x[i] * x[i]))
    return y


def weighted(x, weights):
    return np.sum(states(x) * weights)


def jax_pullback(x):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def jax_states(x):
        def step(before, x_i):
            now = jnp.tanh(1.1 * jnp.sin(before) + jnp.exp(-x_i * x_i))
            return now, now

        return jnp.concatenate([x[:1], jax.lax.scan(step, x[0], x[1:])[1]])

    _, pullback = jax.vjp(jax.jit(jax_states), x)
    return lambda g: jax.block_until_ready(pullback(g))


def repeat(function, cotangents):
    for g in cotangents:
        function(g)


def main() -> int:
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    gradient = mlirad.grad(weighted)
    _, pullback = mlirad.vjp(states, x)
    on_jax = jax_pullback(x) if has("jax") else None
    for k in (1, 4, 16):
        cotangents = list(rng.normal(size=(k, N)))
        difference = max(np.max(np.abs(pullback(g)[0] - gradient(x, g))) for g in cotangents)
        contenders = {
            "mlirad.vjp once, k pullbacks": partial(repeat, pullback, cotangents),
            "mlirad.grad, k times": partial(repeat, partial(gradient, x), cotangents),
        }
        if on_jax is not None:
            contenders["jax.vjp once, k pullbacks"] = partial(repeat, on_jax, cotangents)
        print_ratios(f"\nk = {k} (largest difference {difference:.1e})", shortest(contenders))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
