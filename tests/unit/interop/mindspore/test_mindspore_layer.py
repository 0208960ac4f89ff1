"""MindSpore's API beyond its tutorials: its optimizers, caching, and refusals with their places."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
import mlirad.interop.mindspore as ms
from mlirad.interop.mindspore import Parameter, Tensor, nn, ops

X = ops.ones(5, ms.float32)
W = Tensor(np.sin(np.arange(15.0)).reshape(5, 3), ms.float32)


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(W, name="w")

    def construct(self, x: Any) -> Any:
        return ops.matmul(x, self.w)


class UsesScaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.scaled, self.w = Scaled(), Parameter(Tensor([3.0]), name="w")

    def construct(self, x: Any) -> Any:
        return self.scaled(x, self.w) * x


class Scaled(nn.Cell):
    """A cell with a custom rule: 10 times the derivative."""

    def construct(self, x: Any, w: Any) -> Any:
        return x * w

    def bprop(self, x: Any, w: Any, out: Any, dout: Any) -> Any:
        return 10.0 * w * dout, 10.0 * x * dout


def test_what_is_made_of_a_function_once() -> None:
    net = Network()
    by_input, by_weights = ms.grad(net), ms.value_and_grad(net, None, weights=net.trainable_params())
    assert ms.value_and_grad(net, None, weights=net.trainable_params()) is by_weights
    close(by_input(X), W.asnumpy().sum(axis=1))
    other = copy.deepcopy(net)
    other.w.set_data(2 * W)
    assert ms.value_and_grad(other) is not ms.value_and_grad(net)
    close(ms.grad(other)(X), 2 * W.asnumpy().sum(axis=1))
    close(other(X) - net(X), W.asnumpy().sum(axis=0))
    rule = copy.deepcopy(UsesScaled())
    rule.w.set_data(Tensor([5.0]))
    assert ms.grad(rule)(Tensor([2.0])).item() == 10 * 5 * 2 + 5 * 2


def test_tensors_compare_element_by_element() -> None:
    x, y = Tensor([1.0, -2.0, 3.0]), Tensor([1, 2, 2])
    found = (x == y, x != y, x >= y, x <= 1, abs(x) > 2)
    assert [each.asnumpy().tolist() for each in found] == [
        [True, False, False],
        [False, True, True],
        [True, False, True],
        [True, True, False],
        [False, False, True],
    ]
    assert len({x, y, x}) == 2
    close(ms.grad(lambda x: (x * (x == 3.0)).sum())(x), [0, 0, 1])


def test_options_are_those_of_the_function() -> None:
    w = Parameter(Tensor([1.0, 2.0, 3.0, 4.0]), name="w")

    @mlirad.jit(static_argnums=1, target="python")
    def spread(x: Any, shape: Any) -> Any:
        return np.sum(np.reshape(x * w, shape) * np.ones(shape), axis=0)

    x = Tensor([5.0, 6.0, 7.0, 8.0])
    close(ms.grad(spread)(x, (2, 2)), w)
    close(ms.grad(spread, None, weights=w)(x, (2, 2)), x)


STEPS: dict[str, Any] = {  # MindSpore 2.10, from [1, -2] by the gradients [0.5 k, -1] for k = 1, 2, 3
    "SGD": (lambda p: nn.SGD(p, 0.1, momentum=0.9, weight_decay=0.1), [0.47177401185035706, -1.3325480222702026]),
    "Momentum": (lambda p: nn.Momentum(p, 0.1, 0.9), [0.5244998931884766, -1.4390000104904175]),
    "Adam": (lambda p: nn.Adam(p, 0.1), [0.707682728767395, -1.7000010013580322]),
}


@pytest.mark.parametrize("name", STEPS)
def test_optimizers(name: str) -> None:
    make, expected = STEPS[name]
    parameter = Parameter(Tensor([1.0, -2.0]), name="w")
    optimizer = make([parameter])
    for step in (1, 2, 3):
        optimizer((Tensor([0.5 * step, -1.0]),))
    close(parameter, expected, 2e-6)


def calls_itself(x: Any) -> Any:
    return calls_back(x) + 1.0


def calls_back(x: Any) -> Any:
    return 2.0 * calls_itself(x)


class CallsItself(nn.Cell):
    def construct(self, x: Any) -> Any:
        return self(x) + 1.0


def place_of_largest(x: Any) -> Any:
    return x.argmax()


class ShortRule(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return x + y

    def bprop(self, x: Any, y: Any, dout: Any) -> Any:
        return dout, dout


class ShortResult(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return x + y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return (dout,)


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a cycle": (
        lambda: ms.grad(calls_itself)(Tensor([1.0])),
        "calls itself and never returns",
        "def calls_itself",
    ),
    "a cell that calls itself": (
        lambda: CallsItself()(Tensor([1.0])),
        "construct calls itself and never returns",
        "def construct(self, x: Any) -> Any",
    ),
    "an op without a derivative": (
        lambda: ms.grad(place_of_largest)(Tensor([1.0, 2.0])),
        "place_of_largest returns a NumPy int64 number, which has no gradient",
        "return x.argmax()",
    ),
    "an integer parameter": (
        lambda: ms.grad(Network(), None, weights=Parameter(Tensor([1, 2]), name="n")),
        "parameter 'n' has dtype int64, and so no derivative",
        "weights=Parameter(Tensor([1, 2])",
    ),
    "arguments of bprop": (
        ShortRule,
        "bprop takes 3 arguments, and is given 4: x, y, out, dout",
        "def bprop(self, x: Any, y: Any, dout: Any)",
    ),
    "results of bprop": (
        lambda: ms.grad(ShortResult())(Tensor([1.0]), Tensor([1.0])),
        "bprop returns a tuple of 1 for 2 arguments",
        "return (dout,)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_the_line_of_the_user(name: str) -> None:
    program, message, line = REFUSED[name]
    with pytest.raises(mlirad.CompileError) as caught:
        program()
    shown = str(caught.value)
    assert message in shown and line in shown and "interop/mindspore/functional" not in shown
    assert caught.value.filename == __file__


class WithoutSuper(nn.Cell):
    def __init__(self) -> None:
        self.w = Parameter(Tensor([1.0]), name="w")


def test_cells_are_initialised() -> None:
    with pytest.raises(AttributeError, match=r"WithoutSuper.__init__ begins with super\(\).__init__\(\)"):
        WithoutSuper()


def test_what_there_is_no_context_of() -> None:
    with pytest.raises(ValueError, match="mode is GRAPH_MODE or PYNATIVE_MODE, not 2"):
        ms.set_context(mode=2)
    with pytest.raises(ValueError, match="device_target is one of CPU, Ascend, not 'GPU'"):
        ms.set_context(device_target="GPU")
    with pytest.raises(ValueError, match="nothing to differentiate by"):
        ms.grad(ops.sin, None)
    with pytest.raises(TypeError, match=r"has_aux: the function returns one output.*\n.*def place_of_largest"):
        ms.grad(place_of_largest, has_aux=True)(Tensor([1.0]))


def test_the_simulated_target() -> None:
    ms.set_context(device_target="Ascend")
    model = Network()
    outputs, tangents = ms.jvp(model, X, X)
    close(outputs, W.asnumpy().sum(axis=0))
    close(tangents, W.asnumpy().sum(axis=0))
    model.w.set_data(2 * W)
    outputs, pull = ms.vjp(model, X, weights=model.w)
    close(outputs, 2 * W.asnumpy().sum(axis=0))
    (by_x,), (by_w,) = pull(ops.ones(3))
    close(by_x, 2 * W.asnumpy().sum(axis=1))
    close(by_w, np.ones((5, 3)))
