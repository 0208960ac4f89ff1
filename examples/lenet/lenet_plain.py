"""LeNet-5 as plain functions on NumPy arrays, compiled by `mlirad.value_and_grad`."""

from itertools import islice

import numpy as np
from lenet_digits import MOMENTUM, RATE, batches, initial_weights

import mlirad
from mlirad import nn


def network(w, images):
    """Images (N, 1, 28, 28) to logits (N, 10)."""
    x = nn.max_pool2d(nn.relu(nn.conv2d(images, w["conv1.weight"], padding=2, bias=w["conv1.bias"])), 2)
    x = nn.max_pool2d(nn.relu(nn.conv2d(x, w["conv2.weight"], bias=w["conv2.bias"])), 2)
    x = np.reshape(x, (len(images), 400))
    x = nn.relu(x @ w["fc1.weight"].T + w["fc1.bias"])
    x = nn.relu(x @ w["fc2.weight"].T + w["fc2.bias"])
    return x @ w["fc3.weight"].T + w["fc3.bias"]


def loss(weights, images, labels):
    return nn.cross_entropy(network(weights, images), labels)


value_and_grad = mlirad.value_and_grad(loss)


def train(data, dtype=np.float32, steps=None, shown=iter):
    """The weights, and the loss of each step."""
    weights = {name: each.astype(dtype) for name, each in initial_weights().items()}
    velocities = {name: np.zeros_like(each) for name, each in weights.items()}
    losses = []
    for chosen in shown(islice(batches(), steps)):
        value, gradient = value_and_grad(weights, data.images[chosen].astype(dtype), data.labels[chosen])
        for name, each in weights.items():
            velocities[name] = MOMENTUM * velocities[name] + gradient[name]
            each -= RATE * velocities[name]
        losses.append(float(value))
    return weights, losses
