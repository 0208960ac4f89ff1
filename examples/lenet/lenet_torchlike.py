"""LeNet-5 in PyTorch's spelling: tensors, `backward` and `.grad`."""

from itertools import islice

import numpy as np
from lenet_digits import MOMENTUM, RATE, batches, initial_weights

import mlirad.interop.torchlike as torch


def network(w, images):
    """Images (N, 1, 28, 28) to logits (N, 10)."""
    x = torch.max_pool2d(torch.relu(torch.conv2d(images, w["conv1.weight"], bias=w["conv1.bias"], padding=2)), 2)
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, w["conv2.weight"], bias=w["conv2.bias"])), 2)
    x = x.reshape(len(images), 400)
    x = torch.relu(x @ w["fc1.weight"].T + w["fc1.bias"])
    x = torch.relu(x @ w["fc2.weight"].T + w["fc2.bias"])
    return x @ w["fc3.weight"].T + w["fc3.bias"]


def train(data, dtype=np.float32, steps=None, shown=iter):
    """The weights, and the loss of each step."""
    weights = {name: torch.Tensor(each, True, dtype) for name, each in initial_weights().items()}
    velocities = {name: torch.Tensor(np.zeros(each.shape, dtype)) for name, each in weights.items()}
    losses = []
    for chosen in shown(islice(batches(), steps)):
        loss = torch.cross_entropy(
            network(weights, torch.Tensor(data.images[chosen], dtype=dtype)), data.labels[chosen]
        )
        loss.backward()
        with torch.no_grad():
            for name, each in weights.items():
                velocities[name] = MOMENTUM * velocities[name] + each.grad
                each -= RATE * velocities[name]
                each.grad = None
        losses.append(loss.item())
    return weights, losses
