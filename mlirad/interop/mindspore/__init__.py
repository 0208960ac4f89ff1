"""MindSpore's API over mlirad's core: functional transforms, cells, parameters, derivative rules.

    import mlirad.interop.mindspore as ms
    from mlirad.interop.mindspore import Parameter, Tensor, nn, ops

It has what MindSpore's tutorials on differentiation use, with the same semantics, and no more.
"""

from mlirad.interop.mindspore import modes as context
from mlirad.interop.mindspore import nn, ops
from mlirad.interop.mindspore.bprop import bprop_getters
from mlirad.interop.mindspore.functional import (
    GradientAccumulation,
    get_grad,
    grad,
    jacfwd,
    jacrev,
    jvp,
    recompute,
    value_and_grad,
    vjp,
)
from mlirad.interop.mindspore.modes import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context
from mlirad.interop.mindspore.nn.layers_of_cells import set_seed
from mlirad.interop.mindspore.tensors import (
    Parameter,
    Tensor,
    bool_,
    float16,
    float32,
    float64,
    int32,
    int64,
)

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "GradientAccumulation",
    "Parameter",
    "Tensor",
    "bool_",
    "bprop_getters",
    "context",
    "float16",
    "float32",
    "float64",
    "get_context",
    "get_grad",
    "grad",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jvp",
    "nn",
    "ops",
    "recompute",
    "set_context",
    "set_seed",
    "value_and_grad",
    "vjp",
]
