"""The programs of `tests/support/silent_gradients.py` unchanged, with another library in place of NumPy."""

import importlib
import types

import numpy as np


def in_place_of_numpy(function: types.FunctionType, module: types.ModuleType) -> types.FunctionType:
    """The function, with `module` as its `np`."""
    return types.FunctionType(function.__code__, {**function.__globals__, "np": module}, function.__name__)


def in_jax(function: types.FunctionType, x: np.ndarray, constants: tuple) -> tuple[float, np.ndarray]:
    """JAX's value and gradient."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    numpy = importlib.import_module("jax.numpy")
    value, gradient = jax.value_and_grad(in_place_of_numpy(function, numpy))(numpy.asarray(x), *constants)
    return float(value), np.asarray(gradient)


def in_autograd(function: types.FunctionType, x: np.ndarray, constants: tuple) -> tuple[float, np.ndarray]:
    """HIPS autograd's value and gradient."""
    autograd, numpy = importlib.import_module("autograd"), importlib.import_module("autograd.numpy")
    value, gradient = autograd.value_and_grad(in_place_of_numpy(function, numpy))(x, *constants)
    return float(value), gradient


def in_mindspore(function: types.FunctionType, x: np.ndarray, constants: tuple) -> tuple[float, np.ndarray]:
    """MindSpore's value and gradient, op by op."""
    mindspore, numpy = importlib.import_module("mindspore"), importlib.import_module("mindspore.numpy")
    of_tensors = mindspore.value_and_grad(in_place_of_numpy(function, numpy))
    value, gradient = of_tensors(mindspore.Tensor(x), *constants)
    return float(value.asnumpy()), gradient.asnumpy()
