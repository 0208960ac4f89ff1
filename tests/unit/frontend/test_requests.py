"""Requests for derivatives: the ops that the frontend emits for them (their expansion is tested elsewhere)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from run_frontend import call, compile_for
from xdsl.dialects import func

from mlirad import jit, tree, value_and_grad
from mlirad.contract.results import (
    ArgumentAlias,
    ArrayResult,
    ResidualsResult,
    ScalarResult,
    StaticResult,
    ViewResult,
)
from mlirad.dialect.ad.derivative_ops import ForwardOp, JvpOp, PullbackOp, VjpOp
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.core.attributes import ints
from mlirad.errors import DifferentiationError, DTypeError, ShapeError
from mlirad.frontend.build import Built
from mlirad.requests.kinds_of_derivatives import Grad, Jvp, Vjp


def loss(p, x, y):
    e = p["w"] @ x + p["b"] - y
    return (e * e).sum()


def cube(x):
    return x * x * x


def double(x):
    return x * 2


def with_aux(x):
    return x.sum(), {"n": x * 2, "k": 3}


def requests(built: Built) -> list[RequestOp]:
    return [op for op in built.module.walk() if isinstance(op, RequestOp)]


def functions(built: Built) -> list[str]:
    return [op.sym_name.data for op in built.module.walk() if isinstance(op, func.FuncOp)]


PARAMETERS: dict[str, Any] = {"w": np.ones((2, 3)), "b": 0.5}


def test_the_gradient_has_the_structure_of_the_argument() -> None:
    built = compile_for(Grad(loss), PARAMETERS, np.ones(3), np.ones(2))
    (request,) = requests(built)
    assert isinstance(request, VjpOp)
    assert (ints(request.wrt), ints(request.outs)) == ((0, 1), (0,))
    assert isinstance(built.structure, tree.Node) and built.structure.keys == ("w", "b")
    assert built.results == (
        ArrayResult(0, (2, 3), np.dtype(float)),
        ScalarResult(1, np.dtype(float), weak=True),
    )
    assert built.written == {}


def test_value_aux_and_several_arguments() -> None:
    built = compile_for(Grad(with_aux, argnums=(0,), has_aux=True, with_value=True), np.ones(3))
    assert [type(leaf) for leaf in built.results] == [ScalarResult, ArrayResult, StaticResult, ArrayResult]
    built = compile_for(Grad(loss, argnums=(0, -1)), PARAMETERS, np.ones(3), np.ones(2))
    assert ints(requests(built)[0].wrt) == (0, 1, 3)


def test_nested_requests() -> None:
    built = compile_for(Grad(Grad(cube)), 2.0)
    assert functions(built) == ["grad_grad_cube", "cube_0", "grad_cube_0"]
    assert [request.callee.root_reference.data for request in requests(built)] == ["grad_cube_0", "cube_0"]


def test_requests_in_the_code() -> None:
    slope = Grad(cube)

    def newton(x, n):
        shift = x * 0.5

        def g(y):
            return (y - shift) ** 2

        for _ in range(n):
            x = x - slope(x) / Grad(Grad(cube))(x) + Grad(g)(x)
        return x

    built = compile_for(newton, 1.0, 5)
    of_g = next(request for request in requests(built) if "g_" in request.callee.root_reference.data[:2])
    # `shift` is captured: it becomes an additional argument, which is not differentiated.
    assert len(of_g.primals) == 2 and ints(of_g.wrt) == (0,)


def test_a_differentiated_function_writes_its_arguments() -> None:
    def writes(x):
        x[0] = 3.0
        return (x * x).sum()

    def outer(x):
        g = Grad(writes)(x)
        return x, len(g)

    assert list(compile_for(Grad(writes), np.ones(3)).written) == [0]
    assert list(compile_for(outer, np.ones(3)).written) == [0]


def test_a_differentiated_function_may_keep_a_view_of_its_argument() -> None:
    def outer(x):
        kept = []

        def keeps(v):
            kept.append(v[1:])
            return (v * v).sum()

        Grad(keeps)(x)
        kept[0][0] = 5.0
        return kept[0]

    built = compile_for(outer, np.ones(3))
    assert list(built.written) == [0]
    (result,) = built.results
    assert isinstance(result, ViewResult) and result.base == ArgumentAlias(0)


def test_forward_mode() -> None:
    built = compile_for(Jvp(loss), (PARAMETERS, np.ones(3), np.ones(2)), (PARAMETERS, np.ones(3), np.ones(2)))
    (request,) = requests(built)
    assert isinstance(request, JvpOp) and ints(request.wrt) == (0, 1, 2, 3)
    assert len(built.results) == 2


def test_a_pullback_is_an_entry_of_its_own() -> None:
    built = compile_for(Vjp(double), np.ones(3))
    value, residuals = built.results
    assert value == ArrayResult(0, (3,), np.dtype(float))
    assert isinstance(residuals, ResidualsResult)
    assert residuals.entry.cotangents == tree.LEAF
    assert functions(built) == ["vjp_double", residuals.entry.name, "double_0"]
    assert [type(request) for request in requests(built)] == [ForwardOp, PullbackOp]


def test_a_pullback_of_a_dict() -> None:
    built = compile_for(Vjp(lambda x: {"a": x * 2, "n": 3, "b": [x.sum()]}), np.ones(3))
    residuals = built.results[-1]
    assert isinstance(residuals, ResidualsResult)
    assert [ints(request.outs) for request in requests(built)] == [(0, 1), (0, 1)]
    assert [type(leaf) for leaf in residuals.entry.cotangent_leaves] == [ArrayResult, StaticResult, ScalarResult]


def test_a_pullback_inside_the_code() -> None:
    pulled = Vjp(double)

    def f(x):
        out, pull = pulled(x)
        (g,) = pull(out * 2)
        return g

    assert [type(request) for request in requests(compile_for(f, np.ones(3)))] == [ForwardOp, PullbackOp]


def test_a_constant_function_has_a_zero_gradient() -> None:
    assert call(Grad(lambda x: 2.0, with_value=True), 3.0) == (2.0, 0.0)


@pytest.mark.parametrize(
    ("function", "args", "error", "message"),
    [
        (Grad(double), (np.ones(3),), DifferentiationError, "needs a scalar"),
        (Grad(lambda x: (x, x)), (1.0,), DifferentiationError, "several values"),
        (Grad(lambda x: int(x)), (1.0,), DifferentiationError, "has no gradient"),
        (Grad(cube), (2,), DifferentiationError, "only floats have derivatives"),
        (Grad(cube), (np.arange(3),), DifferentiationError, "of dtype int64"),
        (Grad(cube, argnums=1), (2.0,), DifferentiationError, "argnums=1"),
        (Grad(cube, has_aux=True), (2.0,), DifferentiationError, "returns no pair"),
        (Jvp(double), ((np.ones(3),), (np.ones(2),)), ShapeError, "of shape"),
        (Jvp(double), ((np.ones(3),),), DTypeError, "jvp takes"),
    ],
)
def test_what_has_no_derivative(function: Any, args: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        compile_for(function, *args)
    assert raised.value.lineno is not None


def test_aux_from_around_the_function() -> None:
    def aux(x):
        number, array = x * 2, np.ones(3) * x
        (value, around), slope = value_and_grad(lambda z: (z * z, (number, array)), has_aux=True)(x)
        return value, around[0], around[1] * 1.0, slope

    value, number, array, slope = jit(aux)(3.0)
    assert (value, number, slope) == (9.0, 6.0, 6.0)
    np.testing.assert_array_equal(array, 3 * np.ones(3))
