"""Reads: scikit-learn's handwritten digits. Writes: progress, accuracy and times, and the dumps of the gradient.
Leaves: an exit code, 0 if the trained network reaches the required accuracy.

`network` and `loss` are ordinary NumPy; mlirad compiles them and their gradient. `numpy_gradient` is the same gradient
written by hand, for comparison."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Layer = tuple[Array, Array]
Parameters = tuple[Layer, ...]
Gradient = Callable[[Parameters, Array, Array], tuple[Any, Parameters]]

SIZES = (64, 64, 32, 10)
BATCH = 64
LEARNING_RATE = 0.1
MOMENTUM = 0.9
REQUIRED_ACCURACY = 0.95
TOLERANCE = 1e-9


def network(params, images):
    """Two hidden layers; images of shape (batch, 64) to logits of shape (batch, 10)."""
    (w1, b1), (w2, b2), (w3, b3) = params
    hidden = np.tanh(images @ w1 + b1)
    hidden = np.maximum(hidden @ w2 + b2, 0.0)
    return hidden @ w3 + b3


def loss(params, images, labels):
    """Mean cross-entropy; `labels` are one-hot rows."""
    logits = network(params, images)
    shifted = logits - np.max(logits, axis=1)[:, None]
    log_sums = np.log(np.sum(np.exp(shifted), axis=1))
    return (np.sum(log_sums) - np.sum(labels * shifted)) / images.shape[0]


def numpy_gradient(params: Parameters, images: Array, labels: Array) -> tuple[Any, Parameters]:
    """Value and gradient of `loss`, differentiated by hand."""
    (w1, b1), (w2, b2), (w3, b3) = params
    first = np.tanh(images @ w1 + b1)
    second = np.maximum(first @ w2 + b2, 0.0)
    logits = second @ w3 + b3
    shifted = logits - logits.max(axis=1)[:, None]
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1)
    value = (np.log(sums).sum() - (labels * shifted).sum()) / len(images)
    g_logits = (exponentials / sums[:, None] - labels) / len(images)
    g_second = (g_logits @ w3.T) * (second > 0.0)
    g_first = (g_second @ w2.T) * (1.0 - first * first)
    return value, (
        (images.T @ g_first, g_first.sum(axis=0)),
        (first.T @ g_second, g_second.sum(axis=0)),
        (second.T @ g_logits, g_logits.sum(axis=0)),
    )


def jax_gradient() -> Gradient:
    """The same by JAX, compiled, in double precision."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def jax_loss(params, images, labels):
        (w1, b1), (w2, b2), (w3, b3) = params
        hidden = jnp.tanh(images @ w1 + b1)
        hidden = jnp.maximum(hidden @ w2 + b2, 0.0)
        logits = hidden @ w3 + b3
        shifted = logits - jnp.max(logits, axis=1)[:, None]
        log_sums = jnp.log(jnp.sum(jnp.exp(shifted), axis=1))
        return (jnp.sum(log_sums) - jnp.sum(labels * shifted)) / images.shape[0]

    compiled = jax.jit(jax.value_and_grad(jax_loss))
    return lambda *args: jax.block_until_ready(compiled(*args))


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 values in [0, 1]; training labels as one-hot rows, test labels as numbers."""

    images: Array
    labels: Array
    test_images: Array
    test_digits: NDArray[np.int64]

    @staticmethod
    def load(seed: int = 0) -> Digits:
        """The 1,797 images that scikit-learn ships, in a fixed shuffle; every fifth is kept for the test."""
        from sklearn.datasets import load_digits

        images, digits = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(images))
        images, digits = images[order] / 16.0, digits[order]
        is_test = np.arange(len(images)) % 5 == 0
        one_hot = np.eye(10)[digits]
        return Digits(images[~is_test], one_hot[~is_test], images[is_test], digits[is_test])

    def accuracy(self, params: Parameters) -> float:
        return float(np.mean(np.argmax(network(params, self.test_images), axis=1) == self.test_digits))

    def minibatches(self, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
        """One epoch, in a new order; all batches of one size."""
        order = rng.permutation(len(self.images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            yield self.images[rows], self.labels[rows]


@dataclass
class Contender:
    """One way to compute the gradient: its seconds for every step, and its largest difference from the first way."""

    name: str
    gradient: Gradient
    seconds: list[float] = field(default_factory=list[float])
    difference: float = 0.0

    def step(self, params: Parameters, images: Array, labels: Array) -> tuple[float, Parameters]:
        start = time.perf_counter()
        value, grads = self.gradient(params, images, labels)
        self.seconds.append(time.perf_counter() - start)
        return float(value), grads

    def median(self) -> float:
        return float(np.median(self.seconds[1:] or self.seconds))


def initial_parameters(rng: np.random.Generator) -> Parameters:
    return tuple((rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(SIZES))


def largest_difference(left: Parameters, right: Parameters) -> float:
    pairs = zip(left, right, strict=True)
    return max(float(np.max(np.abs(a - np.asarray(b)))) for x, y in pairs for a, b in zip(x, y, strict=True))


def train(digits: Digits, contenders: list[Contender], epochs: int, out: TextIO, seed: int = 0) -> Parameters:
    """Gradient descent with momentum, by the first contender; the others compute each step's gradient beside it."""
    rng = np.random.default_rng(seed)
    params = initial_parameters(rng)
    velocity: Parameters = tuple((np.zeros_like(w), np.zeros_like(b)) for w, b in params)
    steps_per_epoch = len(digits.images) // BATCH
    bar = ProgressBar(epochs, out)
    for epoch in range(epochs):
        total = 0.0
        for images, labels in digits.minibatches(rng):
            value, grads = contenders[0].step(params, images, labels)
            for other in contenders[1:]:
                other_value, other_grads = other.step(params, images, labels)
                difference = max(abs(value - other_value), largest_difference(grads, other_grads))
                other.difference = max(other.difference, difference)
            velocity = tuple(
                (MOMENTUM * vw - LEARNING_RATE * gw, MOMENTUM * vb - LEARNING_RATE * gb)
                for (vw, vb), (gw, gb) in zip(velocity, grads, strict=True)
            )
            params = tuple((w + vw, b + vb) for (w, b), (vw, vb) in zip(params, velocity, strict=True))
            total += value
        bar.show(epoch + 1, f"loss {total / steps_per_epoch:.4f}  test accuracy {digits.accuracy(params):6.1%}")
    return params


@dataclass
class ProgressBar:
    """One line that is rewritten on a terminal; elsewhere a new line after every fifth of the work."""

    total: int
    out: TextIO
    width: int = 30

    def show(self, done: int, text: str) -> None:
        filled = self.width * done // self.total
        line = f"epoch {done:3d}/{self.total} [{'#' * filled}{'.' * (self.width - filled)}] {text}"
        if self.out.isatty():
            self.out.write("\r" + line + ("\n" if done == self.total else ""))
            self.out.flush()
        elif done == self.total or done % max(1, self.total // 5) == 0:
            self.out.write(line + "\n")


def report(contenders: list[Contender], out: TextIO) -> None:
    """Medians over the steps of training; the contenders took turns, on the same minibatches."""
    out.write(
        f"\ntime per step (value and gradient of one minibatch of {BATCH}, float64, median of the training steps)\n"
    )
    for contender in contenders:
        ratio = contender.median() / contenders[0].median()
        out.write(f"  {contender.name:24s}{contender.median() * 1e6:9.1f} us{ratio:8.2f} x")
        is_first = contender is contenders[0]
        out.write("\n" if is_first else f"   largest difference {contender.difference:.1e}\n")


def run(dump: Path, epochs: int, out: TextIO = sys.stdout) -> int:
    """Run the demonstration. Returns 0 if the accuracy is high enough and the gradients agree."""
    import mlirad
    from mlirad.pipeline import write_stages

    if importlib.util.find_spec("sklearn") is None:
        sys.stderr.write("mlirad demo needs scikit-learn for its data: pip install 'mlirad[examples]'\n")
        return 2
    digits = Digits.load()
    out.write(f"{len(digits.images)} handwritten digits to learn from, {len(digits.test_images)} to test with\n")
    gradient = mlirad.value_and_grad(loss)
    sample = (initial_parameters(np.random.default_rng(0)), digits.images[:BATCH], digits.labels[:BATCH])
    start = time.perf_counter()
    gradient(*sample)
    out.write(f"loss and gradient compiled in {time.perf_counter() - start:.2f} s\n")

    contenders = [Contender("mlirad", gradient), Contender("NumPy, by hand", numpy_gradient)]
    if importlib.util.find_spec("jax") is not None:
        contenders.append(Contender("JAX", jax_gradient()))
    params = train(digits, contenders, epochs, out)
    accuracy = digits.accuracy(params)
    out.write(f"\ntest accuracy: {accuracy:.1%}\n")
    report(contenders, out)
    lowered = mlirad.grad(loss).lower(*sample)
    paths = write_stages(lowered.module, lowered.target, dump)
    out.write(f"\nthe gradient at every stage of the compiler: {dump}/\n")
    out.writelines(f"  {path.name:20s}{len(path.read_text().splitlines()):7d} lines\n" for path in paths)

    failures = [f"{c.name} differs by {c.difference:.1e}" for c in contenders[1:] if not c.difference <= TOLERANCE]
    if not accuracy >= REQUIRED_ACCURACY:
        failures.append(f"test accuracy {accuracy:.1%} is below {REQUIRED_ACCURACY:.0%}")
    sys.stderr.writelines(f"mlirad demo: {failure}\n" for failure in failures)
    return int(bool(failures))
