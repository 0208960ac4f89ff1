"""Builds small functions of the tensor stage from Expr code, for tests of the passes after the frontend."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region

from mlirad.dialect.ad.derivative_ops import ForwardOp, JvpOp, PullbackOp, VjpOp
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.core.control import Body, Values, as_i64, as_values, branch, for_loop, while_loop
from mlirad.dialect.core.expr import Expr, building, emit, insert

__all__ = [
    "ask_forward",
    "ask_jvp",
    "ask_pullback",
    "ask_vjp",
    "branch",
    "for_loop",
    "function",
    "get",
    "program",
    "put",
    "while_loop",
]


def function(
    module: ModuleOp, name: str, arguments: Sequence[Attribute], body: Body, visibility: str = "private"
) -> func.FuncOp:
    """A function; `body` takes its arguments and returns its results."""
    block = Block(arg_types=list(arguments))
    with building(block):
        results = as_values(body(*(Expr(arg) for arg in block.args)))
        insert(func.ReturnOp(*(result.value for result in results)))
    made = func.FuncOp(name, (list(arguments), [r.type for r in results]), Region(block), visibility)
    module.body.block.add_op(made)
    return made


def program(arguments: Sequence[Attribute], body: Body) -> ModuleOp:
    """A module with one public function `f`."""
    module = ModuleOp([])
    function(module, "f", arguments, body, "public")
    return module


def get(array: Expr, *indices: Expr | int) -> Expr:
    """array[indices], an element."""
    return emit(ExtractOp, array, *(as_i64(index) for index in indices))


def put(value: Expr, array: Expr, *indices: Expr | int) -> Expr:
    """The array with array[indices] = value."""
    return emit(InsertOp, value, array, *(as_i64(index) for index in indices))


def ask_vjp(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(primals, cotangents)` that returns the cotangents of `wrt`."""
    primals, cotangents, results = VjpOp.signature(callee, wrt, outs)

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(VjpOp.of(callee, values[: len(primals)], values[len(primals) :], wrt, outs))
        return [Expr(result) for result in op.results[len(results) - len(wrt) :]]

    return function(module, name, [*primals, *cotangents], body, "public")


def ask_jvp(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(primals, tangents)` that returns the tangents of `outs`."""
    primals, tangents, results = JvpOp.signature(callee, wrt, outs)

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(JvpOp.of(callee, values[: len(primals)], values[len(primals) :], wrt, outs))
        return [Expr(result) for result in op.results[len(results) - len(outs) :]]

    return function(module, name, [*primals, *tangents], body, "public")


def ask_forward(module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int]) -> func.FuncOp:
    """A public function `name(primals)` that returns the result of a callee, and the residuals."""

    def body(*given: Expr) -> Values:
        op = insert(ForwardOp.of(callee, [expr.value for expr in given], (), wrt, (0,)))
        return [Expr(result) for result in op.results]

    return function(module, name, ForwardOp.signature(callee, wrt, (0,))[0], body, "public")


def ask_pullback(module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int]) -> func.FuncOp:
    """A public function `name(residuals, cotangent)` that returns the cotangents of `wrt`."""
    residuals, cotangents, _ = PullbackOp.signature(callee, wrt, (0,))

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(PullbackOp.of(callee, values[:1], values[1:], wrt, (0,)))
        return [Expr(result) for result in op.results]

    return function(module, name, [*residuals, *cotangents], body, "public")
