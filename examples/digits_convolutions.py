"""A convolution net that learns scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, by Adam.

The network and its loss are functions of `mlirad.nn`, in float32; `mlirad.value_and_grad` compiles the gradient.
A step of 64 digits takes about a millisecond.

    python examples/digits_convolutions.py
"""

import sys
import time

import numpy as np
from pictures.png import save
from sklearn.datasets import load_digits

import mlirad
from mlirad import nn

BATCH, EPOCHS, RATE = 64, 25, 3e-3
TRAINING = 1437


def network(params, images):
    """Two layers of 3 x 3 convolutions, each halved by pooling; images (N, 1, 8, 8) to logits (N, 10)."""
    (w1, b1), (w2, b2), (w3, b3) = params
    x = nn.max_pool2d(nn.relu(nn.conv2d(images, w1, padding="same", bias=b1)), 2)
    x = nn.max_pool2d(nn.relu(nn.conv2d(x, w2, padding="same", bias=b2)), 2)
    return np.reshape(x, (len(images), 128)) @ w3 + b3


def loss(params, images, labels):
    return nn.cross_entropy(network(params, images), labels)


def initial_parameters(rng):
    """By He: the variance is 2 / (numbers that go into a result)."""
    shapes = (((16, 1, 3, 3), 9, 16), ((32, 16, 3, 3), 144, 32), ((128, 10), 128, 10))
    return tuple(
        ((rng.standard_normal(shape) * np.sqrt(2 / terms)).astype(np.float32), np.zeros(results, np.float32))
        for shape, terms, results in shapes
    )


def adam(params, gradient, state, step):
    """One step of Adam, in place."""
    for pair, slopes, pair_state in zip(params, gradient, state, strict=True):
        for x, g, (m, v) in zip(pair, slopes, pair_state, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            x -= RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def main():
    pixels, targets = map(np.asarray, load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(targets))
    images = (pixels[order].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    labels = targets[order]
    params = initial_parameters(rng)
    state = tuple(tuple((np.zeros_like(x), np.zeros_like(x)) for x in pair) for pair in params)
    value_and_grad, logits = mlirad.value_and_grad(loss), mlirad.jit(network)
    value_and_grad(params, images[:BATCH], labels[:BATCH])  # compiles

    start, step = time.perf_counter(), 0
    for epoch in range(EPOCHS):
        total = 0.0
        shuffled = rng.permutation(TRAINING)
        for first in range(0, TRAINING - BATCH + 1, BATCH):
            chosen = shuffled[first : first + BATCH]
            value, gradient = value_and_grad(params, images[chosen], labels[chosen])
            step += 1
            adam(params, gradient, state, step)
            total += value
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: mean loss {total / (TRAINING // BATCH):.4f}")
    print(f"{step} steps of {BATCH} digits, {(time.perf_counter() - start) / step * 1e3:.2f} ms each")

    found = np.argmax(logits(params, images[TRAINING:]), axis=1)
    is_right = found == labels[TRAINING:]
    print(f"accuracy on {len(found)} digits that it has not seen: {np.mean(is_right):.4f}")
    save("digits_convolutions.png", picture(images[TRAINING:, 0], is_right), scale=4)

    # Self-check: the accuracy, and the gradient on another batch against central differences in double precision.
    exact = mlirad.grad(loss)(params, images[:BATCH], labels[:BATCH])
    way = initial_parameters(rng)

    def moved(h):
        return tuple(
            tuple(x.astype(float) + h * d for x, d in zip(*each, strict=True)) for each in zip(params, way, strict=True)
        )

    slope = (
        loss(moved(1e-5), images[:BATCH], labels[:BATCH]) - loss(moved(-1e-5), images[:BATCH], labels[:BATCH])
    ) / 2e-5
    along = sum(np.sum(g * d) for gs, ds in zip(exact, way, strict=True) for g, d in zip(gs, ds, strict=True))
    print(f"gradient against differences: {along:.6f} and {slope:.6f}")
    return 0 if np.mean(is_right) > 0.97 and abs(along - slope) < 1e-3 * abs(slope) + 1e-5 else 1


def picture(images, is_right):
    """The unseen digits in rows of 24, the wrong ones in red."""
    rows = len(images) // 24
    tiles = np.repeat(images[: 24 * rows, :, :, None], 3, axis=3)
    tiles[~is_right[: 24 * rows], :, :, 1:] *= 0.3
    tiles[~is_right[: 24 * rows], :, :, 0] += 0.3
    return tiles.reshape(rows, 24, 8, 8, 3).swapaxes(1, 2).reshape(8 * rows, 192, 3)


if __name__ == "__main__":
    sys.exit(main())
