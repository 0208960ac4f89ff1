"""The programs of the MindSpore, OneFlow and lecture material, with the numbers printed there.

The constants are what PyTorch 2.13 (CPU) gives: in float32 for the single layer, in float64 for the rest.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
import mlirad.interop.mindspore as ms
import mlirad.interop.torchlike as torch
from mlirad.interop.mindspore import Parameter, Tensor, nn, ops

MODES = pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


# --- how MindSpore differentiates -------------------------------------------------------------------------------------


class Polynomial(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x**2 + 3 * x + 1


@MODES
def test_derivatives_of_a_cell(mode: int) -> None:
    ms.set_context(mode=mode)
    net, x = Polynomial(), Tensor([2.0], requires_grad=True)
    first, second = ms.grad(net)(x), ms.grad(ms.grad(net))(x)
    assert (net(x).asnumpy(), first.asnumpy(), second.asnumpy()) == (11, 7, 2)
    assert isinstance(second, Tensor) and second.shape == (1,) and second.dtype == ms.float32


def nth_derivative(f: Callable[..., Any], n: int, x: Any) -> Any:
    if n == 0:
        return f(x)
    return nth_derivative(lambda x: ms.grad(f)(x), n - 1, x)


@MODES
def test_nth_derivative_by_recursion(mode: int) -> None:
    ms.set_context(mode=mode)
    found = nth_derivative(ops.sin, 3, 1.0)
    close(found, -np.cos(1.0), 1e-15)  # PyTorch: -0.5403023058681398


def forward_mode_jacobian(f: Callable[..., Any], x: Tensor) -> np.ndarray:
    """One dual number a column, stacked along axis 1."""
    directions = np.eye(x.size, dtype=x.dtype)
    columns = [ms.jvp(f, x, Tensor(each))[1].asnumpy() for each in directions]
    return np.stack(columns, axis=1)


def stretched(x: Any) -> Any:
    return ops.sin(x) * x[0]


@MODES
def test_jacobians_and_directions(mode: int) -> None:
    ms.set_context(mode=mode)
    at = np.array([0.5, -1.0, 2.0])
    x, expected = Tensor(at), np.diag(np.cos(at) * at[0])
    expected[:, 0] += np.sin(at)
    by_duals = forward_mode_jacobian(stretched, x)
    close(by_duals, expected, 1e-14)
    close(ms.jacfwd(stretched)(x), expected, 1e-14)
    close(ms.jacrev(stretched)(x), expected, 1e-14)
    outputs, pull = ms.vjp(stretched, x)
    (cotangent,) = pull(Tensor(np.array([1.0, 2.0, 3.0])))
    close(outputs, np.sin(at) * at[0], 1e-14)
    close(cotangent, expected.T @ [1.0, 2.0, 3.0], 1e-14)


class Cube(nn.Cell):
    """A custom operation with a registered rule."""

    def construct(self, x: Any) -> Any:
        return x * x * x


class Scaled(nn.Cell):
    """A cell with a custom rule: 10 times the derivative."""

    def construct(self, x: Any, w: Any) -> Any:
        return x * w

    def bprop(self, x: Any, w: Any, out: Any, dout: Any) -> Any:
        return 10.0 * w * dout, 10.0 * x * dout


class UsesScaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.scaled, self.w = Scaled(), Parameter(Tensor([3.0]), name="w")

    def construct(self, x: Any) -> Any:
        return self.scaled(x, self.w) * x


@MODES
def test_rules(mode: int) -> None:
    ms.set_context(mode=mode)

    @ms.bprop_getters.register(Cube)
    def get_bprop_cube(self: Any) -> Any:
        def bprop(x: Any, out: Any, dout: Any) -> Any:
            return (-3.0 * x * x * dout,)  # of the wrong sign: it is this rule that runs

        return bprop

    assert ms.grad(Cube())(Tensor([2.0])).item() == -12
    cell = UsesScaled()
    by_input, (by_weight,) = ms.grad(cell, 0, weights=cell.trainable_params())(Tensor([2.0]))
    assert (by_input.item(), by_weight.item()) == (10 * 3 * 2 + 3 * 2, 10 * 2 * 2)

    add, x, y = ops.Add(), Tensor([[1.0, 2.0]]), Tensor([3.0])

    @ms.bprop_getters.register(ops.Add)
    def get_bprop_add(self: Any) -> Any:
        def bprop(x: Any, y: Any, out: Any, dout: Any) -> Any:
            return 2.0 * dout, dout.sum().reshape(y.shape)  # broadcast axes are summed

        return bprop

    dx, dy = ms.grad(add, (0, 1))(x, y)
    assert (dx.asnumpy().tolist(), dy.asnumpy().tolist()) == ([[2.0, 2.0]], [2.0])


@MODES
def test_rule_of_a_known_function(mode: int) -> None:
    ms.set_context(mode=mode)

    def halved(x: Any) -> Any:
        return ops.ones_like(x) * x / 2.0

    assert ms.grad(halved)(Tensor([4.0])).item() == 0.5

    @ms.bprop_getters.register(halved)
    def get_bprop_halved(self: Any) -> Any:
        return lambda x, out, dout: (7.0 * dout,)

    assert ms.grad(halved)(Tensor([4.0])).item() == 7  # compiled again


@MODES
def test_rule_of_convolutions_by_its_two_backprops(mode: int) -> None:
    ms.set_context(mode=mode)
    rng = np.random.default_rng(3)
    x, w = Tensor(rng.standard_normal((2, 3, 6, 5))), Tensor(rng.standard_normal((2, 3, 3, 3)))
    conv = ops.Conv2D(stride=2, padding=1)
    expected = mlirad.grad(lambda x, w: np.sum(mlirad.nn.conv2d(x, w, 2, 1) ** 2), (0, 1))(x.data, w.data)

    @ms.bprop_getters.register(ops.Conv2D)
    def get_bprop_conv2d(self: Any) -> Any:
        def bprop(x: Any, w: Any, out: Any, dout: Any) -> Any:
            dx = ops.conv2d_backprop_input(x.shape, w, dout, stride=self.stride, padding=self.padding)
            dw = ops.conv2d_backprop_filter(x, w.shape, dout, stride=self.stride, padding=self.padding)
            return dx, dw

        return bprop

    for found, each in zip(ms.grad(lambda x, w: conv(x, w) ** 2, (0, 1))(x, w), expected, strict=True):
        close(found, each, 1e-12)


# --- its functional tutorial ------------------------------------------------------------------------------------------

_rng = np.random.default_rng(0)


X, Y = ops.ones(5, ms.float32), ops.zeros(3, ms.float32)


W, B = Tensor(_rng.standard_normal((5, 3)), ms.float32), Tensor(_rng.standard_normal(3), ms.float32)


LOSS = 0.20113413035869598


LOGITS = [-2.7880892753601074, -1.1070184707641602, -1.2226026058197021]


SLOPES = [0.019323738291859627, 0.08280905336141586, 0.0758262574672699]
"""By b, and by each row of w."""


SLOPES_OF_BOTH = [1.019323706626892, 1.0828090906143188, 1.0758262872695923]


def function(x: Any, y: Any, w: Any, b: Any) -> Any:
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z))


def function_with_logits(x: Any, y: Any, w: Any, b: Any) -> Any:
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z)), z


def function_stop_gradient(x: Any, y: Any, w: Any, b: Any) -> Any:
    z = ops.matmul(x, w) + b
    loss = ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z))
    return loss, ops.stop_gradient(z)


def has_slopes(gradients: Any, slopes: list[float]) -> None:
    dw, db = gradients
    close(db, slopes)
    close(dw, np.tile(slopes, (5, 1)))
    assert dw.dtype == db.dtype == ms.float32


@MODES
def test_single_layer_as_functions(mode: int) -> None:
    ms.set_context(mode=mode)
    close(function(X, Y, W, B), LOSS)
    has_slopes(ms.grad(function, (2, 3))(X, Y, W, B), SLOPES)
    close(SLOPES, 1 / (1 + np.exp(-np.array(LOGITS))) / 3)
    has_slopes(ms.grad(function_with_logits, (2, 3))(X, Y, W, B), SLOPES_OF_BOTH)
    has_slopes(ms.grad(function_stop_gradient, (2, 3))(X, Y, W, B), SLOPES)
    gradients, (z,) = ms.grad(function_with_logits, (2, 3), has_aux=True)(X, Y, W, B)
    has_slopes(gradients, SLOPES)
    close(z, LOGITS)
    pairs = ms.grad(function, (2, 3), return_ids=True)(X, Y, W, B)
    assert [number for number, _ in pairs] == [2, 3]
    has_slopes((ms.get_grad(pairs, 2), ms.get_grad(pairs, 3)), SLOPES)
    with pytest.raises(RuntimeError, match="no gradient for 5"):
        ms.get_grad(pairs, 5)


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(W, name="w")
        self.b = Parameter(B, name="b")

    def construct(self, x: Any) -> Any:
        return ops.matmul(x, self.w) + self.b


@MODES
def test_single_layer_as_a_cell(mode: int) -> None:
    ms.set_context(mode=mode)
    model, loss_function = Network(), nn.BCEWithLogitsLoss()

    def forward(x: Any, y: Any) -> Any:
        z = model(x)
        return loss_function(z, y), z

    parameters = model.trainable_params()
    gradients_of = ms.value_and_grad(forward, None, weights=parameters, has_aux=True)
    (loss, z), gradients = gradients_of(X, Y)
    close(loss, LOSS)
    close(z, LOGITS)
    has_slopes(gradients, SLOPES)
    named = ms.grad(forward, 0, weights=model.b, has_aux=True, return_ids=True)(X, Y)[0]
    close(ms.get_grad(named, model.b), SLOPES)
    close(ms.get_grad(named, 0), W.asnumpy() @ SLOPES)

    # What the optimizer writes, and a parameter that is replaced, is seen by what is compiled.
    nn.SGD(parameters, learning_rate=0.5)(gradients)
    z = np.array(LOGITS) - 0.5 * 6 * np.array(SLOPES)
    close(model(X), z)
    close(gradients_of(X, Y)[1][1], 1 / (1 + np.exp(-z)) / 3)
    model.b = Parameter(Tensor(np.zeros(3, np.float32)), name="b")
    close(gradients_of(X, Y)[1][1], np.zeros(3))  # by the one that it had
    with_new = ms.grad(forward, None, weights=model.trainable_params(), has_aux=True)(X, Y)[0]
    z = model(X).asnumpy()
    close(with_new[1], 1 / (1 + np.exp(-z)) / 3)


def test_single_layer_in_the_spellings_beside_it() -> None:
    """PyTorch's `requires_grad`, `backward` and `.grad`; TensorFlow's tape; and the layer on the simulated target."""

    def loss_of(w: Any, b: Any) -> Any:
        z = np.ones(5, np.float32) @ w + b
        return (torch.softplus(z) - z * np.zeros(3, np.float32)).mean()

    w, b = torch.Tensor(W.asnumpy(), requires_grad=True), torch.Tensor(B.asnumpy(), requires_grad=True)
    loss = loss_of(w, b)
    loss.backward()
    close(loss.item(), LOSS)
    has_slopes((w.grad, b.grad), SLOPES)
    weights = torch.Tensor(W.asnumpy()), torch.Tensor(B.asnumpy())
    with torch.GradientTape() as tape:
        tape.watch(weights)
        loss = loss_of(*weights)
    has_slopes(tape.gradient(loss, weights), SLOPES)
    ms.set_context(device_target="Ascend")
    has_slopes(ms.grad(function, (2, 3))(X, Y, W, B), SLOPES)


# --- its overview: the language, both modes, less memory --------------------------------------------------------------


class Language(nn.Cell):
    """Loops, branches, lists, dicts, higher-order functions and closures over tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.functions = Parameter(Tensor([1.0, 2.0, 3.0]), name="w"), [ops.sin, lambda x: x * Tensor(2.0)]

    def construct(self, x: Any, n: int) -> Any:
        y = self.w
        for i in range(n):
            y = y * x if x.sum() > i else y + self.w
        while y.sum() < 100.0:
            y = y * 3.0
        for function in self.functions:
            y = function(y)
        scaled = lambda z: z * y
        return {"scaled": scaled(x), "y": [y]}


@MODES
def test_the_language(mode: int) -> None:
    ms.set_context(mode=mode)
    net, x, w = Language(), np.array([0.25, 0.5, 1.5]), np.array([1.0, 2.0, 3.0])
    last = 9.0 * (w * x * x * x + w)  # 2.25 is more than 0, 1 and 2, and not more than 3; then 12.4 becomes 111.6
    expected = {"scaled": 2 * x * np.sin(last), "y": [2 * np.sin(last)]}
    found = net(Tensor(x, ms.float32), 4)
    close(found["scaled"], expected["scaled"], 1e-4)
    close(found["y"][0], expected["y"][0], 1e-4)
    dx, dw = ms.grad(lambda x: net(x, 4)["scaled"], 0, weights=net.w)(Tensor(x, ms.float32))
    close(dx, 2 * np.sin(last) + 2 * x * np.cos(last) * 27 * w * x * x, 2e-3)
    close(dw, 2 * x * np.cos(last) * 9 * (x**3 + 1), 1e-3)


class Overview(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, weight_init=Tensor(np.arange(18.0, dtype=np.float32).reshape(2, 1, 3, 3) / 18))
        self.relu = nn.ReLU()

    def construct(self, x: Any) -> Any:
        return self.relu(self.conv(x) - 1.0)


def test_overview_in_both_modes() -> None:
    x, net = Tensor(np.random.default_rng(1).standard_normal((1, 1, 4, 1024)), ms.float32), Overview()
    found = {}
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.context.set_context(mode=mode)
        found[mode] = net(x), *ms.grad(net, 0, weights=net.conv.weight)(x)
    for op_by_op, compiled in zip(found[ms.PYNATIVE_MODE], found[ms.GRAPH_MODE], strict=True):
        close(op_by_op, compiled, 2e-5)
    assert found[ms.GRAPH_MODE][0].shape == (1, 2, 4, 1024)


def test_recomputation_and_accumulation() -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    parameters, x = net.trainable_params(), Tensor(np.random.default_rng(2).standard_normal((8, 3)), ms.float32)
    assert [each.name for each in parameters] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    expected = ms.grad(net, None, weights=parameters)(x)
    gradients_of = ms.grad(lambda x: ms.recompute(net, x), None, weights=parameters)
    for found, each in zip(gradients_of(x), expected, strict=True):
        close(found, each)
    for cell in net.cells():
        cell.recompute()
    accumulate = ms.GradientAccumulation(steps=4)
    parts = [accumulate(ms.grad(net, None, weights=parameters)(x[2 * k : 2 * k + 2])) for k in range(4)]
    assert parts[:3] == [None, None, None] and parts[3] is not None
    for found, each in zip(parts[3], expected, strict=True):
        close(4 * found, each, 2e-6)


def repeated(x: Any, w: Any) -> Any:
    for _ in range(200):
        x = ops.sin(x * w) + x
    return x.sum()


def test_checkpoints_chosen_by_their_cost() -> None:
    """MindSpore's balanced checkpoints: a budget of bytes, of which the same gradients come."""
    x, w = Tensor(np.linspace(0.0, 1.0, 256)), Tensor(np.full(256, 0.3))
    kernels = [mlirad.jit(repeated), mlirad.jit(repeated, checkpoint=50_000)]
    plain, checkpointed = ([each.asnumpy() for each in ms.grad(kernel, (0, 1))(x, w)] for kernel in kernels)
    np.testing.assert_array_equal(plain, checkpointed)
    taken = [mlirad.grad(kernel, (0, 1)) for kernel in kernels]
    for kernel in taken:
        kernel(x.data, w.data)
    assert (taken[1].last_memory() or 0) < 0.2 * (taken[0].last_memory() or 0)


# --- OneFlow's autograd -----------------------------------------------------------------------------------------------


class Square(torch.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2.0 * x * grad_output


class Variable:
    """A variable whose gradient is computed when it is first asked for, and never again."""

    def __init__(self, value: float):
        self.tensor: Any = torch.Tensor(value, requires_grad=True)
        self.loss: Any = None
        self.slope: float | None = None

    def grad(self) -> float:
        if self.slope is None:
            self.loss.backward()
            self.slope = float(self.tensor.grad)
        return self.slope


class GradManager:
    """Gradients of the tensors that it knows. release() frees what was recorded; keep_empty_grad: zeros for a tensor
    that the loss does not depend on."""

    def __init__(self, tensors: list[torch.Tensor], keep_empty_grad: bool = False):
        self.tensors, self.keep_empty_grad = tensors, keep_empty_grad

    def __enter__(self) -> GradManager:
        self.tape = torch.GradientTape().__enter__()
        self.tape.watch(self.tensors)
        return self

    def __exit__(self, *error: Any) -> None:
        self.tape.__exit__(*error)

    def backward(self, loss: torch.Tensor) -> None:
        for tensor, g in zip(self.tensors, self.tape.gradient(loss, self.tensors), strict=True):
            if g is None and self.keep_empty_grad:
                g = torch.Tensor(np.zeros(tensor.shape, tensor.dtype))
            if g is not None:
                tensor.grad = g if tensor.grad is None else tensor.grad + g

    def release(self) -> None:
        self.tape.release()


def test_oneflows_function_and_variable() -> None:
    x = Variable(3.0)
    x.loss = Square.apply(x.tensor)
    assert x.grad() == 6.0
    assert x.grad() == 6.0  # a second sweep would raise: its memory is released
    with pytest.raises(torch.GraphError, match="released"):
        x.loss.backward()


@pytest.mark.parametrize("keep", [False, True])
def test_oneflows_grad_manager(keep: bool) -> None:
    w, unused = torch.Tensor([1.0, 2.0]), torch.Tensor([1.0])
    manager = GradManager([w, unused], keep_empty_grad=keep)
    for turn in (1, 2):
        with manager:
            loss = (w * w).sum()
            manager.backward(loss)
        assert w.grad.tolist() == [2.0 * turn, 4.0 * turn]
        assert (unused.grad is None) != keep
    with manager:
        loss = (w * w).sum()
        manager.release()
        with pytest.raises(torch.GraphError, match="released"):
            manager.backward(loss)


def test_a_cycle_is_an_error_at_the_line_of_its_step() -> None:
    x = torch.Tensor([0.5, 2.0], requires_grad=True)
    y = x * x
    z = y + 1
    y.grad_fn.next_functions[0] = z.grad_fn, 0
    with pytest.raises(torch.GraphError, match=r"a cycle in the graph[^\n]*\n +y = x \* x") as error:
        z.sum().backward()
    assert error.value.filename == __file__


def test_how_gradients_are_computed_is_recorded() -> None:
    gradient, record = mlirad.record_grad(of_two, (0, 1))(2.0, 5.0)
    close(gradient, [5.5, 1.7163378145367738])
    assert record.first_nan is None
    assert {each.location.lineno - of_two.__code__.co_firstlineno for each in record if each.location} == {1}
    assert record.largest is not None and record.largest.largest == 5.5


def test_mixed_precision_needs_the_scale_of_the_loss() -> None:
    """Half precision for what is computed, single precision for weights and sums."""
    x = torch.Tensor(np.full((8, 4), 0.1, np.float16))

    def trained(scaler: mlirad.nn.LossScaler) -> Any:
        w: Any = torch.Tensor(np.zeros(4, np.float32), requires_grad=True)
        for _ in range(20):
            error = (x * w.to(np.float16) - x).to(np.float32)
            (2e-6 * (error * error).mean() * scaler.scale).backward()
            g = scaler.unscaled(w.grad.numpy())
            with torch.no_grad():
                if scaler.adjust(g):
                    w -= 5e7 * g
                w.grad.zero_()
        return w.detach()

    assert not trained(mlirad.nn.LossScaler(scale=1.0, interval=10**9)).numpy().any()  # gradients below 6e-8
    close(trained(mlirad.nn.LossScaler(scale=2.0**15, interval=4)), np.ones(4), 0.01)


# --- the lecture ------------------------------------------------------------------------------------------------------


def test_the_traces_of_the_textbook() -> None:
    trace = mlirad.trace(of_two, 2.0, 5.0)
    numbers = [(each.variable.value, trace.cotangents[each.variable.number]) for each in trace.steps]
    close(numbers, [(0.693, 1), (10, 1), (-0.959, -1), (10.693, 1), (11.652, 1)], 5e-4)
    close([trace.cotangents[each.number] for each in trace.wengert.arguments], [5.5, 1.716], 5e-4)


def swelling(x: Any) -> Any:
    y = np.exp(x)
    z = y + y * y
    return np.exp(z) + np.sin(z)


def of_two(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


@MODES
def test_lecture(mode: int) -> None:
    ms.set_context(mode=mode)
    close(ms.grad(swelling)(0.5), 555.9719679015084, 1e-15)
    value, slopes = ms.value_and_grad(of_two, (0, 1))(2.0, 5.0)
    close([value, *slopes], [np.log(2) + 10 - np.sin(5), 5.5, 2 - np.cos(5)], 1e-15)
    jacobian, (pulled,) = ms.jacrev(stretched)(X), ms.vjp(stretched, X)[1](Tensor(np.arange(5.0), ms.float32))
    close(pulled, jacobian.asnumpy().T @ np.arange(5.0))


LENET_LOSSES = [2.31243517090899, 2.373220430151354, 2.2399102032186153, 2.2559166264998773]


def test_lenet_has_one_loss_curve_in_all_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples" / "lenet"))
    modules = ["lenet_plain", "lenet_torchlike", "lenet_mindspore"]
    for each in modules:
        monkeypatch.delitem(sys.modules, each, raising=False)
    plain, torchlike, mindspore = map(importlib.import_module, modules)
    data = mindspore.digits()
    for train in (plain.train, torchlike.train, partial(mindspore.train, ms.GRAPH_MODE)):
        close(train(data, np.float64, steps=4)[1], LENET_LOSSES, 1e-9)
    close(mindspore.train(ms.PYNATIVE_MODE, data, np.float64, steps=1)[1], LENET_LOSSES[:1], 1e-9)
