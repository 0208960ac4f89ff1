"""The cells, layers, losses and optimizers that MindSpore's tutorials and LeNet use."""

from mlirad.interop.mindspore.nn.cells import Cell, SequentialCell
from mlirad.interop.mindspore.nn.layers_of_cells import (
    BCEWithLogitsLoss,
    Conv2d,
    CrossEntropyLoss,
    Dense,
    Flatten,
    MaxPool2d,
    ReLU,
)
from mlirad.interop.mindspore.nn.optimizers import SGD, Adam, Momentum

__all__ = [
    "SGD",
    "Adam",
    "BCEWithLogitsLoss",
    "Cell",
    "Conv2d",
    "CrossEntropyLoss",
    "Dense",
    "Flatten",
    "MaxPool2d",
    "Momentum",
    "ReLU",
    "SequentialCell",
]
