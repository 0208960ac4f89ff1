"""`mlirad.jacfwd`, `jacrev`, `hessian` and `hvp`: derivatives along all directions, or along one of a gradient.

Reads: a function and its arguments. Writes: ad.jvp, or ad.forward and ad.pullback, in functions of a direction's
number; ad.vmap of these functions. Leaves: for each leaf of the result, a value with the structure of the chosen
arguments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Attribute, Block, SSAValue

from mlirad.dialect.ad.derivative_ops import ForwardOp, JvpOp, PullbackOp
from mlirad.dialect.ad.vmap_op import VmapOp
from mlirad.dialect.arrays.elements import InsertOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, insert
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter import dispatch
from mlirad.frontend.interpreter.calls import recursion
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined, name_of_value
from mlirad.frontend.interpreter.calls.outlining.plain_results import InArrays, MadeObject
from mlirad.frontend.interpreter.calls.transforms import active_leaves, derivative_requests
from mlirad.frontend.interpreter.calls.transforms.chosen_arguments import chosen_arguments
from mlirad.frontend.interpreter.calls.transforms.complex_derivatives import Domain
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.sizes import filled
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Ref, Static, Transformed, Tuple, Value, is_none, kind_of
from mlirad.requests.kinds_of_derivatives import Grad, Hessian, Jacobian

Parts = dict[tuple[int, int], Expr]
"""The places of one part of a Jacobian: a leaf of the result and one of the callee's arguments, by number."""


def hessian(
    context: Context, function: Value, request: Hessian, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """Forward over reverse: for each number, one forward sweep with tangents of the gradient's own sweeps."""
    options = {"argnums": request.argnums, "has_aux": request.has_aux, "holomorphic": request.holomorphic}
    gradient = Transformed(function, Jacobian(None, **options, is_forward=False))
    return dispatch.call(context, Transformed(gradient, Jacobian(None, **options, is_forward=True)), args, kwargs)


def product(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`hvp(f, primals, tangents)`: the tangents of the gradient; None for primals without a derivative."""
    primals, _ = derivative_requests.primals_and_tangents(context, "hvp", args, kwargs)
    leaves = [list(value_trees.leaves_of(context, primal)) for primal in primals]
    has_derivative = active_leaves.has_derivative
    chosen = tuple(n for n, each in enumerate(leaves) if any(has_derivative(recursion.as_number(x)) for x in each))
    if not chosen:
        active_leaves.require_active(context, (), primals, name_of_value(function))
    gradient = Transformed(function, Grad(None, argnums=chosen))
    found = derivative_requests.tangents(context, gradient, False, args, kwargs)
    assert isinstance(found, Tuple) and isinstance(found.items[1], Tuple)
    along = iter(found.items[1].items)
    return Tuple(tuple(next(along) if number in chosen else Static(None) for number in range(len(leaves))))


def jacobian(
    context: Context, function: Value, request: Jacobian, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    name = name_of_value(function)
    for number in chosen_arguments(context, request.argnums, function, args, kwargs):
        active_leaves.require_dense(context, [*args, *kwargs.values()][number], "a Jacobian")
    transform = "jacfwd" if request.is_forward else "jacrev"
    outlined, wanted, wrt = derivative_requests.outlined_for(
        context, function, request.argnums, args, kwargs, Domain(transform, request.holomorphic)
    )
    if request.is_forward:
        active_leaves.require_no_draw(context, outlined, name, transform)
    value, aux = outlined.result, None
    if request.has_aux:
        value, aux = derivative_requests.require_pair(context, outlined, name)
    outs = list(range(_require_floats(context, value, name)))
    for leaf in outlined.leaves[: len(outs)]:
        Domain(transform, request.holomorphic).require_output(context, leaf, name)
    inputs = [outlined.callee.function_type.inputs.data[number] for number in wrt]
    if not all(map(types.is_static, (*inputs, *(outlined.callee.function_type.outputs.data[k] for k in outs)))):
        raise context.refusal(f"the size of this Jacobian of {name} depends on data", "use mlirad.jvp or mlirad.vjp")
    parts, results = (_by_columns if request.is_forward else _by_rows)(context, outlined, wrt, outs)
    rest = None
    if aux is not None:
        rebuilt = plain_results.rebuilt(context, outlined.result, results)
        assert isinstance(rebuilt, Tuple)
        _, rest = derivative_requests.pair_of(rebuilt)
    leaves = iter(outs)

    def of_leaf(leaf: Ref | Traced | Static) -> Value:
        if is_none(leaf):
            return leaf
        out = None if isinstance(leaf, Static) else next(leaves)
        own = iter([None if out is None else parts[out, number] for number in wrt])
        found = [_like(context, each, own) for each in wanted]
        return Tuple(tuple(found)) if isinstance(request.argnums, tuple) else found[0]

    made = _mapped(context, value, of_leaf)
    return made if rest is None else Tuple((made, rest))


def _require_floats(context: Context, value: Any, name: str) -> int:
    """The number of differentiated leaves of a result, which must all be float arrays or numbers."""
    count = 0
    location = context.returned.get(name, context.location)
    for leaf in plain_results.result_leaves(context, value, with_static=True):
        if isinstance(leaf, Static) and isinstance(leaf.value, float | np.floating):
            continue
        if leaf is not value and is_none(leaf):  # the gradient by a None
            continue
        if isinstance(leaf, Static) or leaf.dtype.kind not in "fc":
            hint = "return floats, or return it as aux (has_aux=True)"
            raise DifferentiationError(f"{name} returns {kind_of(leaf)}, which has no derivative", location, hint)
        count += 1
    active_leaves.require_no_list(context, value, name)
    return count


# Emitting.


def _by_columns(
    context: Context, outlined: Outlined, wrt: Sequence[int], outs: Sequence[int]
) -> tuple[Parts, Iterator[Expr]]:
    """The derivatives along each number of the arguments, and the results of the function."""
    callee = outlined.callee
    call = func.CallOp(callee.sym_name.data, outlined.operands, callee.function_type.outputs.data)
    results = outline.results_of(context, outlined, insert(call).results)
    parts: Parts = {}
    for number in wrt:

        def along(operands: Sequence[SSAValue], tangent: Expr, number: int = number) -> Sequence[SSAValue]:
            op = insert(JvpOp.of(callee, operands, [tangent.value], (number,), tuple(outs)))
            return op.results[len(op.results) - len(outs) :]

        type = callee.function_type.inputs.data[number]
        for out, stacked in zip(outs, _along_all(context, callee, outlined.operands, type, along), strict=True):
            rank = len(stacked.shape)
            last = [*range(1, rank), 0] if types.is_tensor(type) else range(rank)
            moved = emit(TransposeOp, stacked, permutation=last) if rank > 1 and types.is_tensor(type) else stacked
            parts[out, number] = _joined(moved, callee.function_type.outputs.data[out], type)
    return parts, results


def _by_rows(
    context: Context, outlined: Outlined, wrt: Sequence[int], outs: Sequence[int]
) -> tuple[Parts, Iterator[Expr]]:
    """The cotangents for each number of the results, from one forward sweep, and the results of the function."""
    callee = outlined.callee
    op = insert(ForwardOp.of(callee, outlined.operands, [], tuple(wrt), tuple(outs)))
    *values, residuals = op.results
    results = outline.results_of(context, outlined, values)
    outputs = callee.function_type.outputs.data
    parts: Parts = {}
    for out in outs:

        def back(operands: Sequence[SSAValue], cotangent: Expr, out: int = out) -> Sequence[SSAValue]:
            others = [cotangent if k == out else _zeros(outputs[k]) for k in outs]
            return insert(PullbackOp.of(callee, operands, [x.value for x in others], tuple(wrt), tuple(outs))).results

        for number, stacked in zip(wrt, _along_all(context, callee, [residuals], outputs[out], back), strict=True):
            parts[out, number] = _joined(stacked, outputs[out], callee.function_type.inputs.data[number])
    return parts, results


def _zeros(type: Attribute) -> Expr:
    return constant(0, type)


def _along_all(
    context: Context,
    callee: func.FuncOp,
    operands: Sequence[SSAValue],
    type: Attribute,
    along: Callable[[Sequence[SSAValue], Expr], Sequence[SSAValue]],
) -> list[Expr]:
    """The results of `along` for the operands and each unit vector of `type`, stacked.

    A number has only one direction, so nothing is stacked.
    """
    if not types.is_tensor(type):
        return list(map(Expr, along(operands, constant(1, type))))
    size = prod(types.shape(type))
    block = Block(arg_types=[*(operand.type for operand in operands), types.I64])
    with building(block):
        *own, number = block.args
        zeros = _zeros(types.tensor((size,), types.element_type(type)))
        unit = emit(InsertOp, constant(1, types.element_type(type)), zeros, number)
        ends = list(along(own, reshape(unit, type)))
        insert(func.ReturnOp(*ends))
    made = outline.private_function(context, f"{callee.sym_name.data}_along", block)
    op = insert(VmapOp.of_lanes(made, [*operands, counted(size).value], [len(operands)]))
    return list(map(Expr, op.results))


def _joined(x: Expr, out: Attribute, argument: Attribute) -> Expr:
    """A part of a Jacobian, in its shape (the axes of the result, then those of the argument) and its dtype."""
    whole = reshape(x, types.of_shape((*types.shape(out), *types.shape(argument)), x.element))
    return cast(whole, types.element_type(argument))


# Putting together.


def _mapped(context: Context, value: Any, function: Callable[[Any], Value]) -> Value:
    """A plain result with other leaves."""
    if isinstance(value, MadeObject | Tuple):
        items = tuple(_mapped(context, item, function) for item in value.items)
        if isinstance(value, Tuple):
            return Tuple(items, value.kind)
        return context.new_object(Entry(value.kind, value.keys, items))
    assert not isinstance(value, InArrays)
    return function(value)


def _like(context: Context, argument: Any, parts: Iterator[Expr | None]) -> Value:
    """The parts of a Jacobian for one leaf of the result, in the structure of an argument; None: the leaf is a
    constant."""

    def of_leaf(leaf: Ref | Traced | Static) -> Value:
        if isinstance(leaf, Static):
            return leaf
        found = next(parts)
        if found is None:
            found = filled(0, leaf.shape, types.from_dtype(leaf.dtype))
        if isinstance(leaf, Traced) and not found.is_tensor:
            return dataclasses.replace(leaf, expr=found)
        return context.new_array(found if found.is_tensor else reshape(found, types.tensor((), found.element)))

    return _mapped(context, argument, of_leaf)
