"""Transforms of functions, and calls of the transformed functions.

Reads: Request descriptors and values. Writes: nothing itself. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr

from mlirad.dialect.ad.derivative_ops import PathsOp
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.tape import StopOp
from mlirad.dialect.core.expr import emit, insert
from mlirad.errors import DTypeError, UnsupportedSyntaxError
from mlirad.frontend.interpreter import dispatch, outside_objects, storage
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.transforms import (
    accumulate_requests,
    derivative_requests,
    jacobian_requests,
    linear_requests,
    taylor_requests,
    two_sweeps,
    vmap_requests,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.steering import Restart
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Static, Transformed, Value
from mlirad.library.implicit.solutions import KINDS
from mlirad.requests.argnums import argnums_of
from mlirad.requests.kinds_of_derivatives import (
    Grad,
    Hessian,
    Hvp,
    Implicit,
    Jacobian,
    Jet,
    Jvp,
    Linearize,
    Paths,
    Sparse,
    Vjp,
)
from mlirad.requests.lanes_and_parts import Accumulate, Checkpoint, Vmap
from mlirad.requests.marks_in_programs import compiled_anyway, stop_gradient

_OPTIONS = ("argnums", "has_aux", "grad_position", "argnames")
"""The options of `grad` and similar, without the options of compilations."""


def make_transformed(context: Context, transform: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`mlirad.grad(h, ...)` and similar inside a function: `transform` is the class of request, or creates one."""
    if transform is compiled_anyway:
        if kwargs or not args:
            hint = "leave the options out here, and give them to the function that is compiled"
            raise context.refusal("mlirad.jit inside a compiled function takes only a function", hint)
        return args[0]
    if not args:
        raise DTypeError("a transform needs the function that it transforms", context.location)
    if transform is Sparse or "sparsity" in kwargs:
        raise context.refusal(
            "sparse matrices are not compiled", "use mlirad.jacfwd or mlirad.hessian, or make the matrix outside"
        )
    if transform in (Vjp, Jvp, Linearize):
        has_aux = storage.static(context, kwargs.pop("has_aux", Static(False)), "the option has_aux=")
        return dispatch.call(context, Transformed(args[0], transform(None, has_aux)), args[1:], kwargs)
    if transform in (Hvp, Jet, Paths):
        return dispatch.call(context, Transformed(args[0], transform(None)), args[1:], kwargs)
    if isinstance(transform, partial) and transform.func is Implicit:
        return dispatch.call(context, Static(KINDS[transform.keywords["kind"]]), args, kwargs)
    if transform is Checkpoint:
        return Transformed(args[0], transform(None))
    if transform is Vmap:
        return vmap_requests.vmap_of(context, args, kwargs)
    if transform is Accumulate:
        return accumulate_requests.accumulate_of(context, args, kwargs)
    for name in kwargs:
        if name not in _OPTIONS:
            raise DTypeError(
                f"a transform inside a compiled function has no option {name!r}",
                context.location,
                hint=f"it has {', '.join(_OPTIONS)}; options of the compilation belong to the function outside",
            )
    options = {name: storage.static(context, value, f"the option {name}=") for name, value in kwargs.items()}
    positional = [storage.static(context, value, "an option of a transform") for value in args[1:]]
    options |= dict(zip(_OPTIONS, positional, strict=False))
    chosen = [options.pop(name, None) for name in ("argnums", "grad_position", "argnames")]
    try:
        argnums = argnums_of(*chosen)
    except (TypeError, ValueError) as error:
        raise DTypeError(str(error), context.location) from None
    return Transformed(args[0], transform(None, argnums=argnums, **options))


def call_transformed(context: Context, function: Transformed, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    inner = function.function
    if not isinstance(function.request, Vmap | Accumulate | Checkpoint):
        context.findings.differentiates = True
        if context.calling.has_omitted_rules:
            raise Restart("a derivative needs the rules of functions that are known without them")
    match function.request:
        case Grad() as request:
            return derivative_requests.gradient(context, inner, request, args, kwargs)
        case Jacobian() as request:
            return jacobian_requests.jacobian(context, inner, request, args, kwargs)
        case Hessian() as request:
            return jacobian_requests.hessian(context, inner, request, args, kwargs)
        case Hvp():
            return jacobian_requests.product(context, inner, args, kwargs)
        case Paths():
            return derivative_requests.tangents(context, inner, False, args, kwargs, PathsOp).items[1]
        case Jvp() as request:
            return derivative_requests.tangents(context, inner, request.has_aux, args, kwargs)
        case Jet():
            return taylor_requests.jet(context, inner, args, kwargs)
        case Linearize() as request:
            return linear_requests.linearized(context, inner, request, args, kwargs)
        case Vjp() as request:
            return two_sweeps.forward(context, inner, request, args, kwargs)
        case Implicit() as request:
            options = {name: outside_objects.object_value(context, each, None) for name, each in request.options}
            return dispatch.call(context, Static(KINDS[request.kind]), (inner, *args), kwargs | options)
        case Vmap() as request:
            return vmap_requests.call_of_lanes(context, inner, request, args, kwargs)
        case Accumulate() as request:
            return accumulate_requests.call_of_parts(context, inner, request, args, kwargs)
        case Checkpoint():
            return _call_of_checkpointed(context, inner, args, kwargs)
    raise context.refusal(f"the transform {type(function.request).__name__} is not compiled")


def _call_of_checkpointed(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """A call of a checkpointed function, which stays a function of its own until all derivatives are made."""
    outlined = outline.outline(context, function, args, kwargs)
    if not outlined.is_new:
        name = outline.name_of_value(function)
        message = f"{name} is checkpointed, and returns one of its arguments, a view of one, or one array twice"
        location = context.returned.get(name, context.location)
        raise UnsupportedSyntaxError(message, location, "return a copy: x.copy()")
    outlined.callee.attributes[CHECKPOINT] = UnitAttr()
    outputs = outlined.callee.function_type.outputs.data
    call = insert(func.CallOp(outlined.callee.sym_name.data, outlined.operands, outputs))
    return plain_results.rebuilt(context, outlined.result, outline.results_of(context, outlined, call.results))


@interprets(stop_gradient)
def call_stop_gradient(context: Context, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    (x,) = (*args, *kwargs.values())

    def stopped(leaf: Value) -> Value:
        leaf = context.use(leaf)
        if not isinstance(leaf, Ref | Traced):
            return leaf
        contents = value_trees.contents(context, leaf)
        return value_trees.copy_of(context, leaf, emit(StopOp, contents) if leaf.dtype.kind in "fc" else contents)

    return value_trees.mapped(context, x, stopped)
