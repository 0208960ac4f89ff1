"""A neural differential equation learns Van der Pol's oscillator, through steps whose number is not known beforehand.

A network computes the slope of y from y. Bogacki and Shampine's pair of orders 3 and 2 integrates it in a `while` loop,
with steps as long as the error allows. The reverse sweep runs it backwards; with `checkpointed(condition, 6)` it keeps
six states, chosen while the loop runs, and recomputes the others: the gradient is the same to the bit. The picture
shows the path (blue) through the observed states (orange).

    python examples/neural_ode.py [iterations, by default 60]
"""

import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import progress
from scipy.optimize import minimize

import mlirad

HIDDEN, SEEN, END, ERROR, SLOTS = 12, 24, 8.0, 1e-4, 6
TIMES = np.linspace(0.0, END, SEEN)
START = np.array([2.0, 0.0])
AROUND = np.linspace(0, 2 * np.pi, 20)


def unpacked(p):
    """The weights and biases of two layers, out of one array."""
    n = HIDDEN
    return p[: 2 * n].reshape(n, 2), p[2 * n : 3 * n], p[3 * n : 5 * n].reshape(2, n), p[5 * n :]


def slope(p, y):
    w1, b1, w2, b2 = unpacked(p)
    return w2 @ np.tanh(w1 @ y + b1) + b2


def tried(p, y, h):
    """The state after a step, and its error. P. Bogacki and L. F. Shampine, Appl. Math. Lett. 2 (1989), 321-325."""
    k1 = slope(p, y)
    k2 = slope(p, y + h * (k1 / 2))
    k3 = slope(p, y + h * (k2 * 3 / 4))
    new = y + h * (k1 * 2 / 9 + k2 / 3 + k3 * 4 / 9)
    off = h * (k1 * -5 / 72 + k2 / 12 + k3 / 9 - slope(p, new) / 8)
    return new, np.sqrt(np.sum(off * off)) / ERROR


def path(p, slots):
    """The states at TIMES, and the steps that were tried; slots: how many states the reverse sweep keeps."""
    states, y, t, h, i, tries = np.zeros((SEEN, 2)), START, 0.0, 0.05, 1, 0
    states[0] = START
    while mlirad.checkpointed(i < SEEN, slots):
        length = min(h, TIMES[i] - t)
        new, error = tried(p, y, length)
        tries += 1
        if error <= 1.0:
            y, t = new, t + length
            if t >= TIMES[i] - 1e-12:
                states[i] = y
                t = TIMES[i]
                i += 1
        h = length * min(4.0, max(0.2, 0.9 * (error + 1e-10) ** (-1 / 3)))
    return states, tries


def loss(p, seen, count, slots):
    """Of the first `count` states that are seen."""
    off = (path(p, slots)[0] - seen) ** 2
    off[count:] = 0.0
    return np.sum(off) / count


def oscillation():
    """What is seen: Van der Pol's equation, in small steps of the classical Runge-Kutta method."""

    def f(y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    y, states, n = START, [START], 100
    h = END / (SEEN - 1) / n
    for _ in range((SEEN - 1) * n):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
        states.append(y)
    return np.array(states[::n])


def main():
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    seen, p = oscillation(), np.random.default_rng(0).normal(size=5 * HIDDEN + 2) * 0.3
    value_and_grad = mlirad.value_and_grad(loss, static_argnums=3)
    error = np.inf
    for count in progress(range(3, SEEN + 1, 3), "longer and longer parts"):
        found = minimize(
            value_and_grad, p, (seen, count, SLOTS), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
        )
        p, error = found.x, np.sqrt(found.fun)
        print(f"the first {count:2} states: off by {error:.4f} after {found.nit} iterations")

    _, few = value_and_grad(p, seen, SEEN, SLOTS)
    memory = value_and_grad.last_memory() or 0
    states, tries = path(p, SLOTS)
    print(f"{tries} steps, in {memory / 1e3:.1f} kB with {SLOTS} states")
    every = few
    if iterations >= 60:
        _, every = value_and_grad(p, seen, SEEN, 1000)
        memory = value_and_grad.last_memory() or 0
        print(f"with all states it takes {memory / 1e3:.1f} kB, for the same gradient: {np.array_equal(few, every)}")

    # Self-check: against differences, on a part so short that they do not change the length of any step.
    begin, way, h = 0.1 * np.cos(np.arange(p.size)), np.sin(np.arange(p.size)), 1e-6
    along = np.sum(value_and_grad(begin, seen, 3, SLOTS)[1] * way)
    slope = (loss(begin + h * way, seen, 3, SLOTS) - loss(begin - h * way, seen, 3, SLOTS)) / (2 * h)
    print(f"gradient against differences: {along:.6f} and {slope:.6f}")

    blue, orange = (0.1, 0.2, 0.7), (0.9, 0.5, 0.1)
    spots = [(orange, each[0] + 0.03 * np.cos(AROUND), each[1] + 0.03 * np.sin(AROUND)) for each in seen]
    save("neural_ode.png", drawn([(blue, states[:, 0], states[:, 1]), *spots]), scale=2)
    is_close = error < (0.1 if iterations >= 60 else 2.0)
    return 0 if np.array_equal(few, every) and is_close and abs(along - slope) < 1e-6 * (1 + abs(slope)) else 1


if __name__ == "__main__":
    sys.exit(main())
