"""Thirteen ordinary loops for `ratios.py`: simulations, filters, dynamic programming, prices, iterations.

Reads: a size. Writes: for each program a loss, the arguments whose gradient is taken, and its arguments at that size.
Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """`sizes` are three whose values differ as much in time as is practical."""

    loss: Callable[..., Any]
    argnums: int | tuple[int, ...]
    arguments: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def wave(u0, speed, steps):
    """A wave in one dimension, by leapfrog steps: three arrays change places."""
    before, now = u0.copy(), u0.copy()
    for _ in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + speed[1:-1] * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        before, now = now, after
    return np.sum(now * now)


def upwind(u0, steps):
    """Burgers' equation by fluxes with a limiter; the array is replaced in each step."""
    u = u0
    for _ in range(steps):
        left, right = u[1:-1] - u[:-2], u[2:] - u[1:-1]
        slope = np.where(left * right > 0.0, np.where(np.abs(left) < np.abs(right), left, right), 0.0)
        edge = u[1:-1] + 0.5 * slope
        flux = 0.5 * edge * edge
        new = u.copy()
        new[2:-1] = u[2:-1] - 0.1 * (flux[1:] - flux[:-1])
        u = new
    return np.sum(u * u)


def time_warping(x, y):
    """Dynamic time warping: the cheapest alignment of two series."""
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), 1e10)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            least = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + least
    return cost[n, m]


def biquad(x, b, a):
    """A recursive filter of second order, on numbers."""
    y = np.zeros(len(x))
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        out = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1, y2, y1 = x1, x[i], y1, out
        y[i] = out
    return np.sum(y * y)


def kalman(observed, step, noise):
    """A Kalman filter of two numbers, by small matrices; the likelihood of what is observed."""
    state, covariance = np.zeros(2), np.eye(2)
    total = 0.0
    for t in range(len(observed)):
        state = step @ state
        covariance = step @ covariance @ step.T + noise[0] * np.eye(2)
        variance = covariance[0, 0] + noise[1]
        error = observed[t] - state[0]
        gain = covariance[:, 0] / variance
        state = state + gain * error
        covariance = covariance - np.outer(gain, covariance[0])
        total += np.log(variance) + error * error / variance
    return total


def push(position, speed, field, steps):
    """Particles in a field on a periodic grid, with linear interpolation."""
    n = len(field)
    x, v = position.copy(), speed.copy()
    for _ in range(steps):
        for p in range(len(x)):
            cell = int(x[p])
            part = x[p] - cell
            v[p] += 0.01 * ((1.0 - part) * field[cell] + part * field[(cell + 1) % n])
            x[p] = (x[p] + v[p]) % n
    return np.sum(v * v) + np.sum(x)


def push_arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return 64.0 * random.random(n), 0.1 * random.normal(size=n), random.normal(size=64), 20


def implicit_heat(u0, rate, steps):
    """Implicit time steps: a tridiagonal system in each, solved by elimination."""
    u = u0.copy()
    n = len(u)
    upper, right = np.zeros(n), np.zeros(n)
    for _ in range(steps):
        upper[0], right[0] = -rate[0] / (1.0 + 2.0 * rate[0]), u[0] / (1.0 + 2.0 * rate[0])
        for i in range(1, n):
            pivot = 1.0 + 2.0 * rate[i] + rate[i] * upper[i - 1]
            upper[i] = -rate[i] / pivot
            right[i] = (u[i] + rate[i] * right[i - 1]) / pivot
        u[n - 1] = right[n - 1]
        for i in range(n - 2, -1, -1):
            u[i] = right[i] - upper[i] * u[i + 1]
    return np.sum(u * u)


def walks(start, drift, volatility, draws):
    """The price of an Asian option: random walks by a table of normal numbers, one column in each step."""
    prices = np.full(draws.shape[1], start)
    total = np.zeros(draws.shape[1])
    for t in range(draws.shape[0]):
        prices = prices * np.exp(drift + volatility * draws[t])
        total += prices
    return np.mean(np.maximum(total / draws.shape[0] - start, 0.0))


def hidden_markov(start, moves, seen):
    """The forward algorithm of a hidden Markov model, normalised in each step."""
    weights = start * seen[0]
    total = np.log(np.sum(weights))
    weights = weights / np.sum(weights)
    for t in range(1, len(seen)):
        weights = (weights @ moves) * seen[t]
        size = np.sum(weights)
        total += np.log(size)
        weights = weights / size
    return total


def hidden_markov_arguments(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    moves = random.random((16, 16)) + 0.1
    return np.full(16, 1 / 16), moves / np.sum(moves, axis=1, keepdims=True), random.random((n, 16)) + 0.1


def conjugate_gradients(diagonal, b, steps):
    """Conjugate gradients for a matrix that is a stencil on a square."""
    x, r = np.zeros_like(b), b.copy()
    p, old = r.copy(), np.sum(b * b)
    for _ in range(steps):
        q = diagonal * p
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]
        q[:, 1:] -= p[:, :-1]
        q[:, :-1] -= p[:, 1:]
        alpha = old / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        new = np.sum(r * r)
        p = r + (new / old) * p
        old = new
    return np.sum(x * b)


def binomial_tree(spot, strike, up, rate, n):
    """An American option by backward induction: a slice that shrinks in each step."""
    down = 1.0 / up
    chance = (rate - down) / (up - down)
    powers = up ** np.arange(-n, n + 1, 1.0)
    value = np.maximum(strike - spot * powers[::2], 0.0)
    for i in range(n - 1, -1, -1):
        held = (chance * value[1 : i + 2] + (1.0 - chance) * value[: i + 1]) / rate
        value[: i + 1] = np.maximum(held, strike - spot * powers[n - i : n + i + 1 : 2])
    return value[0]


def descent(w, x, y, rate, momentum, steps):
    """Steps of gradient descent with momentum, through which the gradient of the last loss is taken."""
    speed = np.zeros_like(w)
    for _ in range(steps):
        slope = x.T @ (np.tanh(x @ w) - y) / len(y)
        speed = momentum * speed - rate * slope
        w = w + speed
    return np.mean((np.tanh(x @ w) - y) ** 2)


def viterbi(scores, moves):
    """The best path through a table of scores, by maxima of rows; the gradient is the path."""
    best = scores[0].copy()
    for t in range(1, len(scores)):
        best = np.max(best[:, None] + moves, axis=0) + scores[t]
    return np.max(best)


PROGRAMS: Mapping[str, Program] = {
    "wave": Program(wave, (0, 1), lambda n: (normal(0, n), 0.1 + 0.01 * normal(1, n), 50), (100, 3_000, 100_000)),
    "upwind": Program(upwind, 0, lambda n: (normal(0, n), 20), (100, 3_000, 100_000)),
    "time_warping": Program(time_warping, (0, 1), lambda n: (normal(0, n), normal(1, n)), (30, 200, 1_000)),
    "biquad": Program(
        biquad,
        (0, 1, 2),
        lambda n: (normal(0, n), np.array([0.2, 0.3, 0.2]), np.array([-0.5, 0.2])),
        (1_000, 30_000, 1_000_000),
    ),
    "kalman": Program(
        kalman,
        (0, 1, 2),
        lambda n: (normal(0, n), np.array([[1.0, 0.1], [-0.1, 0.9]]), np.array([0.1, 0.5])),
        (100, 3_000, 100_000),
    ),
    "push": Program(push, (0, 1, 2), push_arguments, (100, 3_000, 100_000)),
    "implicit_heat": Program(
        implicit_heat, (0, 1), lambda n: (normal(0, n), 0.5 + normal(1, n) ** 2, 20), (50, 1_500, 50_000)
    ),
    "walks": Program(walks, (0, 1, 2), lambda n: (1.0, 0.01, 0.1, normal(0, 50, n)), (30, 1_000, 30_000)),
    "hidden_markov": Program(hidden_markov, (0, 1, 2), hidden_markov_arguments, (100, 3_000, 100_000)),
    "conjugate_gradients": Program(
        conjugate_gradients, (0, 1), lambda n: (4.1 + normal(0, n, n) ** 2, normal(1, n, n), 20), (10, 50, 300)
    ),
    "binomial_tree": Program(binomial_tree, (0, 1, 2, 3), lambda n: (100.0, 105.0, 1.01, 1.0001, n), (50, 300, 2_000)),
    "descent": Program(
        descent,
        (0, 3, 4),
        lambda n: (normal(0, 20), normal(1, n, 20), np.tanh(normal(2, n)), 0.1, 0.9, 30),
        (30, 1_000, 30_000),
    ),
    "viterbi": Program(viterbi, (0, 1), lambda n: (normal(0, n, 32), normal(1, 32, 32)), (30, 1_000, 30_000)),
}
