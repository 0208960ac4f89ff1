"""An LSTM that adds two numbers of a long row: those that are marked, which it has to find and to remember.

Hochreiter and Schmidhuber's adding problem (1997): a row of 24 random numbers, two of them marked; the answer is their
sum. An LSTM step is a function on arrays, and the row is a Python loop around it. The gradient of one step is compared
with the equations of backpropagation, written by hand. The picture shows the logarithm of the loss.

    python examples/lstm_memory.py [steps, by default 600]
"""

import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import progress

import mlirad
from mlirad import nn

LENGTH, HIDDEN, BATCH, RATE = 24, 24, 32, 2e-2


def lstm_step(w, b, x, h, c):
    """The hidden state and the cell after a number x (batch, 2); w is ((2 + HIDDEN), 4 HIDDEN)."""
    gates = np.concatenate([x, h], axis=1) @ w + b
    size = h.shape[1]
    keep, write, show = (nn.sigmoid(gates[:, i * size : (i + 1) * size]) for i in range(3))
    c = keep * c + write * np.tanh(gates[:, 3 * size :])
    return show * np.tanh(c), c


def step_by_hand(w, b, x, h, c, d_h, d_c):
    """The cotangents of w, b, h and c."""
    before = np.concatenate([x, h], axis=1)
    gates = before @ w + b
    keep, write, show = (1 / (1 + np.exp(-each)) for each in np.split(gates[:, : 3 * HIDDEN], 3, axis=1))
    new = np.tanh(gates[:, 3 * HIDDEN :])
    shown = np.tanh(keep * c + write * new)
    d_c = d_c + d_h * show * (1 - shown**2)
    d_gates = [d_c * c * keep * (1 - keep), d_c * new * write * (1 - write), d_h * shown * show * (1 - show)]
    d_gates = np.concatenate([*d_gates, d_c * write * (1 - new**2)], axis=1)
    return before.T @ d_gates, d_gates.sum(axis=0), (d_gates @ w.T)[:, 2:], d_c * keep


def answers(p, rows):
    """Rows (batch, LENGTH, 2) to sums."""
    h, c = np.zeros((2, len(rows), HIDDEN), rows.dtype)
    for i in range(rows.shape[1]):
        h, c = lstm_step(p["w"], p["b"], rows[:, i], h, c)
    return h @ p["out"]


def loss(p, rows, sums):
    return nn.mse(answers(p, rows), sums)


def problem(rng, count):
    """Rows of numbers with marks, and the sums of the marked ones: one in each half."""
    rows = np.zeros((count, LENGTH, 2), np.float32)
    rows[:, :, 0] = rng.random((count, LENGTH))
    first, second = rng.integers(0, LENGTH // 2, count), rng.integers(LENGTH // 2, LENGTH, count)
    every = np.arange(count)
    rows[every, first, 1] = rows[every, second, 1] = 1
    return rows, rows[every, first, 0] + rows[every, second, 0]


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rng = np.random.default_rng(0)
    p = {
        "w": (rng.normal(size=(2 + HIDDEN, 4 * HIDDEN)) / np.sqrt(HIDDEN)).astype(np.float32),
        "b": np.repeat(np.array([3, 0, 0, 0], np.float32), HIDDEN),  # at first it keeps its state
        "out": np.zeros(HIDDEN, np.float32),
    }
    first, second = ({name: np.zeros_like(x) for name, x in p.items()} for _ in range(2))
    value_and_grad, losses = mlirad.value_and_grad(loss), []
    for step in progress(range(1, steps + 1), "the adding problem"):
        value, gradient = value_and_grad(p, *problem(rng, BATCH))
        losses.append(float(value))
        for name, g in gradient.items():
            first[name] += 0.1 * (g - first[name])
            second[name] += 0.001 * (g * g - second[name])
            p[name] -= RATE * (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
    rows, sums = problem(rng, 500)
    error = np.mean((answers(p, rows) - sums) ** 2)
    print(f"mean squared error {error:.4f} on new rows; of always answering 1 it is {np.mean((sums - 1) ** 2):.4f}")
    curve = np.convolve(losses, np.ones(10) / 10, "valid")
    save("lstm_memory.png", drawn([((0.1, 0.2, 0.7), np.arange(len(curve)), np.log10(curve))]), scale=2)

    # Self-check: the cotangents of one step, by hand.
    w, b, x, h, c, d_h, d_c = (
        rng.normal(size=shape) for shape in (p["w"].shape, 4 * HIDDEN, (5, 2), *[(5, HIDDEN)] * 4)
    )
    found = mlirad.vjp(lambda w, b, h, c: lstm_step(w, b, x, h, c), w, b, h, c)[1]((d_h, d_c))
    off = max(np.max(np.abs(a - e)) for a, e in zip(found, step_by_hand(w, b, x, h, c, d_h, d_c), strict=True))
    print(f"gradient of a step against the equations: off by {off:.1e}")
    return 0 if off < 1e-12 and (steps < 600 or error < 0.02) else 1


if __name__ == "__main__":
    sys.exit(main())
