"""Kernels as Python's tools see them: names, documentation, signatures, the plain function."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.kernel import Kernel
from mlirad.options import Options
from mlirad.requests import python_functions
from mlirad.requests.kinds_of_derivatives import Jvp, Vjp

X = np.array([1.0, 2.0])


def loss(w: np.ndarray, x: np.ndarray, *, scale: float = 2.0) -> float:
    """The loss.

    w: weights.
    """
    return np.sum(w * x) * scale


def bare(x):
    return np.sum(x * x)


class Model:
    """A model."""

    def __init__(self) -> None:
        self.w = X

    def loss(self, x, power=2):
        """The loss of the model."""
        return np.sum(self.w * x**power)

    def __call__(self, x, *rest):
        """The value of a model."""
        return np.sum(self.w * x)


MODEL = Model()
FUNCTIONS: dict[str, Any] = {
    "function": loss,
    "without documentation": bare,
    "kernel": mlirad.jit(loss),
    "method": MODEL.loss,
    "object": MODEL,
    "partial": functools.partial(loss, scale=3.0),
    "lambda": lambda a, b=1.0: np.sum(a * b),
}
TRANSFORMS: dict[str, Any] = {
    "jit": mlirad.jit,
    "grad": mlirad.grad,
    "value_and_grad": mlirad.value_and_grad,
    "second": lambda f: mlirad.grad(mlirad.grad(f)),
    "jit of grad": lambda f: mlirad.jit(mlirad.grad(f)),
    "vjp": lambda f: Kernel(Vjp(python_functions.plain(f)), Options()),
}


@pytest.mark.parametrize("how", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_kernel_is_described_as_its_function(name: str, how: str) -> None:
    function = FUNCTIONS[name]
    kernel = TRANSFORMS[how](function)
    plain = python_functions.plain(function)
    assert inspect.signature(kernel) == inspect.signature(function) == inspect.signature(plain)
    assert kernel.numpy == plain == kernel.__wrapped__
    assert inspect.unwrap(kernel) == plain
    assert kernel.__module__ == (getattr(plain, "__module__", None) or type(plain).__module__)
    assert (plain.__doc__ or "") in kernel.__doc__ if kernel.__doc__ else plain.__doc__ is None
    if how != "jit":
        assert (
            plain.__name__ in kernel.__name__ if hasattr(plain, "__name__") else type(plain).__name__ in kernel.__name__
        )
        assert kernel.__doc__.splitlines()[0].endswith(".")
    assert callable(copy.copy(kernel))


def test_names_and_documentation() -> None:
    kernel = mlirad.jit(loss)
    assert (kernel.__name__, kernel.__qualname__, kernel.__doc__) == ("loss", "loss", loss.__doc__)
    gradient = mlirad.grad(loss, argnums=(0, 1))
    assert gradient.__name__ == "grad(loss)"
    assert gradient.__doc__ == f"The gradient of loss with respect to arguments 0, 1.\n\n{loss.__doc__}"
    both = mlirad.value_and_grad(bare)
    assert both.__name__ == "value_and_grad(bare)"
    assert both.__doc__ == "The value and the gradient of bare with respect to argument 0."
    assert mlirad.grad(mlirad.grad(bare)).__name__ == "grad(grad(bare))"
    assert repr(gradient) == "<mlirad kernel grad(loss)>"
    forward = Kernel(Jvp(bare), Options())
    assert list(inspect.signature(forward).parameters) == ["primals", "tangents"]
    assert list(inspect.signature(mlirad.grad(forward)).parameters) == ["primals", "tangents"]
    assert forward.numpy is bare


def test_a_signature_binds_as_the_kernel_is_called() -> None:
    gradient = mlirad.grad(loss)
    bound = inspect.signature(gradient).bind(X, X, scale=3.0)
    np.testing.assert_array_equal(gradient(*bound.args, **bound.kwargs), 3.0 * X)
    with pytest.raises(TypeError):
        inspect.signature(gradient).bind(X, X, 3.0)
    with pytest.raises(TypeError):
        gradient(X, X, 3.0)


def test_a_described_kernel_is_pickled_as_before() -> None:
    again = pickle.loads(pickle.dumps(mlirad.grad(loss)))
    assert again is mlirad.grad(loss)
    assert inspect.signature(again) == inspect.signature(loss)


def test_derivatives_are_compiled_without_the_compiler_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLIRAD_DISABLE_JIT is for functions: there is a plain one to be debugged."""
    monkeypatch.setenv("MLIRAD_DISABLE_JIT", "1")
    calls = []

    @mlirad.jit
    def f(x):
        calls.append(x)
        return x * x

    assert f(3.0) == 9.0 and calls == [3.0]

    @mlirad.jit
    def g(x):
        return x * x

    assert mlirad.grad(g)(3.0) == 6.0
    assert mlirad.value_and_grad(g)(3.0) == (9.0, 6.0)
    assert mlirad.jvp(g, (3.0,), (1.0,)) == (9.0, 6.0)
    assert g.cache_info().misses == 0


def test_the_package_has_types() -> None:
    assert Path(mlirad.__file__).with_name("py.typed").is_file()
