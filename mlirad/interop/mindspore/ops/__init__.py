"""The functions and primitives that MindSpore's tutorials use."""

from mlirad.interop.mindspore.ops.functions_of_tensors import (
    binary_cross_entropy_with_logits,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    cross_entropy,
    matmul,
    ones,
    ones_like,
    relu,
    sin,
    stop_gradient,
    zeros,
)
from mlirad.interop.mindspore.ops.primitives_of_arrays import Add, Conv2D, Primitive

__all__ = [
    "Add",
    "Conv2D",
    "Primitive",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "cross_entropy",
    "matmul",
    "ones",
    "ones_like",
    "relu",
    "sin",
    "stop_gradient",
    "zeros",
]
