"""Builds small functions of the tensor stage out of Expr code, for tests of what comes after the frontend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, constant, emit, insert
from mlirad.dialect.indexing import ExtractOp, InsertOp
from mlirad.dialect.request import ForwardOp, JvpOp, PullbackOp, VjpOp

Values = Sequence[Expr]
Body = Callable[..., "Expr | Values | None"]


def _values(result: Expr | Values | None) -> list[Expr]:
    return [] if result is None else [result] if isinstance(result, Expr) else list(result)


def _as_i64(n: Expr | int) -> Expr:
    return n if isinstance(n, Expr) else constant(n, types.I64)


def function(
    module: ModuleOp, name: str, arguments: Sequence[Attribute], body: Body, visibility: str = "private"
) -> func.FuncOp:
    """A function; `body` gets its arguments and gives its results."""
    block = Block(arg_types=list(arguments))
    with building(block):
        results = _values(body(*(Expr(arg) for arg in block.args)))
        insert(func.ReturnOp(*(result.value for result in results)))
    made = func.FuncOp(name, (list(arguments), [r.type for r in results]), Region(block), visibility)
    module.body.block.add_op(made)
    return made


def for_loop(n: Expr | int, inits: Values, body: Body) -> tuple[Expr, ...]:
    """`for q in range(n)`; `body(q, *carries)` gives the next carries."""
    block = Block(arg_types=[types.I64, *(init.type for init in inits)])
    with building(block):
        ends = _values(body(*(Expr(arg) for arg in block.args)))
        insert(scf.YieldOp(*(end.value for end in ends)))
    lower, upper, step = (_as_i64(bound).value for bound in (0, n, 1))
    op = insert(scf.ForOp(lower, upper, step, [init.value for init in inits], Region(block)))
    return tuple(Expr(result) for result in op.results)


def while_loop(inits: Values, condition: Callable[..., Expr], body: Body) -> tuple[Expr, ...]:
    """`while condition(*carries)`; `body(*carries)` gives the next carries."""
    carried = [init.type for init in inits]
    before, after = Block(arg_types=carried), Block(arg_types=carried)
    with building(before):
        insert(scf.ConditionOp(condition(*(Expr(arg) for arg in before.args)).value, *before.args))
    with building(after):
        ends = _values(body(*(Expr(arg) for arg in after.args)))
        insert(scf.YieldOp(*(end.value for end in ends)))
    op = insert(scf.WhileOp([init.value for init in inits], carried, Region(before), Region(after)))
    return tuple(Expr(result) for result in op.results)


def branch(condition: Expr, then: Body, other: Body) -> tuple[Expr, ...]:
    """`then() if condition else other()`."""
    first, second = Block(), Block()
    results: list[Attribute] = []
    for block, body in ((first, then), (second, other)):
        with building(block):
            ends = _values(body())
            insert(scf.YieldOp(*(end.value for end in ends)))
            results = [end.type for end in ends]
    op = insert(scf.IfOp(condition.value, results, Region(first), Region(second)))
    return tuple(Expr(result) for result in op.results)


def get(array: Expr, *indices: Expr | int) -> Expr:
    """array[indices], an element."""
    return emit(ExtractOp, array, *(_as_i64(index) for index in indices))


def put(value: Expr, array: Expr, *indices: Expr | int) -> Expr:
    """The array with array[indices] = value."""
    return emit(InsertOp, value, array, *(_as_i64(index) for index in indices))


def ask_vjp(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(primals, cotangents)` that gives the cotangents of `wrt`."""
    primals, cotangents, results = VjpOp.signature(callee, wrt, outs)

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(VjpOp.of(callee, values[: len(primals)], values[len(primals) :], wrt, outs))
        return [Expr(result) for result in op.results[len(results) - len(wrt) :]]

    return function(module, name, [*primals, *cotangents], body, "public")


def ask_jvp(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(primals, tangents)` that gives the tangents of `outs`."""
    primals, tangents, results = JvpOp.signature(callee, wrt, outs)

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(JvpOp.of(callee, values[: len(primals)], values[len(primals) :], wrt, outs))
        return [Expr(result) for result in op.results[len(results) - len(outs) :]]

    return function(module, name, [*primals, *tangents], body, "public")


def ask_forward(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(primals)` that gives the results and the residuals."""

    def body(*given: Expr) -> Values:
        op = insert(ForwardOp.of(callee, [expr.value for expr in given], (), wrt, outs))
        return [Expr(result) for result in op.results]

    return function(module, name, ForwardOp.signature(callee, wrt, outs)[0], body, "public")


def ask_pullback(
    module: ModuleOp, name: str, callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int] = (0,)
) -> func.FuncOp:
    """A public function `name(residuals, cotangents)` that gives the cotangents of `wrt`."""
    residuals, cotangents, _ = PullbackOp.signature(callee, wrt, outs)

    def body(*given: Expr) -> Values:
        values = [expr.value for expr in given]
        op = insert(PullbackOp.of(callee, values[:1], values[1:], wrt, outs))
        return [Expr(result) for result in op.results]

    return function(module, name, [*residuals, *cotangents], body, "public")
