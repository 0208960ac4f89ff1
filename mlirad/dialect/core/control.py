"""Loops and branches, built from Expr code.

Reads: bodies as Python functions. Writes: scf. Leaves: the results, as Exprs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Region

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, insert

Values = Sequence[Expr]
Body = Callable[..., "Expr | Values | None"]


def as_values(result: Expr | Values | None) -> list[Expr]:
    return [] if result is None else [result] if isinstance(result, Expr) else list(result)


def as_i64(n: Expr | int) -> Expr:
    return n if isinstance(n, Expr) else constant(n, types.I64)


def for_loop(n: Expr | int, inits: Values, body: Body) -> tuple[Expr, ...]:
    """`for q in range(n)`; `body(q, *carries)` returns the next carries."""
    block = Block(arg_types=[types.I64, *(init.type for init in inits)])
    with building(block):
        ends = as_values(body(*(Expr(arg) for arg in block.args)))
        insert(scf.YieldOp(*(end.value for end in ends)))
    lower, upper, step = (as_i64(bound).value for bound in (0, n, 1))
    op = insert(scf.ForOp(lower, upper, step, [init.value for init in inits], Region(block)))
    return tuple(Expr(result) for result in op.results)


def while_loop(inits: Values, condition: Callable[..., Expr], body: Body) -> tuple[Expr, ...]:
    """`while condition(*carries)`; `body(*carries)` returns the next carries."""
    carried = [init.type for init in inits]
    before, after = Block(arg_types=carried), Block(arg_types=carried)
    with building(before):
        insert(scf.ConditionOp(condition(*(Expr(arg) for arg in before.args)).value, *before.args))
    with building(after):
        ends = as_values(body(*(Expr(arg) for arg in after.args)))
        insert(scf.YieldOp(*(end.value for end in ends)))
    op = insert(scf.WhileOp([init.value for init in inits], carried, Region(before), Region(after)))
    return tuple(Expr(result) for result in op.results)


def branch(condition: Expr, then: Body, other: Body) -> tuple[Expr, ...]:
    """`then() if condition else other()`."""
    first, second = Block(), Block()
    results: list[Attribute] = []
    for block, body in ((first, then), (second, other)):
        with building(block):
            ends = as_values(body())
            insert(scf.YieldOp(*(end.value for end in ends)))
            results = [end.type for end in ends]
    op = insert(scf.IfOp(condition.value, results, Region(first), Region(second)))
    return tuple(Expr(result) for result in op.results)
