"""The expansion of requests: orders, errors, sizes, and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expanded import callable_of, context, expand, parsed
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region

from mlirad.autodiff.requests.differentiate import Differentiate
from mlirad.dialect.ad.derivative_ops import VjpOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, insert, located
from mlirad.dialect.ops.compare import CastOp
from mlirad.errors import DifferentiationError
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_jvp, ask_vjp, for_loop, function, get, put

F64, I64 = types.F64, types.I64
VECTOR = types.tensor([6], F64)
ONE = np.float64(1.0)


def gradient_of(module: ModuleOp, name: str, callee: func.FuncOp) -> func.FuncOp:
    """@name(x): the derivative of a scalar function of one scalar."""

    def body(x: Expr) -> Expr:
        seed = constant(1.0, F64)
        return Expr(insert(VjpOp.of(callee, [x.value], [seed.value])).results[-1])

    return function(module, name, [F64], body, "public")


def test_third_order_of_sin() -> None:
    module = ModuleOp([])
    f = function(module, "f", [F64], lambda x: np.sin(x))
    for order in range(1, 5):
        f = gradient_of(module, f"d{order}", f)
    expand(module)
    x = np.float64(0.7)
    for order, expected in enumerate((np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)), start=1):
        np.testing.assert_allclose(callable_of(module, f"d{order}")(x), [expected], rtol=1e-14)


def test_third_order_of_a_while() -> None:
    """Newton's square root: (1, -1/2, 3/4) * x**(1/2 - k) / 2"""
    from loop_programs import programs

    module = ModuleOp([])
    f = programs()["newton"].define(module)
    for order in range(1, 4):
        f = gradient_of(module, f"d{order}", f)
    expand(module)
    x = np.float64(2.0)
    for order, expected in enumerate((0.5 * x**-0.5, -0.25 * x**-1.5, 0.375 * x**-2.5), start=1):
        np.testing.assert_allclose(callable_of(module, f"d{order}")(x), [expected], rtol=1e-6)


def test_a_request_inside_a_loop_and_differentiated_again() -> None:
    """y[i] = d/dx g(x[i]) in a loop, where g contains a while; then the gradient of that."""
    from mlirad.testing.expr_functions import while_loop

    def inner(x: Expr) -> Expr:
        return while_loop([x], lambda r: r < 5.0, lambda r: r * (1.3 + np.sin(r * x) * 0.1))[0]

    def define(module: ModuleOp) -> func.FuncOp:
        g = function(module, "g", [F64], inner)

        def body(x: Expr) -> Any:
            def step(i: Expr, y: Expr) -> Expr:
                request = insert(VjpOp.of(g, [get(x, i).value], [constant(1.0, F64).value]))
                return put(Expr(request.results[0]) * 0.1 + Expr(request.results[1]), y, i)

            return for_loop(6, [x], step)[0]

        return function(module, "f", [VECTOR], body, "public")

    primal, module = ModuleOp([]), ModuleOp([])
    define(primal)
    ask_vjp(module, "vjp", define(module), [0])
    x = np.linspace(0.6, 2.1, 6)
    check_vjp(callable_of(expand(primal), "f"), callable_of(expand(module), "vjp"), (x,), rtol=1e-5)


def test_each_derivative_is_built_once() -> None:
    module = ModuleOp([])
    f = function(module, "f", [F64, F64], lambda x, y: x * np.sin(y))
    for name, wrt in (("a", [0]), ("b", [0]), ("c", [1])):
        ask_vjp(module, name, f, wrt)
    Differentiate().apply(context(), module)
    module.verify()
    names = [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)]
    assert names == ["f", "a", "b", "c", "f.vjp", "f.vjp.1"]


def test_outs_and_wrt_in_any_order() -> None:
    def define(module: ModuleOp) -> func.FuncOp:
        def body(x: Expr, n: Expr, y: Expr) -> Any:
            return x * y, n, np.sin(x) + y, x

        return function(module, "f", [F64, I64, F64], body)

    module = ModuleOp([])
    f = define(module)
    ask_vjp(module, "vjp", f, [2, 0], [3, 0])
    ask_jvp(module, "jvp", f, [2, 0], [3, 0])
    expand(module)
    x, n, y = np.float64(0.4), np.int64(3), np.float64(1.7)
    assert callable_of(module, "vjp")(x, n, y, 5.0, 2.0) == (2.0 * x, 5.0 + 2.0 * y)
    assert callable_of(module, "jvp")(x, n, y, 5.0, 2.0) == (2.0, 5.0 * x + 2.0 * y)


def test_an_input_that_nothing_uses_has_zeros() -> None:
    module = ModuleOp([])
    f = function(module, "f", [VECTOR, F64], lambda v, x: (x * x, v))
    ask_vjp(module, "vjp", f, [0, 1])
    expand(module)
    zeros, gradient = callable_of(module, "vjp")(np.ones(6), np.float64(3.0), ONE)
    assert gradient == 6.0 and not zeros.any() and zeros.shape == (6,)


def test_an_identity_has_its_cotangent() -> None:
    module = ModuleOp([])
    ask_vjp(module, "vjp", function(module, "f", [F64], lambda x: x), [0])
    expand(module)
    assert callable_of(module, "vjp")(ONE, 3 * ONE) == (3.0,)


# --- errors -----------------------------------------------------------------------------------------------------

PLACE = FileLineColLoc(StringAttr("user.py"), IntAttr(7), IntAttr(5))


def refused(module: ModuleOp) -> DifferentiationError:
    module.verify()
    with pytest.raises(DifferentiationError) as caught:
        Differentiate().apply(context(), module)
    return caught.value


def placed(module: ModuleOp, *kinds: type[Operation]) -> None:
    for op in module.walk():
        if isinstance(op, kinds):
            op.location = PLACE


def test_integer_inputs_and_outputs_are_refused() -> None:
    for wrt, outs, message in (([1], [0], "input 1 of @f is i64"), ([0], [1], "output 1 of @f is i64")):
        module = ModuleOp([])
        f = function(module, "f", [F64, I64], lambda x, n: (x, n))

        def body(x: Expr, n: Expr, wrt: Any = wrt, outs: Any = outs, f: Any = f) -> Any:
            seed = x if outs == [0] else n
            return [Expr(r) for r in insert(VjpOp.of(f, [x.value, n.value], [seed.value], wrt, outs)).results]

        function(module, "g", [F64, I64], body)
        placed(module, VjpOp)
        error = refused(module)
        assert message in error.message
        assert (error.filename, error.lineno, error.col_offset) == ("user.py", 7, 4)


def test_an_op_without_a_rule_is_named_with_its_place() -> None:
    def body(x: Expr) -> Any:
        with located(PLACE):
            return Expr(insert(arith.MulfOp(x.value, x.value)).result) + 1.0

    for ask in (ask_vjp, ask_jvp):
        module = ModuleOp([])
        ask(module, "d", function(module, "f", [F64], body), [0])
        error = refused(module)
        assert "arith.mulf has no derivative" in error.message and error.lineno == 7


def test_loops_that_are_not_canonical_are_refused() -> None:
    def strided(x: Expr) -> Any:
        block = Block(arg_types=[I64, F64])
        block.add_ops([scf.YieldOp(block.args[1])])
        one, ten = constant(1, I64).value, constant(10, I64).value
        return Expr(insert(scf.ForOp(one, ten, one, [x.value], Region(block))).results[0]) * 1.0

    module = ModuleOp([])
    ask_vjp(module, "d", function(module, "f", [F64], strided), [0])
    assert "from 0 by 1" in refused(module).message


def test_a_function_that_asks_for_its_own_derivative_is_refused() -> None:
    module = parsed("""
      func.func @f(%x: f64) -> f64 {
        %one = nd.constant {value = 1.0 : f64} : f64
        %y, %dx = ad.vjp @f(%x)(%one) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
        return %dx : f64
      }""")
    assert "asks for a derivative of itself" in refused(module).message


def test_an_int_cast_stops_the_derivative() -> None:
    module = ModuleOp([])

    def body(x: Expr) -> Any:
        whole = emit(CastOp, x, result_type=I64)
        return emit(CastOp, whole, result_type=F64) * x

    ask_vjp(module, "vjp", function(module, "f", [F64], body), [0])
    expand(module)
    assert callable_of(module, "vjp")(np.float64(2.7), ONE) == (2.0,)


# --- growth and places ------------------------------------------------------------------------------------------


def test_the_ir_grows_linearly() -> None:
    def size(steps: int) -> int:
        def step(i: Expr, y: Expr) -> Expr:
            for _ in range(steps):
                y = put(np.sin(get(y, i)) * get(y, i + 1), y, i)
            return y

        module = ModuleOp([])
        ask_vjp(module, "vjp", function(module, "f", [VECTOR], lambda x: get(for_loop(4, [x], step)[0], 0)), [0])
        return sum(1 for _ in expand(module).walk())

    four, eight, sixteen = size(4), size(8), size(16)
    assert sixteen - eight <= 2.2 * (eight - four)


def test_adjoint_ops_have_their_primal_place() -> None:
    def body(x: Expr) -> Any:
        def step(i: Expr, s: Expr) -> Any:
            with located(PLACE):
                return np.sin(s) * s

        return for_loop(4, [x], step)[0]

    module = ModuleOp([])
    ask_vjp(module, "vjp", function(module, "f", [F64], body), [0])
    expand(module)
    (cosine,) = [op for op in module.walk() if op.name == "nd.cos"]
    assert cosine.location == types.of_adjoint(PLACE)
    assert types.from_location(cosine.location) == types.from_location(PLACE)
