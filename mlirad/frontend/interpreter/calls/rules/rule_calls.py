"""Calls of functions with derivative rules of their own: `mlirad.custom_vjp` and `mlirad.custom_jvp`.

Reads: an OwnRule and the arguments of a call. Writes: private func.funcs for the function and its rule, which its
attributes name (`analysis/rule_attributes.py`), and func.call. Leaves: the result of the call.

Calls with similar arguments share one interpretation of the function. The functions of its rule are interpreted
immediately, so errors in a rule are reported whether it is used or not; but not a library function's rule, if nothing
is differentiated. Inside its own rule the function is called by name.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from xdsl.dialects import func
from xdsl.ir import SSAValue

from mlirad.analysis.call_graph import calls_in
from mlirad.analysis.rule_attributes import NamedRule, set_own_rule
from mlirad.contract.captures import CAPTURE, Path
from mlirad.dialect.core.expr import Expr, insert
from mlirad.errors import DifferentiationError, DTypeError
from mlirad.frontend.interpreter import dispatch, outside_objects, storage
from mlirad.frontend.interpreter.calls import inlining
from mlirad.frontend.interpreter.calls.outlining import plain_results, value_trees
from mlirad.frontend.interpreter.calls.rules.apart import (
    copies_of,
    function_apart,
    inputs_first,
    require_unwritten,
)
from mlirad.frontend.interpreter.calls.rules.rule_results import (
    cotangent_like,
    cotangents_like,
    pair_from,
    plain_argument,
    refused,
    results_like,
    tangent_like,
    tangents_like,
)
from mlirad.frontend.interpreter.calls.transforms.active_leaves import has_derivative, require_no_list
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.steering import Bottom, Restart
from mlirad.frontend.values.descriptions import describe
from mlirad.frontend.values.numpy_strides import strides_of_all
from mlirad.frontend.values.sizes import Dim
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Object, Ref, Static, Tuple, Value, kind_of
from mlirad.library.own_rules import CustomJvp, CustomVjp, OwnRule
from mlirad.requests.python_functions import name_of

DEEPEST = 20
"""How deep the rules of one function may lead to calls of it with ever new arguments."""


@dataclass(eq=False)
class Ruled:
    """A function with its rule. result: the plain result. captured: what it takes besides its arguments: values, or
    names of captured arrays. is_made: whether its rule has been interpreted."""

    rule: OwnRule
    function: func.FuncOp
    result: Any
    captured: list[SSAValue | str] = field(default_factory=list)
    is_made: bool = False


def call_of_rule(
    context: Context, rule: OwnRule, path: Path | None, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """The value of a call of a function with a rule."""
    if not rule.rules:
        hint = f"call {name_of(rule)}.{rule.definer}(...) first"
        raise context.refusal(f"{name_of(rule)} is a {rule.decorator} without a rule", hint)
    place = path or Path(rule, "")
    outside_objects.guard_keys(context, rule.rules, place.then("attribute", "rules"))
    for number, each in enumerate(rule.rules):
        outside_objects.guard(context, place.then("attribute", "rules").then("item", number), each)
    if isinstance(rule, CustomJvp):
        outside_objects.guard(context, place.then("attribute", "is_by_argument"), rule.is_by_argument)
    args = _positional(context, rule, args, kwargs)
    leaves = [leaf for arg in args for leaf in value_trees.leaves_of(context, arg)]
    traced = [leaf for leaf in leaves if isinstance(leaf, Ref | Traced)]
    operands = [value_trees.contents(context, leaf) for leaf in traced]
    key = rule, tuple(_described(context, arg) for arg in args)
    known = context.calling.ruled.get(key)
    if known is None or not any(each is known.function for each in context.functions):
        known = _made(context, key, rule, place, args, [operand.type for operand in operands])
    captured = [_captured_now(context, each) for each in known.captured]
    values = [*(operand.value for operand in operands), *captured]
    op = insert(func.CallOp(known.function.sym_name.data, values, known.function.function_type.outputs.data))
    return plain_results.rebuilt(context, known.result, iter(map(Expr, op.results)))


def _positional(context: Context, rule: OwnRule, args: Sequence[Value], kwargs: dict[str, Value]) -> list[Value]:
    """All arguments, by position."""
    function, found = rule.function, list(args)
    if not isinstance(function, FunctionType):
        if kwargs:
            raise context.refusal(f"{name_of(rule)} is called with keywords", "pass the arguments by position")
        return found
    code, name = function.__code__, name_of(rule)
    if code.co_kwonlyargcount:
        raise context.refusal(
            f"{name} has a derivative rule, and keyword-only arguments", "let it take them by position too"
        )
    given = dict(kwargs)
    for parameter in code.co_varnames[len(args) : code.co_argcount]:
        value = given.pop(parameter) if parameter in given else inlining.default(context, function, parameter)
        if value is None:
            raise DTypeError(f"{name}() is missing the argument {parameter!r}", context.location)
        found.append(value)
    if given:
        raise DTypeError(f"{name}() got an unexpected keyword argument {next(iter(given))!r}", context.location)
    return found


# One function for similar calls.


def _described(context: Context, value: Value) -> Hashable:
    """The key that two calls of the same function share."""
    value = context.use(value)
    if isinstance(value, Tuple):
        return value.kind, tuple(_described(context, item) for item in value.items)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        return entry.kind, entry.keys, tuple(_described(context, item) for item in entry.items)
    if isinstance(value, Ref):
        return "array", _known(value.shape), value.dtype, _known(strides_of_all(value) or ())
    if isinstance(value, Traced):
        return describe(value, lambda ssa: str(ssa.type))
    return describe(value, lambda ssa: ssa)


def _known(sizes: Sequence[Any]) -> Hashable:
    """The shape as a key: run-time sizes are equal if they are the same value."""
    return tuple(size.expr.value if isinstance(size, Dim) else size for size in sizes)


def _captured_now(context: Context, captured: SSAValue | str) -> SSAValue:
    """A value that a function takes from outside, at this call."""
    if isinstance(captured, SSAValue):
        return captured
    context.captures_used.add(captured)
    array = context.state.frames[0][captured]
    assert isinstance(array, Ref)
    return value_trees.contents(context, array).value


def _named(context: Context, captured: SSAValue) -> SSAValue | str:
    """The name of the captured array that a value is at present; otherwise the value itself."""
    for name, value in context.state.frames.get(0, {}).items():
        if name.startswith(CAPTURE) and isinstance(value, Ref):
            if context.state.store[value.alternatives[0].cell].value is captured:
                return name
    return captured


# Making it.


def _made(
    context: Context, key: Hashable, rule: OwnRule, place: Path, args: Sequence[Value], given: Sequence[Any]
) -> Ruled:
    """Interpret a function and its rule."""
    ruled = context.calling.ruled
    name = name_of(rule)
    if sum(each.rule is rule and not each.is_made for each in ruled.values()) >= DEEPEST:
        raise context.refusal(f"the rule of {name} calls it again and again, each time with other arguments")
    maker = _Maker(context, rule, place, args, given)
    result, function, captured = maker.primal()
    extra = context.findings.captured_by_rules.setdefault(id(rule), {})
    names = list(dict.fromkeys([*(_named(context, each) for each in captured), *extra]))
    made = Ruled(rule, function, result, names)
    before = ruled.get(key)
    ruled[key] = made
    try:
        parts = maker.parts(result)
    except BaseException:
        del ruled[key]
        raise
    more = [_named(context, each) for _, own in parts for each in own]
    new = [each for each in dict.fromkeys(more) if each not in names]
    owners = [each for each, _ in parts]
    if new and any(each not in owners for each in _callers(context, function)):
        # Calls of it were built without these values, and their callers do not know them.
        extra.update({each: None for each in new if isinstance(each, str)})
        if all(isinstance(each, str) for each in new):
            raise Restart(f"the rule of {name} uses arrays that {name} does not")
        raise context.refusal(f"the rule of {name} takes a value from outside", "pass it as an argument")
    made.captured = [*names, *new]
    values = [_captured_now(context, each) for each in made.captured]
    for each, own in ((function, captured), *parts):
        inputs_first(each, own, values, len(given))
    for each in owners:
        _pass_on(each, function, len(given), len(values))
    symbols = [each.sym_name.data for each, _ in parts]
    if symbols:
        set_own_rule(function, NamedRule(maker.wrt, *symbols) if len(symbols) == 2 else _of_tangent(maker, symbols))
    made.is_made = True
    if not all(isinstance(each, str) for each in made.captured):
        del ruled[key]
        if before is not None:
            ruled[key] = before
    return made


def _callers(context: Context, function: func.FuncOp) -> list[func.FuncOp]:
    """The functions that call this one in the IR."""
    name = function.sym_name.data
    return [each for each in context.functions if any(call.callee.string_value() == name for call in calls_in(each))]


def _pass_on(caller: func.FuncOp, function: func.FuncOp, first: int, count: int) -> None:
    """Let calls of a function, in its rule, pass on what both take from outside: `count` values from `first`."""
    given = caller.body.block.args[first : first + count]
    for call in calls_in(caller):
        if call.callee.string_value() == function.sym_name.data:
            call.operands = [*call.operands[:first], *given]


def _of_tangent(maker: _Maker, symbols: Sequence[str]) -> NamedRule:
    return NamedRule(maker.wrt, tangent=symbols[0])


Part = tuple[func.FuncOp, list[SSAValue]]


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes the functions of one rule, for arguments like these. given: the types of their traced parts."""

    context: Context
    rule: OwnRule
    place: Path
    args: Sequence[Value]
    given: Sequence[Any]

    @property
    def wrt(self) -> tuple[int, ...]:
        """The numbers of the differentiated arrays and numbers in the arguments."""
        found: list[int] = []
        count = 0
        for position, arg in enumerate(self.args):
            for leaf in value_trees.leaves_of(self.context, arg):
                if isinstance(leaf, Ref | Traced):
                    if position not in self.rule.nondiff_argnums and has_derivative(leaf):
                        found.append(count)
                    count += 1
        return tuple(found)

    @property
    def _differentiated(self) -> list[int]:
        return [number for number in range(len(self.args)) if number not in self.rule.nondiff_argnums]

    def _function(self, number: int) -> Value:
        """A function of the rule."""
        place = self.place.then("attribute", "rules").then("item", number)
        return outside_objects.object_value(self.context, self.rule.rules[number], place)

    def _call(self, function: Value, args: Sequence[Value], name: str) -> Value:
        try:
            return dispatch.call(self.context, function, args, {})
        except Bottom:
            refused(self.context, name, "belongs to a derivative rule, and always raises")

    def _floats(self, result: Any) -> list[Any]:
        """The types of the leaves of a plain result that have derivatives."""
        leaves = plain_results.result_leaves(self.context, result)
        return [value_trees.contents_type(leaf) for leaf in leaves if has_derivative(leaf)]

    def primal(self) -> tuple[Any, func.FuncOp, list[SSAValue]]:
        """The function itself: its plain result, and its captured values."""
        context, name = self.context, name_of(self.rule)
        function = outside_objects.object_value(context, self.rule.function, self.place.then("attribute", "function"))
        results: list[Any] = []

        def body(exprs: list[Expr]) -> list[Expr]:
            copies = copies_of(context, self.args, iter(exprs))
            results.append(plain_results.plain_result(context, dispatch.call(context, function, copies.values, {})))
            require_unwritten(context, copies, name)
            plain_results.require_sizes(context, results[0], name)
            require_no_list(context, results[0], name)
            return [value_trees.contents(context, leaf) for leaf in plain_results.result_leaves(context, results[0])]

        try:
            made, captured = function_apart(context, self.rule, self.given, body, frozenset({id(self.rule.function)}))
        except Bottom:  # its errors are raised here
            dispatch.call(context, function, self.args, {})
            raise
        return results[0], made, captured

    def parts(self, result: Any) -> list[Part]:
        """The functions of the rule; none, if it can be omitted."""
        if not (self.rule.is_tried or self.context.findings.differentiates):
            self.context.calling.has_omitted_rules = True
            return []
        return self.vjp(result) if isinstance(self.rule, CustomVjp) else self.jvp(result)

    def vjp(self, result: Any) -> list[Part]:
        """The functions `forward` and `pullback`."""
        context, count = self.context, len(self.given)
        forward, backward = (name_of(each) for each in self.rule.rules)
        residuals: list[Any] = []

        def of_forward(exprs: list[Expr]) -> list[Expr]:
            copies = copies_of(context, self.args, iter(exprs))
            value = self._call(self._function(0), copies.values, forward)
            out, kept = pair_from(context, forward, value, "the result and the residuals")
            results = list(results_like(context, forward, out, result))
            residuals.append(plain_results.plain_result(context, kept))
            require_unwritten(context, copies, forward)
            plain_results.require_sizes(context, residuals[0], forward)
            return [
                *results,
                *(value_trees.contents(context, x) for x in plain_results.result_leaves(context, residuals[0])),
            ]

        made = function_apart(context, self.rule.rules[0], self.given, of_forward)
        of_residuals = [value_trees.contents_type(leaf) for leaf in plain_results.result_leaves(context, residuals[0])]

        def of_backward(exprs: list[Expr]) -> list[Expr]:
            copies = copies_of(context, self.args, iter(exprs[:count]))
            rest = iter(exprs[count:])
            kept = plain_results.rebuilt(context, residuals[0], rest)
            fixed = [copies.values[number] for number in self.rule.nondiff_argnums]
            likes = [plain_argument(context, copies.values[number]) for number in self._differentiated]
            value = self._call(self._function(1), [*fixed, kept, cotangent_like(context, result, rest)], backward)
            return list(self._cotangents(backward, value, likes))

        given = [*self.given, *of_residuals, *self._floats(result)]
        return [made, function_apart(context, self.rule.rules[1], given, of_backward)]

    def _cotangents(self, name: str, value: Value, likes: Sequence[Any]) -> Iterator[Expr]:
        """The leaves that a rule returns for each differentiated argument, whose plain structure it must match."""
        context, numbers = self.context, self._differentiated
        value = context.use(value)
        items = value.items if isinstance(value, Tuple) else None
        if isinstance(value, Object) and storage.entry_of(context, value).kind is list:
            items = storage.entry_of(context, value).items
        if items is None or len(items) != len(numbers):
            example = f"({', '.join(f'g{number}' for number in numbers)}{',' * (len(numbers) == 1)})"
            hint = f"return a tuple with a cotangent of each argument, None for zeros: return {example}"
            arguments = "1 argument" if len(numbers) == 1 else f"{len(numbers)} arguments"
            refused(context, name, f"returns {kind_of(value)} for {arguments}", hint)
        for number, item, like in zip(numbers, items, likes, strict=True):
            yield from cotangents_like(context, name, item, like, number)

    def jvp(self, result: Any) -> list[Part]:
        """The function `tangent` of the rule."""
        context, count = self.context, len(self.given)
        is_by_argument = isinstance(self.rule, CustomJvp) and self.rule.is_by_argument
        function = next((each for each in self.rule.rules if each is not None), self.rule)
        name = name_of(function)

        def body(exprs: list[Expr]) -> list[Expr]:
            copies = copies_of(context, self.args, iter(exprs[:count]))
            rest = iter(exprs[count:])
            fixed = [copies.values[number] for number in self.rule.nondiff_argnums]
            primals = tuple(copies.values[number] for number in self._differentiated)
            tangents = tuple(tangent_like(context, each, rest) for each in primals)
            if is_by_argument:
                out, tangent = self._sum_of_tangents(primals, tangents)
            else:
                value = self._call(self._function(0), [*fixed, Tuple(primals), Tuple(tangents)], name)
                out, tangent = pair_from(context, name, value, "the result and its tangent")
            results = list(results_like(context, name, out, result))
            along = list(tangents_like(context, name, tangent, result))
            require_unwritten(context, copies, name)
            return [*results, *along]

        given = [*self.given, *(self.given[number] for number in self.wrt)]
        return [function_apart(context, function, given, body)]

    def _sum_of_tangents(self, primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
        """The result and tangent from one rule for each argument: the tangents' contributions are added."""
        context = self.context
        out = dispatch.call(context, Static(self.rule, self.place), primals, {})
        total: Value = Static(None)
        if len(tangents) != len(self.rule.rules):
            message = f"{name_of(self.rule)} has {len(self.rule.rules)} rules for {len(tangents)} arguments"
            raise DifferentiationError(message, context.location, "give defjvps a rule, or None, for each argument")
        for number, (rule, tangent) in enumerate(zip(self.rule.rules, tangents, strict=True)):
            if rule is not None:
                term = self._call(self._function(number), [tangent, out, *primals], name_of(rule))
                is_first = isinstance(total, Static)
                total = term if is_first else dispatch.call(context, Static(operator.add), [total, term], {})
        return out, total
