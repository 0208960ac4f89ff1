"""PyTorch's spelling and TensorFlow's tape, with PyTorch's numbers.

The constants are what PyTorch 2.13 (CPU, float32) prints for the same programs, which are spelled alike there, with
torch.nn.functional for the layers.
"""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

import mlirad
import mlirad.interop.torchlike as torch
from mlirad.interop.torchlike import Function, GradientTape, GraphError, Tensor, no_grad


def sines(*shape: int, requires_grad: bool = True) -> Tensor:
    values = np.sin(np.arange(np.prod(shape), dtype=np.float32) * 0.7).reshape(shape)
    return Tensor(values.astype(np.float32), requires_grad)


def require(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_a_net_has_the_gradients_of_pytorch() -> None:
    x = sines(2, 2, 6, 6, requires_grad=False)
    w, b, v = sines(3, 2, 3, 3), sines(3), sines(27, 4)
    h = torch.max_pool2d(torch.conv2d(x, w, bias=b, padding=1).relu(), 2).reshape(2, 27)
    loss = torch.cross_entropy(h @ v, np.array([1, 3]))
    loss.backward()
    require(loss, 5.22816801071167)
    rows = [
        [0.8680989742279053, 2.5182249546051025, 0.7044447660446167],
        [-2.047119379043579, -1.3125922679901123, 0.6957509517669678],
        [1.455012321472168, -1.0563757419586182, -1.4350823163986206],
    ]
    require(w.grad[0, 0], rows)
    require(b.grad, [-0.08330079913139343, -0.02874474972486496, -0.029216833412647247])
    require(v.grad[5], [0.05885668843984604, 0.03988322615623474, 0.00107032828964293, -0.09981024265289307])
    require(v.grad.abs().sum(), 104.0718765258789)
    assert w.grad.dtype == np.float32 and x.grad is None


def test_shapes_choices_and_reductions_have_the_gradients_of_pytorch() -> None:
    p, q = sines(3, 4), sines(4)
    y = torch.cat([p * q, p.softmax(axis=1)], dim=0)[1:5:2] ** 3
    z = torch.where(y > 0, y.exp(), y * 2).sum(dim=0, keepdim=True)
    (z * z).mean().backward()
    require(z, [[1.0019890069961548, 0.9907400608062744, -0.22826576232910156, -0.19303929805755615]])
    rows = [
        [0.0027146267239004374, 0.020151078701019287, -0.014335036277770996, -0.008530670776963234],
        [0.0, 0.0977814644575119, -0.4978237450122833, -0.3595329821109772],
        [0.0, 0.0, 0.0, 0.0],
    ]
    require(p.grad, rows)
    require(q.grad, [0.0, -0.05324302613735199, 0.4402974843978882, 0.4091986119747162])


def test_gradients_accumulate_in_place_changes_are_steps_and_memory_is_released() -> None:
    u = sines(3)
    r = u * 2
    also_r = r
    r += u
    assert also_r is r and not r.is_leaf
    r.retain_grad()
    t = (r * r.sin()).sum()
    t.backward(retain_graph=True)
    t.backward()  # releases
    require(u.grad, [0.0, 1.5063618421554565, -16.329505920410156])
    require(r.grad, [0.0, 0.5021206140518188, -5.443168640136719])
    with pytest.raises(GraphError, match=r"is released: pass retain_graph=True") as error:
        t.backward()
    assert error.value.filename == __file__
    assert issubclass(GraphError, RuntimeError)  # what PyTorch raises
    u.grad.zero_()
    assert not u.grad.numpy().any()


def _sixth(x: Any) -> Any:
    return x * x * x / 6


def test_derivatives_of_any_order() -> None:
    s = Tensor(1.0, requires_grad=True)
    (s.sin() * s**3).backward(create_graph=True)
    found = [s.grad]
    for _ in range(2):
        last, s.grad = s.grad, None
        last.backward(create_graph=True)
        found.append(s.grad)
    for each, expected in zip(found, [3.0647151470184326, 7.4491682052612305, 6.660727500915527], strict=True):
        require(each, expected)
    w = sines(2, 2)  # of an operation, which is compiled
    torch.operation(_sixth)(w).sum().backward(create_graph=True)
    slope, w.grad = w.grad, None
    slope.sum().backward()
    require(w.grad, w.detach().numpy())


def test_first_programs_of_pytorchs_users() -> None:
    x, w = torch.ones(5), torch.tensor([[1.0, -2.0]] * 5, requires_grad=True)
    z = (x @ w).view(2, 1) + torch.zeros(2, 1)
    loss = z.log_softmax(dim=0).pow(2).squeeze(dim=1).amax(dim=0)
    loss.backward()
    assert w.grad.shape == (5, 2) and w.grad.unsqueeze(0).shape == (1, 5, 2)
    p = 1 / (1 + math.exp(-15.0))  # the second logit is -15 - log(1 + exp(-15)), of which the square is largest
    require(w.grad[0], [2 * (15.0 - math.log(p)) * p, -2 * (15.0 - math.log(p)) * p], 1e-5)
    assert f"{loss:.2f} {w.argmax(dim=1)[0]}" == f"{(15.0 - math.log(p)) ** 2:.2f} Tensor(0, int64)"
    watched = torch.tensor([1.0])
    with GradientTape() as tape:
        tape.watch(watched)
        tape.release()
    assert not watched.requires_grad


def test_training_in_no_grad() -> None:
    """The tutorials' layer: x = ones(5), y = zeros(3), binary cross entropy with logits; then steps of descent."""
    rng = np.random.default_rng(0)
    x, y = np.ones(5, np.float32), np.zeros(3, np.float32)
    w, b = (Tensor(rng.normal(size=shape).astype(np.float32), True) for shape in ((5, 3), 3))
    losses = []
    for step in range(20):
        z: Any = x @ w + b
        loss = (torch.softplus(z) - z * y).mean()
        loss.backward()
        if step == 0:
            s = 1 / (1 + np.exp(-z.detach().numpy()))
            require(b.grad, s / 3)
            require(w.grad, np.outer(np.ones(5), s / 3))
        losses.append(loss.item())
        with no_grad():
            for each in (w, b):
                each -= 0.5 * each.grad
                each.grad = None
                assert each.is_leaf and each.requires_grad
    assert losses[-1] < 0.2 * losses[0]


class Scaled(Function):
    """exp(k x) and its square."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: Any) -> Any:
        y = np.exp(k * x)
        ctx.save_for_backward(y)
        ctx.k = k
        return y, y * y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        (y,) = ctx.saved_tensors
        return 1000.0 * ctx.k * (g * y + 2.0 * h * y * y), None


class WrongCount(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class WithoutBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x


def test_functions_bring_their_derivative_to_tensors_arrays_and_compiled_functions() -> None:
    x = sines(4)
    values = x.detach().numpy().astype(float)
    expected = 2000.0 * (np.exp(2 * values) + 6.0 * np.exp(4 * values))  # 1000 times the true one: it is the rule's
    y, squares = Scaled.apply(x, 2.0)
    (y + 3.0 * squares).sum().backward()
    require(x.grad, expected, 2e-6)

    def total(v: Any) -> Any:
        y, squares = Scaled.apply(v, 2.0)
        return np.sum(y + 3.0 * squares)

    np.testing.assert_allclose(mlirad.grad(total)(values), expected)
    np.testing.assert_allclose(Scaled.apply(values, 2.0)[1], np.exp(4 * values))

    x.grad = None
    y, squares = Scaled.apply(x, 2.0)  # only one of the results is used
    y.sum().backward()
    require(x.grad, 2000.0 * np.exp(2 * values), 2e-6)
    with pytest.raises(mlirad.CompileError, match=r"a tuple of 1 for 2 arguments\n +return g\n") as refused:
        WrongCount.apply(x, x).sum().backward()
    assert refused.value.filename == __file__ and "called from" in str(refused.value)
    with pytest.raises(mlirad.CompileError, match="backward belongs to a derivative rule, and always raises"):
        WithoutBackward.apply(x).sum().backward()


def test_a_tape_watches_nests_and_releases() -> None:
    x, hidden = Tensor([1.0, 2.0, 3.0]), Tensor([5.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch([x, hidden])
            y = (np.sin(x) ** 3).sum()
        slope = inner.gradient(y, {"x": x, "hidden": hidden})
        s = slope["x"].sum()
    values = np.array([1.0, 2.0, 3.0])
    sin, cos = np.sin(values), np.cos(values)
    require(slope["x"], 3 * sin**2 * cos)
    assert slope["hidden"] is None
    require(outer.gradient(s, x), 6 * sin * cos**2 - 3 * sin**3)
    assert not x.requires_grad and x.grad is None
    for tape, target in ((inner, y), (outer, s)):
        with pytest.raises(GraphError, match="memory of this tape is released"):
            tape.gradient(target, x)

    def f(*inputs: Tensor) -> Tensor:
        return inputs[0] * inputs[1] * inputs[1]

    inputs = [Tensor(2.0, True), Tensor(3.0, True)]
    with GradientTape(persistent=True) as tape:
        outputs = f(*inputs)
    after = outputs * 2  # is not recorded
    for _ in range(2):
        assert [each.item() for each in tape.gradient(outputs, inputs)] == [9.0, 12.0]
    assert tape.gradient(after, inputs) == [None, None]
    saved = weakref.ref(outputs.grad_fn.call[0]), weakref.ref(outputs.grad_fn.call[1][0])
    tape.release()
    gc.collect()
    assert saved[1]() is None, "the tape still holds the inputs of its steps"


def test_complex_numbers_on_the_way_keep_the_derivative() -> None:
    x = sines(4)
    (np.abs(np.fft.fft(x)) ** 2).sum().backward()
    require(x.grad, 8.0 * x.detach().numpy())  # by Parseval's theorem
    with pytest.raises(GraphError, match="complex64 has no gradient"):
        Tensor(np.ones(2, np.complex64), requires_grad=True)


# --- what is refused --------------------------------------------------------------------------------------------


def _drawing(x: Any, rng: np.random.Generator = np.random.default_rng(0)) -> Any:
    return x * rng.random()


_generator = np.random.default_rng(0)


def test_refusals_say_what_to_write_at_the_users_line() -> None:
    x = sines(2, 2)
    cases = [
        (lambda: x.backward(), "not one number: pass its gradient"),
        (lambda: x.sum().backward(np.ones(3)), r"a gradient of shape \(3,\)"),
        (lambda: (x * 1).detach().sum().backward(), "depends on nothing"),
        (lambda: Tensor([1, 2], requires_grad=True), "int64 has no gradient"),
        (lambda: x.numpy(), r"\.detach\(\)\.numpy\(\)"),
        (lambda: mlirad.nn.conv2d(x, x), r"\.detach\(\)\.numpy\(\)"),
        (lambda: x.__isub__(1), "a leaf that requires a gradient"),
        (lambda: (x * 1).__iadd__(np.ones((3, 2, 2), np.float32)), "in place, float32"),
    ]
    for program, message in cases:
        with pytest.raises(GraphError, match=message) as error:
            program()
        assert error.value.filename == __file__ and "lambda: " in str(error.value)
    with pytest.raises(mlirad.CompileError) as refused:
        np.roots(Tensor([1.0, -3.0, 2.0], requires_grad=True)).sum().backward()
    assert refused.value.filename == __file__
    with pytest.raises(AttributeError, match=r"operation\(f\)"):
        x.max(dim=1)  # a pair in PyTorch
    with pytest.raises(TypeError, match="pass a key"):
        torch.operation(_drawing)(x, _generator)
    with pytest.raises(TypeError, match="pass a key"):
        torch.operation(lambda x: x * _generator.random())


def test_arrays_of_the_caller_may_change_before_the_reverse_sweep() -> None:
    x, factors = sines(3), np.array([1.0, 2.0, 3.0], np.float32)
    y = (x * factors).sum()
    factors[:] = 0
    before = x * x
    with no_grad():
        x -= 1.0
    (y + before.sum()).backward()
    require(x.grad, [1.0, 2.0, 3.0] + 2 * np.sin(0.7 * np.arange(3)))
    assert math.isclose(float(x[0]), -1.0) and bool(x[0] < 0) and len(x) == 3
