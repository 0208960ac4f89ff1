"""Decides which leaves of arguments and results have derivatives, and refuses leaves that need one and have none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from mlirad.analysis.call_graph import ordered_value_in
from mlirad.dialect.core import types
from mlirad.dialect.ops.check import check
from mlirad.errors import DifferentiationError, DTypeError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls import recursion
from mlirad.frontend.interpreter.calls.outlining import value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined
from mlirad.frontend.interpreter.calls.outlining.plain_results import InArrays, MadeObject
from mlirad.frontend.interpreter.calls.transforms.complex_derivatives import Domain
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Static, Tuple, Value, is_none, kind_of
from mlirad.tree import GeneratorParts, SparseParts

# Differentiated leaves.


def differentiable(context: Context, leaf: Value, what: str) -> Value:
    """A leaf that has a derivative. Raises DifferentiationError for one that has none."""
    leaf = recursion.as_number(context.use(leaf))
    if isinstance(leaf, Ref | Traced) and leaf.dtype.kind in "fc":
        return leaf
    dtype = f"of dtype {leaf.dtype}" if isinstance(leaf, Ref | Traced) else kind_of(leaf)
    if isinstance(leaf, Ref | Traced):
        made = "x.astype(float)" if leaf.shape else "a float: 3.0 for 3"
        hint = f"leave it out of argnums= if it is a count, an index or a shape; if it is a quantity, pass {made}"
    else:
        hint = "differentiate with respect to the other arguments (argnums=), or close over this one"
    raise DifferentiationError(f"{what} is {dtype}, and only floats have derivatives", context.location, hint)


def activated(context: Context, value: Value, what: str, kind: Domain) -> Value:
    """A differentiated argument. A None in it stays: its gradient is None, as where a bias is absent."""
    objects = value_trees.objects_in(context, value)
    if any(isinstance(storage.entry_of(context, each).keys, GeneratorParts) for each in objects):
        message = f"{what} is a random generator, or has one in it, and only floats have derivatives"
        hint = "differentiate with respect to the other arguments (argnums=), or pass it as an argument of its own"
        raise DifferentiationError(message, context.location, hint)

    def active(leaf: Value) -> Value:
        if leaf is not value and is_none(leaf):
            return leaf
        part = what if leaf is value else f"a part of {what}"
        return kind.require_input(context, differentiable(context, leaf, part))

    return value_trees.mapped(context, value, active, partial(value_trees.owner_of_copy, context), True)


def require_dense(context: Context, value: Value, what: str) -> None:
    """Refuse sparse matrices in transforms where a derivative would need their structure."""
    for each in value_trees.objects_in(context, value):
        entry = storage.entry_of(context, each)
        if isinstance(entry.keys, SparseParts):
            kind = entry.kind.__name__
            made = "(data, (row, col))" if entry.keys[1] == "row" else f"({', '.join(entry.keys)})"
            hint = f"pass its arrays, and make it inside: {kind}({made}, shape=shape)"
            raise DifferentiationError(f"{what} takes no {kind}; mlirad.grad does", context.location, hint)


def active_where_possible(context: Context, value: Value) -> Value:
    """A primal of jvp or vjp: parts without a derivative stay as they are."""

    require_dense(context, value, "this derivative")

    def active(leaf: Value) -> Value:
        number = recursion.as_number(context.use(leaf))
        return number if has_derivative(number) else leaf

    return value_trees.mapped(context, value, active, partial(value_trees.owner_of_copy, context))


def active_numbers(outlined: Outlined, leaves: Sequence[Value]) -> tuple[int, ...]:
    """The numbers of the callee's arguments for the primals' leaves that have derivatives."""
    pairs = zip(outlined.inputs, leaves, strict=False)  # leaves of keyword arguments come last
    return tuple(number for number, leaf in pairs if number is not None and has_derivative(leaf))


def require_active(context: Context, wrt: Sequence[int], primals: Sequence[Value], name: str) -> None:
    """Require that at least one primal has a derivative."""
    if not wrt and primals:
        raise DifferentiationError(
            f"no argument of {name} is of floats, and only floats have derivatives", context.location, "pass 3.0 for 3"
        )


def require_no_tangent(context: Context, tangent: Value, leaf: Value) -> None:
    """Require that a leaf without a derivative has the tangent None, or 0 for a number."""
    tangent = context.use(tangent)
    if isinstance(tangent, Static) and (tangent.value is None or is_zero(tangent.value)):
        return
    message = f"the tangent of {kind_of(leaf)}, which has no derivative, is None"
    if not isinstance(tangent, Traced):
        raise DTypeError(message, context.location)
    check(tangent.scalar == 0, "ValueError", message)


def require_no_draw(context: Context, outlined: Outlined, name: str, transform: str) -> None:
    """Refuse a function that draws, for a transform that runs it once per direction: each run would draw other
    numbers."""
    functions = {each.sym_name.data: each for each in context.functions}
    op = ordered_value_in(functions, outlined.callee)
    if op is not None:
        raise DifferentiationError(
            f"{transform} runs {name} once for each direction, and each run would draw other random numbers here",
            types.from_location(op.location),
            "use mlirad.jacrev, which runs it once, or draw before it and pass the numbers in",
        )


def require_no_list(context: Context, result: Any, name: str) -> None:
    """Refuse a list that a loop fills: a cotangent has the value's structure, which for such a list is known only at
    run time."""
    if isinstance(result, InArrays):
        message = f"vjp of {name} needs a cotangent for each element of a list that a loop fills"
        hint = "return np.array(xs), or return the list as aux (has_aux=True)"
        raise DifferentiationError(message, context.returned.get(name, context.location), hint)
    for item in result.items if isinstance(result, MadeObject | Tuple) else ():
        require_no_list(context, item, name)


def has_derivative(leaf: Value) -> TypeGuard[Ref | Traced]:
    return isinstance(leaf, Ref | Traced) and leaf.dtype.kind in "fc"


def is_zero(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and value == 0
