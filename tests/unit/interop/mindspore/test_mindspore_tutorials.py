"""The programs of MindSpore's articles and tutorials, with the numbers printed there, PyTorch's, or closed forms.

PyTorch 2.13 gave the constants once, on the CPU, from the same weights: float32 for the layer, float64 for LeNet.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
import mlirad.interop.mindspore as ms
from mlirad.interop.mindspore import Parameter, Tensor, nn, ops

MODES = pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


# --- how MindSpore differentiates -------------------------------------------------------------------------------


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


# --- derivative rules -------------------------------------------------------------------------------------------


class Cube(nn.Cell):
    """An operation of one's own, whose rule is registered."""

    def construct(self, x: Any) -> Any:
        return x * x * x


class Scaled(nn.Cell):
    """A cell with a rule of its own: 10 times what the derivative is."""

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


# --- the functional tutorial ------------------------------------------------------------------------------------

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


# --- the overview: the same numbers in both modes, and less memory ----------------------------------------------


class Overview(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, weight_init=Tensor(np.arange(18.0, dtype=np.float32).reshape(2, 1, 3, 3) / 18))
        self.relu = nn.ReLU()

    def construct(self, x: Any) -> Any:
        return self.relu(self.conv(x) - 1.0)


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


def test_options_are_those_of_the_function() -> None:
    w = Parameter(Tensor([1.0, 2.0, 3.0, 4.0]), name="w")

    @mlirad.jit(static_argnums=1, target="python")
    def spread(x: Any, shape: Any) -> Any:
        return np.sum(np.reshape(x * w, shape) * np.ones(shape), axis=0)

    x = Tensor([5.0, 6.0, 7.0, 8.0])
    close(ms.grad(spread)(x, (2, 2)), w)
    close(ms.grad(spread, None, weights=w)(x, (2, 2)), x)


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


def test_what_there_is_no_context_of() -> None:
    with pytest.raises(ValueError, match="mode is GRAPH_MODE or PYNATIVE_MODE, not 2"):
        ms.set_context(mode=2)
    with pytest.raises(ValueError, match="device_target is one of CPU, Ascend, not 'GPU'"):
        ms.set_context(device_target="GPU")
    ms.set_context(device_target="Ascend")
    with pytest.raises(mlirad.TargetError, match="jvp and vjp run on CPU only"):
        ms.jvp(ops.sin, X, X)
    with pytest.raises(ValueError, match="nothing to differentiate by"):
        ms.grad(function, None)


# --- the lecture ------------------------------------------------------------------------------------------------


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


# --- optimizers, and LeNet --------------------------------------------------------------------------------------

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


LENET_LOSSES = [2.31243517090899, 2.373220430151354, 2.2399102032186153, 2.2559166264998773]


def test_lenet_trains_as_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "examples" / "lenet"))
    monkeypatch.delitem(sys.modules, "lenet_mindspore", raising=False)
    import lenet_mindspore

    _, losses = lenet_mindspore.train(ms.GRAPH_MODE, lenet_mindspore.digits(), np.float64, steps=4)
    close(losses, LENET_LOSSES, 1e-9)


# --- what is refused, and where ---------------------------------------------------------------------------------


def calls_itself(x: Any) -> Any:
    return calls_back(x) + 1.0


def calls_back(x: Any) -> Any:
    return 2.0 * calls_itself(x)


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
    "an op without a derivative": (
        lambda: ms.grad(place_of_largest)(Tensor([1.0, 2.0])),
        "place_of_largest returns a NumPy int64 number, which has no gradient",
        "return x.argmax()",
    ),
    "an integer parameter": (
        lambda: ms.grad(Polynomial(), None, weights=Parameter(Tensor([1, 2]), name="n")),
        "parameter 'n' is of int64, and has no derivative",
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


@pytest.mark.full
def test_the_simulated_target() -> None:
    ms.set_context(device_target="Ascend")
    has_slopes(ms.grad(function, (2, 3))(X, Y, W, B), SLOPES)
