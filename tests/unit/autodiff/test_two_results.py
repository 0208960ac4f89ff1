"""Ops with two results: derivatives through both, in loops, to second order, and with one cotangent exactly zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, context, expand, parsed
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from mlirad import pipeline
from mlirad.dialect.core import op as ops
from mlirad.dialect.core import types
from mlirad.dialect.core.derivative import Pair, total
from mlirad.dialect.core.expr import Expr, emit_all, sum_of, where
from mlirad.dialect.core.intervals import UNKNOWN, Integer, Interval
from mlirad.dialect.core.scalars import scalar_op
from mlirad.dialect.functions.rounding import ModfOp, PartsOp
from mlirad.lowering.clean_up.canonicalize import Canonicalize
from mlirad.targets.finding import find_target
from mlirad.testing.derivatives import check_jvp, check_transpose, check_vjp
from mlirad.testing.expr_functions import ask_jvp, ask_vjp, branch, for_loop, function, get, put

F64, I64 = types.F64, types.I64
N = 5
ARRAY, OPEN = types.tensor([N], F64), types.tensor([-1], F64)
X = np.array([0.3, -1.2, 2.4, 0.8, -0.5])


@ops.op(cost=30)
class SinCosOp(PartsOp):
    """The sine and the cosine: the derivative of one is the other, up to the sign."""

    name = "test.sin_cos"

    def reference(self, x: Any) -> Any:
        return np.sin(x), np.cos(x)

    def vjp(self, g: Pair, out: tuple[Expr, Expr], x: Expr) -> Expr | None:
        of_sin, of_cos = g
        return total(None if of_sin is None else of_sin * out[1], None if of_cos is None else -(of_cos * out[0]))

    def scalar_of_first(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.SinOp, x)

    def scalar_of_second(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.CosOp, x)


@ops.op(singular=True)
class RootAndSameOp(PartsOp):
    """The square root, with an infinite slope at 0, and x."""

    name = "test.root_and_same"

    def reference(self, x: Any) -> Any:
        return np.sqrt(x), x

    def vjp(self, g: Pair, out: tuple[Expr, Expr], x: Expr) -> Expr | None:
        return total(None if g[0] is None else g[0] / (2.0 * out[0]), g[1])

    def scalar_of_first(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.SqrtOp, x)

    def scalar_of_second(self, x: SSAValue) -> SSAValue:
        return x


def sin_cos(x: Expr) -> tuple[Expr, Expr]:
    first, second = emit_all(SinCosOp, x)
    return first, second


def both(x: Expr) -> Expr:
    sin, cos = sin_cos(x)
    return sum_of(sin * cos * x)


def only_first(x: Expr) -> Expr:
    return sum_of(sin_cos(x)[0] * x)


def only_second(x: Expr) -> Expr:
    return sum_of(sin_cos(x)[1] * x)


def in_loop(x: Expr) -> Expr:
    """Both results are needed in the reverse sweep, in each trip."""

    def step(i: Expr, s: Expr, y: Expr) -> tuple[Expr, Expr]:
        sin, cos = sin_cos(s * get(x, i))
        return s + sin * cos, put(sin + cos * s, y, i)

    s, y = for_loop(N, [get(x, 0), x * 0.0], step)
    return s * sum_of(y)


def in_branch(x: Expr) -> Expr:
    """A branch takes one result, the other branch both."""

    def step(i: Expr, s: Expr) -> Expr:
        sin, cos = sin_cos(s + get(x, i))
        (taken,) = branch(get(x, i) > 0.0, lambda: sin * s, lambda: sin * cos)
        return taken

    return for_loop(N, [get(x, 1)], step)[0]


def arrays_in_loop(x: Expr) -> Expr:
    def step(i: Expr, y: Expr) -> Expr:
        sin, cos = sin_cos(y)
        return sin * get(x, i) + cos * y

    return sum_of(for_loop(3, [x], step)[0])


BODIES = (both, only_first, only_second, in_loop, in_branch, arrays_in_loop)
every_body = pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)


def made(body: Callable[[Expr], Expr], type: Attribute = ARRAY) -> ModuleOp:
    """@vjp and @jvp of @f; @second is the vjp of @vjp with respect to x and to the cotangent."""
    module = ModuleOp([])
    f = function(module, "f", [type], body, "public")
    first = ask_vjp(module, "vjp", f, [0])
    ask_jvp(module, "jvp", f, [0])
    ask_vjp(module, "second", first, [0, 1])
    return module


CASES = [(body, type) for body in BODIES for type in (ARRAY, OPEN)]
CASES.remove((arrays_in_loop, OPEN))  # its trips need arrays of a size without a bound again: refused


@pytest.mark.parametrize(("body", "type"), CASES, ids=[f"{body.__name__}-{type}" for body, type in CASES])
def test_derivatives(body: Callable[[Expr], Expr], type: Attribute) -> None:
    f, module = callable_of(made(body, type), "f"), expand(made(body, type))
    vjp, jvp, second = (callable_of(module, name) for name in ("vjp", "jvp", "second"))
    check_vjp(f, vjp, [X])
    check_jvp(f, jvp, [X])
    check_transpose(f, vjp, jvp, [X])
    check_vjp(vjp, second, [X, np.float64(0.7)])


@every_body
def test_native_code_agrees(body: Callable[[Expr], Expr]) -> None:
    expected = callable_of(expand(made(body)), "second")(X, np.float64(0.7), np.ones(N))
    artifact = pipeline.compile_module(made(body), find_target("cpu"))
    found = artifact.invoke("second", [X, 0.7, np.ones(N)], [np.dtype(np.float64)] * 2)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_recomputed_op_is_recomputed_once() -> None:
    """The reverse sweep of a loop needs both results of a cheap op: a single op recomputes them."""

    def body(x: Expr) -> Expr:
        def step(i: Expr, s: Expr) -> Expr:
            fraction, whole = emit_all(ModfOp, get(x, i))
            return s * fraction * whole

        return for_loop(N, [get(x, 0)], step)[0]

    module = ModuleOp([])
    f = function(module, "f", [ARRAY], body)
    ask_vjp(module, "vjp", f, [0])
    reverse = str(expand(module)).partition("%q")[2]
    assert reverse.count("nd.modf") == 1


@pytest.mark.parametrize("of_same", [1.0, 0.0])
@pytest.mark.parametrize("is_reverse", [True, False])
def test_a_zero_cotangent_annihilates_its_own_factor_only(is_reverse: bool, of_same: float) -> None:
    """Where the root is not selected, its infinite slope does not meet the cotangent of the other result."""

    def body(x: Expr) -> Expr:
        root, same = emit_all(RootAndSameOp, x)
        return sum_of(where(x > 0.0, root, 1.0)) + sum_of(same * of_same)

    module = ModuleOp([])
    f = function(module, "f", [ARRAY], body)
    (ask_vjp if is_reverse else ask_jvp)(module, "asked", f, [0])
    x = np.array([4.0, 0.0, 1.0, 0.0, 0.25])
    slope = np.array([0.25, 0.0, 0.5, 0.0, 1.0]) + of_same
    for direction in np.eye(N) if not is_reverse else [np.float64(1.0)]:
        (found,) = callable_of(expand(module), "asked")(x, direction)
        np.testing.assert_array_equal(found, slope if is_reverse else slope @ direction)


def test_no_derivative_flows_through_an_inert_result() -> None:
    """A value that only affects the integral part has neither a cotangent nor a tangent."""
    module = parsed("""
        func.func private @f(%x: tensor<3xf64>) -> tensor<3xf64> {
          %fraction, %whole = nd.modf %x : tensor<3xf64>
          %y = nd.exp %whole : tensor<3xf64>
          %z = nd.add %fraction, %y : tensor<3xf64>
          return %z : tensor<3xf64>
        }
        func.func public @vjp(%x: tensor<3xf64>, %g: tensor<3xf64>) -> (tensor<3xf64>) {
          %z, %d = ad.vjp @f(%x)(%g) wrt [0] outs [0] : (tensor<3xf64>)(tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
          return %d : tensor<3xf64>
        }
    """)
    assert "nd.modf" not in str(expand(module))
    (found,) = callable_of(module, "vjp")(X[:3], np.arange(3.0))
    np.testing.assert_array_equal(found, np.arange(3.0))


def test_an_op_of_two_results_says_nothing_of_its_one_result() -> None:
    class Answering(PartsOp):
        name = "test.answering"
        reference = SinCosOp.reference
        vjp = SinCosOp.vjp
        scalar_of_first = SinCosOp.scalar_of_first
        scalar_of_second = SinCosOp.scalar_of_second

        def integer(self, *operands: Interval) -> Integer:
            return UNKNOWN

    with pytest.raises(TypeError, match="Answering has several results, but answers for one: integer, overwrites"):
        ops.op(overwrites=0)(Answering)
    assert not any(issubclass(each, Answering) for each in ops.op_classes())


def test_known_operands_are_computed_while_compiling() -> None:
    module = parsed("""
        func.func public @f() -> (f64, f64, tensor<4xf64>) {
          %x = nd.constant {value = -2.75 : f64} : f64
          %xs = nd.full %x : f64 to tensor<4xf64>
          %fraction, %whole = nd.modf %x : f64
          %fractions, %wholes = nd.modf %xs : tensor<4xf64>
          return %fraction, %whole, %wholes : f64, f64, tensor<4xf64>
        }
    """)
    Canonicalize().apply(context(), module)
    module.verify()
    assert "nd.modf" not in str(module)
    fraction, whole, wholes = callable_of(module, "f")()
    assert (fraction, whole, list(wholes)) == (-0.75, -2.0, [-2.0] * 4)
