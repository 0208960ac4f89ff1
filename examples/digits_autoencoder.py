"""A variational autoencoder of scikit-learn's 1,797 handwritten digits of 8 x 8 pixels.

An encoder maps each digit to a normal distribution in the plane, the kernel draws a point from it (`rng.normal`), and a
decoder computes the point's pixels (Kingma and Welling, Auto-Encoding Variational Bayes, 2014). The gradient goes
through the draw. Afterwards the decoder shows the digits for points on a grid in the plane.

    python examples/digits_autoencoder.py
"""

import sys
import time

import numpy as np
from pictures.png import save
from sklearn.datasets import load_digits

import mlirad
from mlirad import nn

HIDDEN, LATENT = 128, 2
BATCH, EPOCHS, RATE = 64, 40, 3e-3
SHAPES = ((64, HIDDEN), (HIDDEN, LATENT), (HIDDEN, LATENT), (LATENT, HIDDEN), (HIDDEN, 64))


def encoded(params, images):
    """Means and logarithms of the deviations, (N, 2) each, of images (N, 64)."""
    (w1, b1), (w2, b2), (w3, b3), _, _ = params
    hidden = np.tanh(images @ w1 + b1)
    return hidden @ w2 + b2, hidden @ w3 + b3


def decoded(params, points):
    """The logits of pixels, (N, 64), of points (N, 2)."""
    _, _, _, (w1, b1), (w2, b2) = params
    return np.tanh(points @ w1 + b1) @ w2 + b2


def loss(params, images, rng):
    """The negative evidence lower bound of an image, in nats."""
    mean, deviation = encoded(params, images)
    points = rng.normal(mean, np.exp(deviation))
    logits = decoded(params, points)
    pixels = np.sum(np.logaddexp(0.0, logits) - images * logits)
    divergence = 0.5 * np.sum(mean**2 + np.exp(2 * deviation) - 1.0 - 2 * deviation)
    return (pixels + divergence) / len(images)


def initial_parameters(rng):
    return tuple((rng.normal(0.0, shape[0] ** -0.5, shape), np.zeros(shape[1])) for shape in SHAPES)


def adam(params, gradient, state, step):
    """One step of Adam, in place."""
    for pair, slopes, pair_state in zip(params, gradient, state, strict=True):
        for x, g, (m, v) in zip(pair, slopes, pair_state, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            x -= RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def show_progress(epoch, bound):
    done = 30 * epoch // EPOCHS
    print(f"\r[{'#' * done}{'.' * (30 - done)}] epoch {epoch:2}: {bound:.3f} nats", end="", flush=True)


def trained(params, images, rng):
    """The mean loss of each epoch; the parameters are changed in place."""
    value_and_grad = mlirad.value_and_grad(loss)
    value_and_grad(params, images[:BATCH], np.random.default_rng(0))  # compiles
    state = tuple(tuple((np.zeros_like(x), np.zeros_like(x)) for x in pair) for pair in params)
    bounds, step, start = [], 0, time.perf_counter()
    for epoch in range(EPOCHS):
        order, total = rng.permutation(len(images)), 0.0
        for first in range(0, len(images) - BATCH + 1, BATCH):
            value, gradient = value_and_grad(params, images[order[first : first + BATCH]], rng)
            step += 1
            adam(params, gradient, state, step)
            total += value
        bounds.append(total / (len(images) // BATCH))
        show_progress(epoch + 1, bounds[-1])
    print(f"\n{step} steps of {BATCH} digits, {(time.perf_counter() - start) / step * 1e3:.2f} ms each")
    return bounds


def is_right_of_frozen_draws(params, images):
    """Whether value, gradient and generator are right, where the generator begins in the same state each time."""
    rng, plain = np.random.default_rng(5), np.random.default_rng(5)
    value, gradient = mlirad.value_and_grad(loss)(params, images, rng)
    expected = loss(params, images, plain)
    is_same = np.isclose(value, expected, rtol=1e-13) and rng.bit_generator.state == plain.bit_generator.state
    way = initial_parameters(np.random.default_rng(6))

    def moved(h):
        pairs = zip(params, way, strict=True)
        there = tuple(tuple(x + h * d for x, d in zip(*pair, strict=True)) for pair in pairs)
        return loss(there, images, np.random.default_rng(5))

    slope = (8 * (moved(1e-4) - moved(-1e-4)) - moved(2e-4) + moved(-2e-4)) / 12e-4
    along = sum(np.sum(g * d) for gs, ds in zip(gradient, way, strict=True) for g, d in zip(gs, ds, strict=True))
    print(f"gradient against differences: {along:.8f} and {slope:.8f}; the plain function's draws: {is_same}")
    return is_same and abs(along - slope) < 1e-7 * abs(slope)


def main():
    pixels, _ = map(np.asarray, load_digits(return_X_y=True))
    images, rng = pixels / 16, np.random.default_rng(0)
    params = initial_parameters(rng)
    bounds = trained(params, images, rng)
    mean = images.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        constant = -np.nansum(images * np.log(mean) + (1 - images) * np.log(1 - mean)) / len(images)
    print(f"the bound on the negative evidence: {bounds[-1]:.2f} nats; of the mean image: {constant:.2f}")
    save("digits_autoencoder.png", picture(params), scale=4)
    is_right = is_right_of_frozen_draws(params, images[:BATCH])
    return 0 if bounds[-1] < constant - 2.0 and bounds[-1] < bounds[0] and is_right else 1


def picture(params):
    """The decoder's digits at 15 x 15 points of the plane."""
    places = np.linspace(-2.0, 2.0, 15)
    points = np.stack([np.tile(places, 15), np.repeat(places[::-1], 15)], axis=1)
    pixels = mlirad.jit(lambda params, points: nn.sigmoid(decoded(params, points)))(params, points)
    return pixels.reshape(15, 15, 8, 8).swapaxes(1, 2).reshape(120, 120)


if __name__ == "__main__":
    sys.exit(main())
