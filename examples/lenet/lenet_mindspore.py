"""LeNet-5 in MindSpore's spelling, trained on scikit-learn's digits, compiled, and compared with a run op by op.

With the argument `pynative`, the whole training runs op by op, which takes minutes.

    python examples/lenet/lenet_mindspore.py
"""

import sys
import time
from itertools import islice

import numpy as np
from lenet_digits import BATCH, EPOCHS, MOMENTUM, RATE, TRAINING, accuracy, batches, digits, initial_weights

import mlirad.interop.mindspore as ms
from mlirad.interop.mindspore import Tensor, nn

COMPARED = 8
"""Steps of which both modes must give the same losses."""


class LeNet5(nn.Cell):
    def __init__(self, weights):
        super().__init__()

        def begun(layer):
            return {"weight_init": weights[f"{layer}.weight"], "bias_init": weights[f"{layer}.bias"]}

        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, has_bias=True, **begun("conv1"))
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True, **begun("conv2"))
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(400, 120, **begun("fc1"))
        self.fc2 = nn.Dense(120, 84, **begun("fc2"))
        self.fc3 = nn.Dense(84, 10, **begun("fc3"))

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def train(mode, data, dtype: type = np.float32, steps=None, report=None):
    """The network, and the loss of each step."""
    ms.set_context(mode=mode)
    weights = {name: each.astype(dtype) for name, each in initial_weights().items()}
    network, loss_function = LeNet5(weights), nn.CrossEntropyLoss()
    parameters = network.trainable_params()
    optimizer = nn.Momentum(parameters, RATE, MOMENTUM)

    def forward(images, labels):
        return loss_function(network(images), labels)

    gradients_of = ms.value_and_grad(forward, None, weights=parameters)
    losses = []
    for chosen in islice(batches(), steps):
        loss, gradients = gradients_of(Tensor(data.images[chosen], dtype), Tensor(data.labels[chosen]))
        optimizer(gradients)
        losses.append(float(loss))
        if report is not None:
            report(losses)
    return network, losses


def bar(losses):
    """A line that shows how far training is."""
    steps = EPOCHS * (TRAINING // BATCH)
    if sys.stderr.isatty() and len(losses) % 8 == 0:
        done = 40 * len(losses) // steps
        print(f"\r[{'#' * done:40}] loss {np.mean(losses[-44:]):.4f}", end="", file=sys.stderr)


def main():
    data, mode = digits(), ms.PYNATIVE_MODE if sys.argv[1:] == ["pynative"] else ms.GRAPH_MODE
    start = time.perf_counter()
    network, losses = train(mode, data, report=bar)
    found = accuracy(network(Tensor(data.unseen_images)).asnumpy(), data.unseen_labels)
    how = "compiled" if mode == ms.GRAPH_MODE else "op by op"
    print(f"{how}: {len(losses)} steps of {BATCH} digits in {time.perf_counter() - start:.1f} s")
    print(f"accuracy on {len(data.unseen_labels)} digits that it has not seen: {found:.4f}")

    # In float64: in float32, rounding decides ties between two numbers of a window, and the training then differs.
    start = time.perf_counter()
    _, by_ops = train(ms.PYNATIVE_MODE, data, np.float64, steps=COMPARED)
    print(f"op by op: {len(by_ops)} steps in {time.perf_counter() - start:.1f} s")
    _, compiled = train(ms.GRAPH_MODE, data, np.float64, steps=COMPARED)
    difference = np.max(np.abs(np.subtract(by_ops, compiled)))
    print(f"largest difference of a loss in float64: {difference:.1e}")
    return 0 if found >= 0.97 and difference < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
