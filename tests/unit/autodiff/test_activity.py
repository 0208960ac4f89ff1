"""Which values are live."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from mlirad.autodiff.activity import Activity, activity
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, full
from mlirad.testing.expr_functions import Body, branch, for_loop, function, get, put, while_loop

F64, I64 = types.F64, types.I64


def analysed(body: Body, *arguments: types.Attribute) -> tuple[func.FuncOp, Activity]:
    """The activity of a function with respect to argument 0, for result 0."""
    made = function(ModuleOp([]), "f", arguments, body)
    block = made.body.block
    end = block.last_op
    assert end is not None
    return made, activity(made, [block.args[0]], [end.operands[0]])


def test_what_does_not_depend_or_does_not_reach_is_not_live() -> None:
    seen: dict[str, Expr] = {}

    def body(x: Expr, c: Expr) -> Expr:
        seen.update(unused=x * 2.0, constant=c * c, used=x * c)
        return seen["used"] + seen["constant"]

    _, found = analysed(body, F64, F64)
    assert {name: value.value in found.live for name, value in seen.items()} == {
        "unused": False,
        "constant": False,
        "used": True,
    }


def test_a_carry_becomes_live_through_another() -> None:
    """a -> b -> c from trip to trip: the third carry depends on x only after two trips."""

    def body(x: Expr) -> Expr:
        start = constant(1.0, F64)
        return for_loop(5, [start, start, start, start], lambda i, a, b, c, d: (x, a, b, d))[2]

    made, found = analysed(body, F64)
    (loop,) = [op for op in made.body.block.ops if op.name == "scf.for"]
    assert [arg in found.live for arg in loop.regions[0].block.args[1:]] == [True, True, False, False]
    assert [result in found.live for result in loop.results] == [False, False, True, False]
    assert found.captured(loop) == [made.body.block.args[0]]


def test_integers_and_predicates_carry_no_derivative() -> None:
    def body(x: Expr, n: Expr) -> Expr:
        return while_loop([x, n], lambda y, k: k > 0, lambda y, k: (y * y, k - 1))[0]

    _, found = analysed(body, F64, I64)
    assert all(types.is_float(value.type) for value in found.live)


def test_a_branch_that_only_passes_on_captures_nothing_but_what_it_uses() -> None:
    def body(x: Expr, c: Expr) -> Expr:
        y = put(x, full(constant(0.0, F64), [3]), 1)
        (z,) = branch(c > 0.0, lambda: put(c, y, 2), lambda: y)
        return get(z, 1)

    made, found = analysed(body, F64, F64)
    (conditional,) = [op for op in made.body.block.ops if op.name == "scf.if"]
    assert len(found.captured(conditional)) == 1
    assert types.is_tensor(found.captured(conditional)[0].type)
