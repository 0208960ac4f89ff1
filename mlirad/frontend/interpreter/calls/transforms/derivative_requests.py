"""Requests for derivatives of functions, which the differentiator expands later.

Reads: Request descriptors and values. Writes: ad.vjp, ad.jvp, ad.paths. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects import func

from mlirad.dialect.ad.derivative_ops import JvpOp, PathsOp, PushedOp, VjpOp
from mlirad.dialect.ad.request_op import DerivativeOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, insert
from mlirad.errors import DifferentiationError, DTypeError, ShapeError
from mlirad.frontend.interpreter import consuming, storage
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined, name_of_value
from mlirad.frontend.interpreter.calls.outlining.plain_results import InArrays, MadeObject
from mlirad.frontend.interpreter.calls.transforms.active_leaves import (
    activated,
    active_numbers,
    active_where_possible,
    has_derivative,
    require_active,
    require_no_draw,
    require_no_tangent,
)
from mlirad.frontend.interpreter.calls.transforms.chosen_arguments import chosen_arguments
from mlirad.frontend.interpreter.calls.transforms.complex_derivatives import Domain
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import buffers_of, list_in_arrays
from mlirad.frontend.values.assignment import assignable
from mlirad.frontend.values.sizes import filled, require_equal, shape_of, text
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Ref, Static, Tuple, Value, is_none, kind_of
from mlirad.requests.argnums import Argnums
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.tree import SparseParts


def numbers_of(outlined: Outlined, leaves: Sequence[Sequence[Value]], chosen: Sequence[int]) -> list[int]:
    """The numbers of the callee's arguments for the chosen arguments' leaves that have derivatives. leaves: those of
    each argument."""
    inputs, numbers = iter(outlined.inputs), list[list[int]]()
    for own in leaves:
        pairs = [(next(inputs), leaf) for leaf in own]
        numbers.append([number for number, leaf in pairs if number is not None and has_derivative(leaf)])
    return [number for each in chosen for number in numbers[each]]


def emit_request(
    context: Context,
    kind: type[DerivativeOp],
    outlined: Outlined,
    others: Sequence[Expr],
    wrt: Sequence[int],
    outs: Sequence[int],
) -> Iterator[Expr]:
    op = kind.of(outlined.callee, outlined.operands, [other.value for other in others], tuple(wrt), tuple(outs))
    return outline.results_of(context, outlined, insert(op).results)


# Gradients.


def gradient(
    context: Context, function: Value, request: Grad, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    kind = Domain("grad", request.holomorphic)
    outlined, wanted, wrt = outlined_for(context, function, request.argnums, args, kwargs, kind)
    value, aux = value_and_aux(context, outlined, request, name_of_value(function))
    if isinstance(value, Ref | Traced):
        kind.require_output(context, value, name_of_value(function))
    if isinstance(value, Static):
        return constant_gradient(context, outlined, request, wanted)
    seed = constant(1, outlined.callee.function_type.outputs.data[0])
    results = emit_request(context, VjpOp, outlined, [seed], wrt, [0])
    out = plain_results.rebuilt(context, value, results)
    rest = plain_results.rebuilt(context, aux, results) if aux is not None else None
    gradients = [plain_results.cotangents(context, each, results) for each in wanted]
    return arranged(request, out, rest, gradients)


def outlined_for(
    context: Context,
    function: Value,
    argnums: Argnums,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    kind: Domain,
) -> tuple[Outlined, list[Any], list[int]]:
    """A function differentiated with respect to chosen arguments; these (plain); and the numbers of their leaves in the
    callee."""
    name = name_of_value(function)
    chosen = chosen_arguments(context, argnums, function, args, kwargs)
    callers = [*args, *kwargs.values()]
    named = [*map(str, range(len(args))), *map(repr, kwargs)]
    given = [
        activated(context, arg, f"argument {named[number]} of {name}", kind) if number in chosen else arg
        for number, arg in enumerate(callers)
    ]
    wanted = [plain_results.plain_result(context, given[number]) for number in chosen]
    leaves = [list(value_trees.leaves_of(context, arg)) for arg in given]
    by_keyword = dict(zip(kwargs, given[len(args) :], strict=True))
    outlined = outline.outline(context, function, given[: len(args)], by_keyword, callers)
    return outlined, wanted, numbers_of(outlined, leaves, chosen)


def arranged(request: Grad, out: Value, aux: Value | None, gradients: Sequence[Value]) -> Value:
    """The results of grad and value_and_grad."""
    found: Value = Tuple(tuple(gradients)) if isinstance(request.argnums, tuple) else gradients[0]
    if request.with_value:
        return Tuple((out if aux is None else Tuple((out, aux)), found))
    return found if aux is None else Tuple((found, aux))


def value_and_aux(context: Context, outlined: Outlined, request: Grad, name: str) -> tuple[Any, Any]:
    """The differentiated value in the callee's result, and the aux."""
    result = outlined.result
    value, aux = result, None
    location = context.returned.get(name, context.location)
    if request.has_aux:
        value, aux = require_pair(context, outlined, name)
    scalar = isinstance(value, Ref | Traced) and value.shape == () and value.dtype.kind in "fc"
    if scalar or (isinstance(value, Static) and isinstance(value.value, float)):
        return value, aux
    if isinstance(value, Ref) and value.shape:
        message = f"the gradient of {name} needs a scalar, and it returns {kind_of(value)}"
        hint = "return a number, such as its sum; mlirad.jacrev gives all derivatives of an array"
    elif isinstance(value, Ref | Traced | Static):
        message, hint = f"{name} returns {kind_of(value)}, which has no gradient", "return a float"
    else:
        message = f"the gradient of {name} needs a scalar, and it returns several values"
        hint = "return one number; with has_aux=True, the first value is differentiated and the others are returned"
    raise DifferentiationError(message, location, hint)


def require_pair(context: Context, outlined: Outlined, name: str) -> tuple[Any, Any]:
    """The result of a function with has_aux=True: (value, aux), or the value and a tuple of several."""
    result = outlined.result
    if not isinstance(result, Tuple) or len(result.items) < 2:
        location, hint = context.returned.get(name, context.location), "return value, aux"
        raise DifferentiationError(f"{name} with has_aux=True returns no pair", location, hint)
    return pair_of(result)


def pair_of(result: Tuple) -> tuple[Any, Any]:
    """The value and the aux of a function with has_aux=True."""
    value, *aux = result.items
    return value, aux[0] if len(aux) == 1 else Tuple(tuple(aux))


def constant_gradient(context: Context, outlined: Outlined, request: Grad, wanted: Sequence[Any]) -> Value:
    """The gradient of a function that returns a compile-time number: zeros."""
    outputs = outlined.callee.function_type.outputs.data
    op = insert(func.CallOp(outlined.callee.sym_name.data, outlined.operands, outputs))
    result = plain_results.rebuilt(context, outlined.result, outline.results_of(context, outlined, op.results))
    out, aux = pair_of(result) if request.has_aux and isinstance(result, Tuple) else (result, None)

    def zero(leaf: Ref | Traced) -> Expr:
        element = types.from_dtype(leaf.dtype)
        return constant(0, element) if isinstance(leaf, Traced) else filled(0, leaf.shape, element)

    def zeros(value: Any) -> Iterator[Expr]:
        return map(zero, filter(has_derivative, plain_results.result_leaves(context, value)))

    gradients = [plain_results.cotangents(context, each, zeros(each)) for each in wanted]
    return arranged(request, out, aux, gradients)


# Forward mode.


def tangents(
    context: Context,
    function: Value,
    has_aux: bool,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    kind: type[PushedOp] = JvpOp,
) -> Tuple:
    """`jvp(f, primals, tangents)` -> out, its tangent, and aux if the function has it.

    Another kind of request gives another value with the tangent's shape.
    """
    name = name_of_value(function)
    callers, along = primals_and_tangents(context, "jvp", args, kwargs)
    primals = tuple(active_where_possible(context, x) for x in callers)
    given = [leaf for x in along for leaf in value_trees.leaves_of(context, x)]
    leaves = [leaf for primal in primals for leaf in value_trees.leaves_of(context, primal)]
    if len(given) != len(leaves):
        raise ShapeError(f"jvp of {name}: {len(leaves)} primals and {len(given)} tangents", context.location)
    pairs = list(zip(given, leaves, strict=True))
    others = [converted(context, tangent, leaf) for tangent, leaf in pairs if has_derivative(leaf)]
    for tangent, leaf in pairs:
        if not has_derivative(leaf):
            require_no_tangent(context, tangent, leaf)
    outlined = outline.outline(context, function, primals, {}, callers)
    wrt = active_numbers(outlined, leaves)
    require_active(context, wrt, primals, name)
    result = require_pair(context, outlined, name)[0] if has_aux else outlined.result
    own = outlined.leaves[: sum(1 for _ in plain_results.result_leaves(context, result))]
    outs = [k for k, leaf in enumerate(own) if leaf.dtype.kind in "fc"]
    if kind is PathsOp:
        require_no_draw(context, outlined, name, "the search of a sparsity pattern")
    results = emit_request(context, kind, outlined, others, wrt, outs)
    rebuilt = plain_results.rebuilt(context, outlined.result, results)
    out, *aux = pair_of(rebuilt) if has_aux and isinstance(rebuilt, Tuple) else (rebuilt,)
    return Tuple((out, tangent_of(context, result, out, results), *aux))


def primals_and_tangents(
    context: Context, transform: str, args: Sequence[Value], kwargs: dict[str, Value], second: str = "tangents"
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The arguments of `jvp`, and of transforms called like it."""
    named = dict(zip(("primals", second), args, strict=False)) | kwargs
    if set(named) != {"primals", second} or len(args) > 2:
        message = f"{transform} takes a function, a tuple of primals, and a tuple of {second}"
        raise DTypeError(message, context.location)
    return consuming.elements(context, named["primals"]), consuming.elements(context, named[second])


def tangent_of(context: Context, result: Any, out: Value, tangents: Iterator[Expr]) -> Value:
    """The tangent of a plain result, called `out` here: from `tangents` for floats, zero for everything else. The
    tangent of a sparse matrix has the same places."""
    if isinstance(result, MadeObject | Tuple):
        assert isinstance(out, Tuple | Object)
        values = out.items if isinstance(out, Tuple) else context.as_is(out).items
        if isinstance(result, MadeObject) and isinstance(result.keys, SparseParts):
            numbers = tangent_of(context, result.items[0], values[0], tangents)
            items = (numbers, *(plain_results.copied(context, each) for each in values[1:]))
            return context.new_object(Entry(result.kind, result.keys, items))
        pairs = zip(result.items, values, strict=True)
        items = tuple(tangent_of(context, part, value, tangents) for part, value in pairs)
        if isinstance(result, Tuple):
            return Tuple(items, result.kind)
        return context.new_object(Entry(result.kind, result.keys, items))
    if isinstance(result, InArrays):
        assert isinstance(out, Object)
        entry = context.as_is(out)
        arrays = [
            next(tangents) if part.dtype.kind in "fc" else filled(0, shape_of(array), array.element)
            for part, array in zip(result.parts[1:], buffers_of(entry), strict=True)
            if isinstance(part, Traced)
        ]
        return context.new_object(list_in_arrays(plain_results.own(context, result.growth), entry.items[0], arrays))
    if isinstance(result, Static):
        return result if is_none(result) else Static(0.0)
    element = types.from_dtype(result.dtype)
    if result.dtype.kind in "fc":
        tangent = next(tangents)
    elif isinstance(result, Traced) or not result.shape:
        tangent = constant(0, element if isinstance(result, Traced) else types.tensor((), element))
    else:
        assert isinstance(out, Ref)
        tangent = filled(0, out.shape, element)
    return plain_results.rebuilt(context, result, iter([tangent]))


def converted(context: Context, value: Value, like: Value) -> Expr:
    """A tangent or cotangent, with the shape and dtype of `like`."""
    assert isinstance(like, Ref | Traced)
    operand = storage.operand(context, value)
    if operand is None:
        hint = "pass zeros; only values without a derivative have the tangent None"
        raise DTypeError(f"a tangent or cotangent of {kind_of(like)} is None", context.location, hint)
    shape = operand.shape if isinstance(operand, Traced) else ()
    message = "a tangent or cotangent of shape {} for a value of shape {}"
    pairs = list(zip(shape, like.shape, strict=False))
    if len(shape) != len(like.shape) or any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs):
        raise ShapeError(message.format(text(shape), text(like.shape)), context.location)
    for axis, (x, y) in enumerate(pairs):
        require_equal(x, y, message.format(text(shape, axis), text(like.shape, axis, 1)))
    expr = assignable(operand, like.shape, like.dtype)
    return Traced(expr).contents if isinstance(like, Ref) else expr
