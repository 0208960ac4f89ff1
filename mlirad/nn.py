"""Layers of neural networks: functions on NumPy arrays, for use in kernels and in plain NumPy.

Convolutions and pooling slide windows over (batch, channels, ...), like PyTorch's functions of the same names.
"""

from mlirad.library.nn.activations import gelu, leaky_relu, log_softmax, relu, sigmoid, silu, softmax, softplus
from mlirad.library.nn.attention import attention
from mlirad.library.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from mlirad.library.nn.dropout import dropout
from mlirad.library.nn.half_precision import LossScaler, cast
from mlirad.library.nn.losses import cross_entropy, mse
from mlirad.library.nn.normalization import batch_norm, layer_norm
from mlirad.library.nn.pooling import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d

__all__ = [
    "LossScaler",
    "attention",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "cast",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dropout",
    "gelu",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mse",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]
