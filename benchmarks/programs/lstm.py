"""An LSTM layer over time steps, its states' squares summed along the way, and the adjoint by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = (5, 50, 500, 5_000)
BATCH, INPUTS, HIDDEN = 16, 32, 64


def arguments(steps: int) -> tuple[Any, ...]:
    """The weights of the inputs, of the hidden state, the biases, the inputs."""
    rng = np.random.default_rng(0)
    w, u = rng.normal(size=(INPUTS, 4 * HIDDEN)) / INPUTS**0.5, rng.normal(size=(HIDDEN, 4 * HIDDEN)) / HIDDEN**0.5
    return w, u, rng.normal(size=4 * HIDDEN), rng.normal(size=(steps, BATCH, INPUTS))


def operations(steps: int) -> int:
    return steps * BATCH * HIDDEN


def loss(w, u, b, x):
    steps, batch, _ = x.shape
    hidden = u.shape[0]
    h, c, total = np.zeros((batch, hidden)), np.zeros((batch, hidden)), 0.0
    for t in range(steps):
        z = x[t] @ w + h @ u + b
        gates = 1.0 / (1.0 + np.exp(-z[:, : 3 * hidden]))
        let_in, forget, let_out = gates[:, :hidden], gates[:, hidden : 2 * hidden], gates[:, 2 * hidden :]
        c = forget * c + let_in * np.tanh(z[:, 3 * hidden :])
        h = let_out * np.tanh(c)
        total += np.sum(h * h)
    return total


@numba.njit
def adjoint(w, u, b, x):
    """The gates, the states and tanh of the cells are stored; the weights' cotangents are one product each."""
    steps, batch, inputs = x.shape
    hidden = u.shape[0]
    two, three = 2 * hidden, 3 * hidden
    flat = x.reshape(steps * batch, inputs)
    gates = np.dot(flat, w).reshape(steps, batch, 4 * hidden)
    hs, cs = np.zeros((steps + 1, batch, hidden)), np.zeros((steps + 1, batch, hidden))
    tanhs, product = np.empty((steps, batch, hidden)), np.empty((batch, 4 * hidden))
    for t in range(steps):
        np.dot(hs[t], u, product)
        for i in range(batch):
            z = gates[t, i]
            for j in range(three):
                z[j] = 1.0 / (1.0 + np.exp(-(z[j] + product[i, j] + b[j])))
            for j in range(three, 4 * hidden):
                z[j] = np.tanh(z[j] + product[i, j] + b[j])
            for j in range(hidden):
                cell = z[hidden + j] * cs[t, i, j] + z[j] * z[three + j]
                cs[t + 1, i, j] = cell
                tanhs[t, i, j] = np.tanh(cell)
                hs[t + 1, i, j] = z[two + j] * tanhs[t, i, j]
    transposed, of_h, of_c = np.ascontiguousarray(u.T), np.zeros((batch, hidden)), np.zeros((batch, hidden))
    for t in range(steps - 1, -1, -1):  # the gates become the cotangents of z
        for i in range(batch):
            z = gates[t, i]
            for j in range(hidden):
                g = of_h[i, j] + 2.0 * hs[t + 1, i, j]
                let_in, forget, let_out, new = z[j], z[hidden + j], z[two + j], z[three + j]
                cell = of_c[i, j] + g * let_out * (1.0 - tanhs[t, i, j] * tanhs[t, i, j])
                z[j] = cell * new * let_in * (1.0 - let_in)
                z[hidden + j] = cell * cs[t, i, j] * forget * (1.0 - forget)
                z[two + j] = g * tanhs[t, i, j] * let_out * (1.0 - let_out)
                z[three + j] = cell * let_in * (1.0 - new * new)
                of_c[i, j] = cell * forget
        np.dot(gates[t], transposed, of_h)
    rows = gates.reshape(steps * batch, 4 * hidden)
    return np.dot(flat.T, rows), np.dot(hs[:steps].reshape(steps * batch, hidden).T, rows), np.sum(rows, axis=0)


def jax_loss() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def loss(w, u, b, x):
        def step(state, row):
            h, c = state
            z = row @ w + h @ u + b
            let_in, forget, let_out = jnp.split(jax.nn.sigmoid(z[:, : 3 * HIDDEN]), 3, axis=1)
            c = forget * c + let_in * jnp.tanh(z[:, 3 * HIDDEN :])
            h = let_out * jnp.tanh(c)
            return (h, c), jnp.sum(h * h)

        start = jnp.zeros((x.shape[1], HIDDEN))
        return jnp.sum(jax.lax.scan(step, (start, start), x)[1])

    return loss


def torch_loss() -> Callable[..., Any]:
    import torch

    def loss(w, u, b, x):
        h = c = x.new_zeros((x.shape[1], HIDDEN))
        total = x.new_zeros(())
        for row in x:
            z = row @ w + h @ u + b
            let_in, forget, let_out = torch.sigmoid(z[:, : 3 * HIDDEN]).chunk(3, dim=1)
            c = forget * c + let_in * torch.tanh(z[:, 3 * HIDDEN :])
            h = let_out * torch.tanh(c)
            total = total + torch.sum(h * h)
        return total

    return loss
