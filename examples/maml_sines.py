"""MAML: weights from which one gradient step on ten points learns a sine wave (Finn, Abbeel and Levine 2017).

A task is a wave, of amplitude 0.1 to 5 and phase 0 to pi. The network learns its starting weights: the meta-loss is the
loss on ten points of the task after a step of gradient descent on ten others. Its gradient goes through the gradient in
that step. `mlirad.vmap` runs the tasks of a batch together.

    python examples/maml_sines.py
"""

import sys

import numpy as np

import mlirad

HIDDEN, POINTS, TASKS = 40, 10, 25  # neurons in each of two layers, points of a task, tasks in a batch
INNER_RATE, RATE, ITERATIONS = 0.02, 2e-3, 1500


def network(weights, x):
    """1 - 40 - 40 - 1, for x of shape (POINTS,)."""
    (w1, b1), (w2, b2), (w3, b3) = weights
    h = np.tanh(np.tanh(x[:, None] * w1 + b1) @ w2 + b2)
    return h @ w3 + b3


def loss(weights, x, y):
    return np.mean((network(weights, x) - y) ** 2)


def adapted(weights, x, y):
    """The weights after a step of gradient descent on a task."""
    slopes = mlirad.grad(loss)(weights, x, y)
    return mlirad.tree.map(lambda w, slope: w - INNER_RATE * slope, weights, slopes)


def meta_loss(weights, x, y, other_x, other_y):
    """The loss on other points after a step on (x, y), mean over tasks. Arrays of shape (TASKS, POINTS)."""

    def after_a_step(x, y, other_x, other_y):
        return loss(adapted(weights, x, y), other_x, other_y)

    return np.mean(mlirad.vmap(after_a_step)(x, y, other_x, other_y))


def plain_loss(weights, x, y):
    """The loss without adaptation."""
    return np.mean(mlirad.vmap(loss, (None, 0, 0))(weights, x, y))


def tasks(rng, count):
    """Points to learn from and points to measure with: x, y, other_x, other_y."""
    amplitude, phase = rng.uniform(0.1, 5.0, (count, 1)), rng.uniform(0.0, np.pi, (count, 1))
    x, other_x = rng.uniform(-5.0, 5.0, (2, count, POINTS))
    return x, amplitude * np.sin(x + phase), other_x, amplitude * np.sin(other_x + phase)


def initial_weights(rng):
    layers = (((HIDDEN,), HIDDEN, 1), ((HIDDEN, HIDDEN), HIDDEN, HIDDEN), ((HIDDEN,), (), HIDDEN))
    return tuple((rng.normal(size=shape) / np.sqrt(terms), np.zeros(out)) for shape, out, terms in layers)


def adam(weights, slopes, state, step):
    for x, g, (m, v) in zip(mlirad.tree.leaves(weights), mlirad.tree.leaves(slopes), state, strict=True):
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        x -= RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def off_differences(value_and_gradient, weights, batch, rng):
    """How far the gradient is from central differences along a random direction of all weights, relatively."""
    slopes = value_and_gradient(weights, *batch)[1]
    direction = mlirad.tree.map(lambda w: rng.normal(size=w.shape), weights)
    products = mlirad.tree.map(lambda slope, d: np.sum(slope * d), slopes, direction)
    along = sum(mlirad.tree.leaves(products))
    ahead = mlirad.tree.map(lambda w, d: w + 1e-6 * d, weights, direction)
    behind = mlirad.tree.map(lambda w, d: w - 1e-6 * d, weights, direction)
    estimate = (value_and_gradient(ahead, *batch)[0] - value_and_gradient(behind, *batch)[0]) / 2e-6
    return abs(along - estimate) / abs(estimate)


def main():
    rng = np.random.default_rng(0)
    weights = initial_weights(rng)
    state = [(np.zeros_like(x), np.zeros_like(x)) for x in mlirad.tree.leaves(weights)]
    value_and_gradient = mlirad.value_and_grad(meta_loss)
    error = off_differences(value_and_gradient, weights, tasks(rng, TASKS), rng)
    print(f"meta-gradient off central differences by {error:.1e}")

    # The loss on tasks that are in no batch, before and after the step of adaptation.
    unseen = tasks(np.random.default_rng(1), 500)
    losses = mlirad.jit(lambda weights: (plain_loss(weights, *unseen[2:]), meta_loss(weights, *unseen)))
    untrained = losses(weights)
    for step in range(1, ITERATIONS + 1):
        _, slopes = value_and_gradient(weights, *tasks(rng, TASKS))
        adam(weights, slopes, state, step)
    trained = losses(weights)
    for name, (before, after) in (("initial", untrained), (f"after {ITERATIONS} steps", trained)):
        print(f"weights {name}: loss {before:.3f}, {after:.3f} after adaptation to a task")

    # Self-check: the gradient is right, and the weights adapt: a step removes most of the loss of unseen tasks.
    return 0 if error < 1e-7 and trained[1] < 0.2 * trained[0] and trained[1] < 0.2 * untrained[1] else 1


if __name__ == "__main__":
    sys.exit(main())
