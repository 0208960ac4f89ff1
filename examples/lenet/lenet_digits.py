"""What all spellings of LeNet-5 share: the digits, the weights that training starts from, and the order of the batches.

    conv 1 -> 6, 5 x 5, padding 2; relu; max pool 2
    conv 6 -> 16, 5 x 5; relu; max pool 2
    dense 400 -> 120, relu; 120 -> 84, relu; 84 -> 10

Training is by momentum, on the mean cross entropy: v = MOMENTUM v + g; w = w - RATE v, from v = 0. The weights of a
dense layer are (results, inputs), so that the layer is x @ w.T + b.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

EPOCHS, BATCH, RATE, MOMENTUM = 12, 32, 0.02, 0.9
TRAINING = 1437
"""So many of the 1,797 digits are for training."""

SHAPES = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5), "fc1": (120, 400), "fc2": (84, 120), "fc3": (10, 84)}
"""Of the weights of each layer. It also has a bias, one number for each row."""


@dataclass(frozen=True)
class Digits:
    """Images of (N, 1, 28, 28), float32 in [0, 1], and their labels, int64."""

    images: np.ndarray
    labels: np.ndarray
    unseen_images: np.ndarray
    unseen_labels: np.ndarray


def digits() -> Digits:
    """scikit-learn's digits in an order that is always the same, enlarged from 8 x 8 to 28 x 28 by interpolation."""
    pixels, targets = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(targets))
    at = np.clip((np.arange(28) + 0.5) * 8 / 28 - 0.5, 0, 7)
    enlarge = np.maximum(0, 1 - abs(at[:, None] - np.arange(8)))
    images = (enlarge @ (pixels[order].reshape(-1, 1, 8, 8) / 16) @ enlarge.T).astype(np.float32)
    labels = targets[order].astype(np.int64)
    return Digits(images[:TRAINING], labels[:TRAINING], images[TRAINING:], labels[TRAINING:])


def initial_weights() -> dict[str, np.ndarray]:
    """By He, biases 0, float32: `conv1.weight`, `conv1.bias`, `conv2.weight`... in the order of the layers."""
    rng = np.random.default_rng(1)
    weights = {}
    for layer, shape in SHAPES.items():
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weights[f"{layer}.weight"] = (rng.standard_normal(shape) * scale).astype(np.float32)
        weights[f"{layer}.bias"] = np.zeros(shape[0], np.float32)
    return weights


def batches(epochs: int = EPOCHS) -> Iterator[np.ndarray]:
    """The indices of each batch of BATCH digits; what is left of an epoch is not used."""
    rng = np.random.default_rng(2)
    for _ in range(epochs):
        order = rng.permutation(TRAINING)
        for first in range(0, TRAINING - BATCH + 1, BATCH):
            yield order[first : first + BATCH]


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(np.argmax(logits, axis=1) == labels))
