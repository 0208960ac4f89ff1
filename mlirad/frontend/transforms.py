"""Transforms of functions: requests for derivatives, which the differentiator expands later.

Reads: Request descriptors and values. Writes: ad.vjp, ad.jvp, ad.forward, ad.pullback. Leaves: values.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects import func

from mlirad.dialect import types
from mlirad.dialect.check import check
from mlirad.dialect.expr import Expr, constant, insert
from mlirad.dialect.request import ForwardOp, JvpOp, PullbackOp, RequestOp, VjpOp
from mlirad.errors import DifferentiationError, DTypeError, ShapeError
from mlirad.frontend.assignment import assignable
from mlirad.frontend.calls import Calls
from mlirad.frontend.grown_lists import buffers_of, list_in_arrays
from mlirad.frontend.merge import kind_of
from mlirad.frontend.outline import InArrays, Made, Outlined, Outlining, name_of_value
from mlirad.frontend.sizes import filled, pattern, shape_of
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Entry, Object, Pullback, Ref, Static, Transformed, Tuple, Value
from mlirad.requests import Grad, Jvp, Vjp


@dataclass(frozen=True, eq=False)
class PulledBack:
    """What a pullback needs to know besides its residuals: the callee, and the primals' structure.

    result, leaves: the part of the callee's result that has cotangents (not the aux), and its leaves. primals: plain.
    """

    outlined: Outlined
    result: Any
    leaves: tuple[Ref | Traced, ...]
    wrt: tuple[int, ...]
    outs: tuple[int, ...]
    primals: Any


class Transforms(Outlining, Calls):
    """`call_transformed` and `call_pullback`."""

    def make_transformed(self, transform: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """`mlirad.grad(h, ...)` and its like inside a function: `transform` is the class of request, or makes one."""
        if not args:
            raise DTypeError("a transform needs the function that it transforms", self.location)
        if transform is Vjp:
            has_aux = self.static(kwargs.pop("has_aux", Static(False)), "the option has_aux=")
            return self.call(Transformed(args[0], Vjp(None, has_aux)), args[1:], kwargs)
        if transform is Jvp:
            return self.call(Transformed(args[0], Jvp(None)), args[1:], kwargs)
        options = {name: self.static(value, f"the option {name}=") for name, value in kwargs.items()}
        if "grad_position" in options:
            options["argnums"] = options.pop("grad_position")
        positional = [self.static(value, "an option of a transform") for value in args[1:]]
        return Transformed(args[0], transform(None, *positional, **options))

    def call_transformed(self, function: Transformed, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        match function.request:
            case Grad():
                return self.gradient(function.function, function.request, args, kwargs)
            case Jvp():
                return self.tangents(function.function, args, kwargs)
            case Vjp():
                return self.forward(function.function, function.request, args, kwargs)
        raise self.refusal(f"the transform {type(function.request).__name__} is not compiled")

    # Which leaves are differentiated.

    def differentiable(self, leaf: Value, what: str) -> Value:
        """A leaf that has a derivative. Raises DifferentiationError for one that has none."""
        leaf = self.as_number(self.use(leaf))
        if isinstance(leaf, Ref | Traced) and leaf.dtype.kind == "f":
            return leaf
        dtype = f"of dtype {leaf.dtype}" if isinstance(leaf, Ref | Traced) else kind_of(leaf)
        hint = "leave it out of argnums= if it is a count, an index or a shape; if it is a quantity, pass "
        if not isinstance(leaf, Ref | Traced):
            hint = "differentiate with respect to the other arguments (argnums=), or close over this one"
        else:
            hint += "x.astype(float)" if leaf.shape else "a float: 3.0 for 3"
        raise DifferentiationError(f"{what} is {dtype}, and only floats have derivatives", self.location, hint)

    def activated(self, value: Value, what: str) -> Value:
        return self.mapped(value, lambda leaf: self.differentiable(leaf, what), self.owner_of_copy)

    def active_where_possible(self, value: Value) -> Value:
        """A primal of jvp or vjp: what has no derivative in it stays as it is."""

        def active(leaf: Value) -> Value:
            number = self.as_number(self.use(leaf))
            return number if has_derivative(number) else leaf

        return self.mapped(value, active, self.owner_of_copy)

    @staticmethod
    def active_numbers(outlined: Outlined, leaves: Sequence[Value]) -> tuple[int, ...]:
        """The callee's arguments that the leaves of the primals are, where these have derivatives."""
        pairs = zip(outlined.inputs, leaves, strict=True)
        return tuple(number for number, leaf in pairs if number is not None and has_derivative(leaf))

    def require_active(self, wrt: Sequence[int], primals: Sequence[Value], name: str) -> None:
        """Some primal has a derivative: it is a mistake if none has."""
        if not wrt and primals:
            raise DifferentiationError(
                f"no argument of {name} is of floats, and only floats have derivatives", self.location, "pass 3.0 for 3"
            )

    def require_no_tangent(self, tangent: Value, leaf: Value) -> None:
        """The tangent of what has no derivative is None, or 0 of a number."""
        tangent = self.use(tangent)
        if isinstance(tangent, Static) and (tangent.value is None or is_zero(tangent.value)):
            return
        message = f"the tangent of {kind_of(leaf)}, which has no derivative, is None"
        if not isinstance(tangent, Traced):
            raise DTypeError(message, self.location)
        check(tangent.scalar == 0, "ValueError", message)

    @staticmethod
    def numbers_of(outlined: Outlined, counts: Sequence[int], chosen: Sequence[int]) -> list[int]:
        """The callee's arguments that the leaves of the chosen arguments are. counts: how many leaves each has."""
        starts = [0]
        for count in counts:
            starts.append(starts[-1] + count)
        leaves = [leaf for number in chosen for leaf in range(starts[number], starts[number + 1])]
        return [number for leaf in leaves if (number := outlined.inputs[leaf]) is not None]

    def request(
        self,
        kind: type[RequestOp],
        outlined: Outlined,
        others: Sequence[Expr],
        wrt: Sequence[int],
        outs: Sequence[int],
    ) -> Iterator[Expr]:
        op = kind.of(outlined.callee, outlined.operands, [other.value for other in others], tuple(wrt), tuple(outs))
        return self.results_of(outlined, insert(op).results)

    # Gradients.

    def gradient(self, function: Value, request: Grad, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        name = name_of_value(function)
        chosen = self.chosen_arguments(request, len(args), name)
        callers = args
        args = [
            self.activated(arg, f"argument {number} of {name}") if number in chosen else arg
            for number, arg in enumerate(args)
        ]
        wanted = [self.plain_result(args[number]) for number in chosen]
        counts = [sum(1 for _ in self.leaves(arg)) for arg in args]
        outlined = self.outline(function, args, kwargs, callers)
        value, aux = self.value_and_aux(outlined, request, name)
        wrt = self.numbers_of(outlined, counts, chosen)
        if isinstance(value, Static):
            return self.constant_gradient(outlined, request, wanted)
        seed = constant(1, outlined.callee.function_type.outputs.data[0])
        results = self.request(VjpOp, outlined, [seed], wrt, [0])
        out = self.rebuilt(value, results)
        rest = self.rebuilt(aux, results) if aux is not None else None
        gradients = [self.cotangents(each, results) for each in wanted]
        return self.arranged(request, out, rest, gradients)

    @staticmethod
    def arranged(request: Grad, out: Value, aux: Value | None, gradients: Sequence[Value]) -> Value:
        """What grad and value_and_grad return."""
        found: Value = gradients[0] if isinstance(request.argnums, int) else Tuple(tuple(gradients))
        if request.with_value:
            return Tuple((out if aux is None else Tuple((out, aux)), found))
        return found if aux is None else Tuple((found, aux))

    def chosen_arguments(self, request: Grad, count: int, name: str) -> list[int]:
        numbers = (request.argnums,) if isinstance(request.argnums, int) else tuple(request.argnums)
        if any(not -count <= operator.index(number) < count for number in numbers):
            hint = "argnums counts the arguments that are passed by position"
            message = f"argnums={request.argnums} of {name}, which is called with {count} arguments"
            raise DifferentiationError(message, self.location, hint)
        return [number % count for number in numbers]

    def value_and_aux(self, outlined: Outlined, request: Grad, name: str) -> tuple[Any, Any]:
        """The differentiated value of the callee's result, and what comes with it."""
        result = outlined.result
        value, aux = result, None
        location = self.returned.get(name, self.location)
        if request.has_aux:
            value, aux = self.require_pair(outlined, name)
        scalar = isinstance(value, Ref | Traced) and value.shape == () and value.dtype.kind == "f"
        if scalar or (isinstance(value, Static) and isinstance(value.value, float)):
            return value, aux
        if isinstance(value, Ref) and value.shape:
            message = f"the gradient of {name} needs a scalar, and it returns {kind_of(value)}"
            hint = "return a sum, or give mlirad.vjp a cotangent"
        elif isinstance(value, Ref | Traced | Static):
            message, hint = f"{name} returns {kind_of(value)}, which has no gradient", "return a float"
        else:
            message, hint = f"the gradient of {name} needs a scalar, and it returns several values", "use has_aux=True"
        raise DifferentiationError(message, location, hint)

    def require_pair(self, outlined: Outlined, name: str) -> tuple[Any, Any]:
        """What a function with has_aux=True returns: (value, aux)."""
        result = outlined.result
        if not isinstance(result, Tuple) or len(result.items) != 2:
            location, hint = self.returned.get(name, self.location), "return value, aux"
            raise DifferentiationError(f"{name} with has_aux=True returns no pair", location, hint)
        return result.items[0], result.items[1]

    def constant_gradient(self, outlined: Outlined, request: Grad, wanted: Sequence[Any]) -> Value:
        """The gradient of a function that returns a number known at compile time: zeros."""
        outputs = outlined.callee.function_type.outputs.data
        op = insert(func.CallOp(outlined.callee.sym_name.data, outlined.operands, outputs))
        result = self.rebuilt(outlined.result, self.results_of(outlined, op.results))
        out, aux = result.items if request.has_aux and isinstance(result, Tuple) else (result, None)

        def zero(leaf: Ref | Traced) -> Expr:
            element = types.from_dtype(leaf.dtype)
            return constant(0, element) if isinstance(leaf, Traced) else filled(0, leaf.shape, element)

        gradients = [self.cotangents(each, map(zero, self.result_leaves(each))) for each in wanted]
        return self.arranged(request, out, aux, gradients)

    # Forward mode.

    def tangents(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """`jvp(f, primals, tangents)` -> out, its tangent."""
        name = name_of_value(function)
        named = dict(zip(("primals", "tangents"), args, strict=False)) | kwargs
        if set(named) != {"primals", "tangents"} or len(args) > 2:
            raise DTypeError("jvp takes a function, a tuple of primals, and a tuple of tangents", self.location)
        callers = self.elements(named["primals"])
        primals = tuple(self.active_where_possible(x) for x in callers)
        given = [leaf for x in self.elements(named["tangents"]) for leaf in self.leaves(x)]
        leaves = [leaf for primal in primals for leaf in self.leaves(primal)]
        if len(given) != len(leaves):
            raise ShapeError(f"jvp of {name}: {len(leaves)} primals and {len(given)} tangents", self.location)
        pairs = list(zip(given, leaves, strict=True))
        others = [self.converted(tangent, leaf) for tangent, leaf in pairs if has_derivative(leaf)]
        for tangent, leaf in pairs:
            if not has_derivative(leaf):
                self.require_no_tangent(tangent, leaf)
        outlined = self.outline(function, primals, {}, callers)
        wrt = self.active_numbers(outlined, leaves)
        self.require_active(wrt, primals, name)
        outs = [k for k, leaf in enumerate(outlined.leaves) if leaf.dtype.kind == "f"]
        results = self.request(JvpOp, outlined, others, wrt, outs)
        out = self.rebuilt(outlined.result, results)
        return Tuple((out, self.tangent_of(outlined.result, out, results)))

    def tangent_of(self, result: Any, out: Value, tangents: Iterator[Expr]) -> Value:
        """The tangent of a plain result, which is `out` here: of floats from `tangents`, of everything else zero."""
        if isinstance(result, Made | Tuple):
            values = out.items if isinstance(out, Tuple) else self.as_is(out).items  # type: ignore[arg-type]
            pairs = zip(result.items, values, strict=True)
            items = tuple(self.tangent_of(part, value, tangents) for part, value in pairs)
            if isinstance(result, Tuple):
                return Tuple(items, result.kind)
            return self.new_object(Entry(result.kind, result.keys, items))
        if isinstance(result, InArrays):
            assert isinstance(out, Object)
            entry = self.as_is(out)
            arrays = [
                next(tangents) if part.dtype.kind == "f" else filled(0, shape_of(array), array.element)
                for part, array in zip(result.parts[1:], buffers_of(entry), strict=True)
                if isinstance(part, Traced)
            ]
            return self.new_object(list_in_arrays(self.own(result.growth), entry.items[0], arrays))
        if isinstance(result, Static):
            return Static(0.0)
        element = types.from_dtype(result.dtype)
        if result.dtype.kind == "f":
            tangent = next(tangents)
        elif isinstance(result, Traced) or not result.shape:
            tangent = constant(0, element if isinstance(result, Traced) else types.tensor((), element))
        else:
            tangent = filled(0, result.shape, element)
        return self.rebuilt(result, iter([tangent]))

    def converted(self, value: Value, like: Value) -> Expr:
        """A tangent or cotangent, of the shape and dtype of `like`."""
        assert isinstance(like, Ref | Traced)
        operand = self.operand(value)
        if operand is None:
            hint = "pass zeros; None is the tangent of what has no derivative"
            raise DTypeError(f"a tangent or cotangent of {kind_of(like)} is None", self.location, hint)
        shape = operand.shape if isinstance(operand, Traced) else ()
        if pattern(shape) != pattern(like.shape):
            raise ShapeError(f"a tangent or cotangent of shape {shape} for shape {like.shape}", self.location)
        expr = assignable(operand, like.shape, like.dtype)
        return Traced(expr).contents if isinstance(like, Ref) else expr

    # Reverse mode in two steps.

    def forward(self, function: Value, request: Vjp, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """`vjp(f, *primals)` -> out, pullback, and aux if the function has it."""
        name = name_of_value(function)
        if kwargs:
            raise self.refusal(
                f"vjp of {name} with the keyword {next(iter(kwargs))!r}", "pass the arguments by position"
            )
        active = Tuple(tuple(self.active_where_possible(arg) for arg in args))
        inputs = list(self.leaves(active))
        primals = self.plain_result(self.mapped(active, lambda leaf: leaf if has_derivative(leaf) else Static(None)))
        outlined = self.outline(function, active.items, {}, args)
        wrt = self.active_numbers(outlined, inputs)
        self.require_active(wrt, active.items, name)
        result = self.require_pair(outlined, name)[0] if request.has_aux else outlined.result
        self.require_no_list(result, name)
        # The leaves of the value come before those of the aux.
        leaves = outlined.leaves[: sum(1 for _ in self.result_leaves(result))]
        outs = tuple(k for k, leaf in enumerate(leaves) if leaf.dtype.kind == "f")
        results = self.request(ForwardOp, outlined, [], wrt, outs)
        rebuilt = self.rebuilt(outlined.result, results)
        pullback = Pullback(next(results), PulledBack(outlined, result, leaves, wrt, outs, primals))
        if request.has_aux:
            assert isinstance(rebuilt, Tuple)
            return Tuple((rebuilt.items[0], pullback, rebuilt.items[1]))
        return Tuple((rebuilt, pullback))

    def require_no_list(self, result: Any, name: str) -> None:
        """A cotangent has the structure of the value, and a list that a loop fills has one in the run only."""
        if isinstance(result, InArrays):
            message = f"vjp of {name} needs a cotangent for each element of a list that a loop fills"
            hint = "return np.array(xs), or return the list as aux (has_aux=True)"
            raise DifferentiationError(message, self.returned.get(name, self.location), hint)
        for item in result.items if isinstance(result, Made | Tuple) else ():
            self.require_no_list(item, name)

    def call_pullback(self, function: Pullback, args: Sequence[Value]) -> Value:
        """The cotangents of the primals, for one cotangent of the structure of the function's result."""
        if len(args) != 1:
            raise DTypeError("a pullback takes one cotangent, of the structure of the result", self.location)
        request: PulledBack = function.request
        given, wanted = list(self.leaves(args[0])), list(self.result_leaves(request.result, with_static=True))
        if len(given) != len(wanted):
            message = f"a pullback of {len(wanted)} results is given {len(given)} cotangents"
            raise ShapeError(message, self.location)
        pairs = zip(given, wanted, strict=True)
        traced = [(cotangent, leaf) for cotangent, leaf in pairs if isinstance(leaf, Ref | Traced)]
        others = [self.converted(*traced[k]).value for k in request.outs]
        op = PullbackOp.of(request.outlined.callee, [function.residuals.value], others, request.wrt, request.outs)
        results = iter([Expr(result) for result in insert(op).results])
        return self.cotangents(request.primals, results)


def has_derivative(leaf: Value) -> TypeGuard[Ref | Traced]:
    return isinstance(leaf, Ref | Traced) and leaf.dtype.kind == "f"


def is_zero(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and value == 0
