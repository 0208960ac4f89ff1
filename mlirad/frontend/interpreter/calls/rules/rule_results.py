"""The arguments and results of a derivative rule's functions: primals, residuals, tangents and cotangents.

Reads: values. Writes: ops. Leaves: one Expr for each leaf. A result with another structure, shape or dtype is refused
where the rule returns it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.plain_results import MadeObject
from mlirad.frontend.interpreter.calls.transforms.active_leaves import has_derivative
from mlirad.frontend.interpreter.calls.transforms.derivative_requests import converted
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values import nep50
from mlirad.frontend.values.sizes import filled, is_static
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Ref, Static, Tuple, Value, kind_of


def refused(context: Context, rule: str, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a rule's result where the rule returns it."""
    raise DifferentiationError(f"{rule} {message}", context.returned.get(rule, context.location), hint)


def pair_from(context: Context, rule: str, value: Value, what: str) -> tuple[Value, Value]:
    """The two items that a rule returns."""
    value = context.use(value)
    if not isinstance(value, Tuple) or len(value.items) != 2:
        refused(context, rule, f"returns {kind_of(value)} instead of a pair", f"return {what}")
    return value.items[0], value.items[1]


# Arguments of a rule.


def zero_of(context: Context, leaf: Value) -> Value:
    """The tangent of a leaf without a derivative: 0 for a number, zeros for an array, otherwise None."""
    if isinstance(leaf, Ref) and leaf.shape:
        return context.new_array(filled(0, leaf.shape, types.from_dtype(leaf.dtype)))
    is_number = isinstance(leaf, Static) and isinstance(leaf.value, int | float | np.number)
    return Static(0.0 if is_number or isinstance(leaf, Ref | Traced) else None)


def tangent_like(context: Context, primal: Value, tangents: Iterator[Expr]) -> Value:
    """The tangent of an argument: from `tangents` for its floats, zero for everything else."""

    def of_leaf(leaf: Value) -> Value:
        return value_trees.like(context, leaf, next(tangents)) if has_derivative(leaf) else zero_of(context, leaf)

    return value_trees.mapped(context, primal, of_leaf)


def cotangent_like(context: Context, result: Any, cotangents: Iterator[Expr]) -> Value:
    """The cotangent of a plain result: from `cotangents` for its floats, zero for everything else."""
    if isinstance(result, MadeObject | Tuple):
        items = tuple(cotangent_like(context, item, cotangents) for item in result.items)
        if isinstance(result, Tuple):
            return Tuple(items, result.kind)
        return context.new_object(Entry(result.kind, result.keys, items))
    if has_derivative(result):
        return plain_results.cotangents(context, result, cotangents)
    return Static(None) if isinstance(result, Ref) and not is_static(result.shape) else zero_of(context, result)


# Results of a rule.


def results_like(context: Context, rule: str, value: Value, result: Any) -> Iterator[Expr]:
    """The leaves of a value that must have the structure, shapes and dtypes of the function's own result."""
    yield from _leaves_like(context, rule, value, result, "the function returns", only_floats=False)


def tangents_like(context: Context, rule: str, value: Value, result: Any) -> Iterator[Expr]:
    """The tangents of the float leaves of a plain result."""
    yield from _leaves_like(context, rule, value, result, "the function returns", only_floats=True)


def cotangents_like(context: Context, rule: str, value: Value, argument: Any, number: int) -> Iterator[Expr]:
    """The cotangents of the float leaves in a plain argument."""
    yield from _leaves_like(context, rule, value, argument, f"its argument {number} is", only_floats=True)


def plain_argument(context: Context, argument: Value) -> Any:
    """The structure of an argument. A rule may have renumbered its containers, so their numbers do not count."""
    return plain_results.plain_result(context, value_trees.mapped(context, argument, _as_leaf))


def _as_leaf(leaf: Value) -> Value:
    return leaf if isinstance(leaf, Ref | Traced | Static) else Static(None)


def _leaves_like(context: Context, rule: str, value: Value, like: Any, other: str, only_floats: bool) -> Iterator[Expr]:
    value = context.use(value)
    is_none = isinstance(value, Static) and value.value is None
    if isinstance(like, MadeObject | Tuple):
        items = (None,) * len(like.items) if is_none and only_floats else _items(context, value, like)
        if items is None:
            refused(context, rule, f"returns {kind_of(value)} where {other} {_kind_of_plain(like)}")
        for item, its in zip(items, like.items, strict=True):
            yield from _leaves_like(context, rule, Static(None) if item is None else item, its, other, only_floats)
        return
    if not isinstance(like, Ref | Traced) or (only_floats and not has_derivative(like)):
        return
    if is_none and only_floats:
        yield _zeros(like)
        return
    if not isinstance(value, Ref | Traced) and not _is_number(value):
        refused(context, rule, f"returns {kind_of(value)} where {other} {kind_of(like)}")
    _require_dtype(context, rule, value, like, other)
    if len(shape := value.shape if isinstance(value, Ref) else ()) != len(like.shape) or (
        is_static(shape) and is_static(like.shape) and tuple(shape) != tuple(like.shape)
    ):
        refused(context, rule, f"returns {kind_of(value)} where {other} {kind_of(like)}")
    location, context.location = context.location, context.returned.get(rule, context.location)
    found = converted(context, value, like)
    context.location = location
    yield found


def _items(context: Context, value: Value, like: MadeObject | Tuple) -> tuple[Value, ...] | None:
    """The items of a value with the same structure; None if the structure differs. A list may replace a tuple."""
    if isinstance(value, Tuple):
        is_same = isinstance(like, Tuple) or like.kind is list
        return value.items if is_same and len(value.items) == len(like.items) else None
    if not isinstance(value, Object):
        return None
    entry = storage.entry_of(context, value)
    if isinstance(like, Tuple):
        return entry.items if entry.kind is list and len(entry.items) == len(like.items) else None
    if entry.kind is not like.kind or set(entry.keys) != set(like.keys):
        return None
    named = dict(zip(entry.keys, entry.items, strict=True))
    return tuple(named[key] for key in like.keys)


def _is_number(value: Value) -> bool:
    return isinstance(value, Static) and isinstance(value.value, int | float | np.number | np.bool_)


def _kind_of_plain(like: MadeObject | Tuple) -> str:
    kind = like.kind.__name__
    return f"a {kind} of {len(like.items)}"


def _require_dtype(context: Context, rule: str, value: Value, like: Ref | Traced, other: str) -> None:
    """Whether dtypes match: a Python number may replace a float; anything else needs the same dtype."""
    if isinstance(value, Traced) and value.weak and nep50.may_cast(value.dtype, like.dtype, "same_kind"):
        return
    if isinstance(value, Static):
        given = value.value
        if not isinstance(given, np.generic) or given.dtype == like.dtype:
            return
        dtype = given.dtype
    else:
        assert isinstance(value, Ref | Traced)
        dtype = value.dtype
    if dtype != like.dtype:
        hint = f"return it .astype(np.{like.dtype})" if isinstance(value, Ref) else f"return np.{like.dtype}(it)"
        refused(context, rule, f"returns {dtype} where {other} {like.dtype}", hint)


def _zeros(like: Ref | Traced) -> Expr:
    element = types.from_dtype(like.dtype)
    if isinstance(like, Traced):
        return constant(0, element)
    return filled(0, like.shape, element) if like.shape else constant(0, types.tensor((), element))
