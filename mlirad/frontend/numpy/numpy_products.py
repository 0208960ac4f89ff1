"""Products that sum over axes: dot, matmul, inner, outer, vdot, tensordot, einsum, trace.

Reads: values; static subscripts and axes. Writes: nd.contract and what prepares its operands. Leaves: Traced values.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.contraction import contract
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.dialect.ops.reduction import SumOp
from mlirad.errors import DTypeError, ShapeError, StaticIndexError, StaticValueError
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.numpy.view_functions import diagonal as view_of_diagonal
from mlirad.frontend.values import nep50, sizes
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import Size
from mlirad.frontend.values.traced import (
    Number,
    Traced,
    as_operand,
    as_traced,
    origins_of,
    require_static,
    shape_of,
    stand_in,
)
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_contents import get

_BOOL = np.dtype(bool)


@dataclass(frozen=True)
class Factor:
    """An operand of an Einstein sum: one label for each axis."""

    expr: Expr
    labels: str

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.labels, self.expr.shape, strict=True))

    def without(self, labels: Sequence[str]) -> Factor:
        """The operand without axes of size 1."""
        kept = [label for label in self.labels if label not in labels]
        sizes = self.sizes
        shape = types.of_shape([sizes[label] for label in kept], self.expr.element)
        return Factor(reshape(self.expr, shape), "".join(kept))

    def summed_over(self, labels: Sequence[str]) -> Factor:
        axes = [axis for axis, label in enumerate(self.labels) if label in labels]
        if not axes:
            return self
        return Factor(emit(SumOp, self.expr, axes=axes), "".join(x for x in self.labels if x not in labels))

    def diagonal(self) -> Factor:
        """The operand without a repeated label: takes the diagonal of its axes."""
        factor = self
        while twice := [label for label in factor.labels if factor.labels.count(label) > 1]:
            label = twice[0]
            first = factor.labels.index(label)
            second = factor.labels.index(label, first + 1)
            if factor.expr.shape[first] != factor.expr.shape[second]:
                raise ShapeError(f"einsum: the axes {label!r} of one operand have sizes that differ")
            expr = diagonal(factor.expr, 0, first, second)
            rest = "".join(x for axis, x in enumerate(factor.labels) if axis not in (first, second))
            factor = Factor(expr, rest + label)
        return factor


def diagonal(x: Expr, offset: int, axis1: int, axis2: int) -> Expr:
    """np.diagonal of an array."""
    return get(view_of_diagonal(View.of(sizes.shape_of(x), types.to_dtype(x.element)), offset, axis1, axis2), x)


def multiply(x: Factor, y: Factor, result: str) -> Expr:
    """The Einstein sum of two operands of one type; an axis of size 1 is stretched to the other operand's size."""
    for label in set(x.labels) & set(y.labels):
        if x.sizes[label] != y.sizes[label]:
            x, y = (f.without([label]) if f.sizes[label] == 1 else f for f in (x, y))
            if label in x.labels and label in y.labels:
                sizes = f"{x.sizes[label]} and {y.sizes[label]}"
                raise ShapeError(f"operands could not be multiplied along an axis: its sizes are {sizes}")
    x = x.summed_over([label for label in x.labels if label not in y.labels + result])
    y = y.summed_over([label for label in y.labels if label not in x.labels + result])
    if not x.labels or not y.labels:
        (whole, scalar) = (x, y) if x.labels else (y, x)
        return _permuted(Factor(whole.expr * scalar.expr, whole.labels), result)
    return contract(f"{x.labels},{y.labels}->{result}", x.expr, y.expr)


def _permuted(x: Factor, result: str) -> Expr:
    if x.labels == result:
        return x.expr
    return emit(TransposeOp, x.expr, permutation=[x.labels.index(label) for label in result])


def _sum_of_products(operands: Sequence[Traced | Number], labels: Sequence[str], result: str) -> Traced:
    dtype = nep50.common_dtype([nep50.strong(stand_in(x)) for x in operands])
    # A sum of products of bools means "any of all".
    element = types.from_dtype(np.dtype(np.int64) if dtype == _BOOL else dtype)
    factors = []
    for x, own in zip(operands, labels, strict=True):
        value = as_traced(x)
        factors.append(Factor(cast_expr(value.expr if value.ndim else value.scalar, element), own).diagonal())
    while len(factors) > 1:
        x, y, *others = factors
        needed = set(result).union(*(f.labels for f in others))
        both = "".join(label for label in dict.fromkeys(x.labels + y.labels) if label in needed)
        factors = [Factor(multiply(x, y, both if others else result), both if others else result), *others]
    (last,) = factors
    last = last.summed_over([label for label in last.labels if label not in result])
    expr = _permuted(last, result)
    if dtype == _BOOL:
        expr = cast_expr(expr, types.I1)
    return Traced(expr, origins=origins_of(*operands))


def _refusal(function: Any, *operands: Traced) -> Exception:
    """NumPy's error for operands of these shapes."""
    if not all(sizes.is_static(x.shape) for x in operands):
        return ShapeError(f"np.{function.__name__} of shapes {' and '.join(sizes.text(x.shape) for x in operands)}")
    try:
        with numpys_refusal():
            function(*(np.broadcast_to(np.ones((), x.dtype), x.static_shape("a product")) for x in operands))
    except (ShapeError, DTypeError, ValueError, TypeError) as error:
        return error
    return ShapeError(f"np.{function.__name__} of shapes {' and '.join(str(x.shape) for x in operands)}")


def _matched(function: Any, x: Traced, axis: int, y: Traced, other: int) -> tuple[Traced, Traced]:
    """The operands, with equal sizes along one axis of each; a ValueError at run time if unequal."""
    mine, theirs = x.shape, y.shape
    first, second = mine[axis], theirs[other]
    if isinstance(first, int) and isinstance(second, int):
        if first != second:
            raise _refusal(function, x, y)
        return x, y
    spelled = f"{sizes.text(mine, axis % x.ndim)} and {sizes.text(theirs, other % y.ndim, 1)}"
    sizes.require_equal(first, second, f"np.{function.__name__}: the shapes {spelled} do not match")
    if isinstance(first, int) == isinstance(second, int):
        return x, y
    size = first if isinstance(first, int) else second
    return _with_size(x, axis, size), _with_size(y, other, size)


def _with_size(x: Traced, axis: int, size: Size) -> Traced:
    """x, with an axis `axis` known to have this size."""
    shape = list(x.shape)
    shape[axis] = size
    return replace(x, expr=sizes.fitted(x.expr, shape))


@compiles(np.matmul, is_row_major=True)
def matmul(a: Any, b: Any) -> Traced:
    x, y = as_traced(a), as_traced(b)
    if not x.ndim or not y.ndim:
        raise _refusal(np.matmul, x, y)
    batch = ascii_letters[: max(x.ndim, y.ndim) - 2] if max(x.ndim, y.ndim) > 2 else ""
    row, inner, column = "XYZ"
    left = inner if x.ndim == 1 else batch[len(batch) - (x.ndim - 2) :] + row + inner
    right = inner if y.ndim == 1 else batch[len(batch) - (y.ndim - 2) :] + inner + column
    x, y = _matched(np.matmul, x, -1, y, -2 if y.ndim > 1 else 0)
    try:
        sizes.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise _refusal(np.matmul, x, y) from None
    result = batch + (row if x.ndim > 1 else "") + (column if y.ndim > 1 else "")
    return _sum_of_products([x, y], [left, right], result)


@compiles(np.dot, method="dot", is_row_major=True, positional=("a", "b", "out"))
def dot(a: Any, b: Any) -> Any:
    x, y = as_traced(a), as_traced(b)
    if not x.ndim or not y.ndim:
        return numpy_elementwise.call(np.multiply, _strong(x), _strong(y))
    x, y = _matched(np.dot, x, -1, y, -2 if y.ndim > 1 else 0)
    left, right = _labels(x.ndim, y.ndim)
    inner = left[-1]
    place = max(len(right) - 2, 0)
    right = right[:place] + inner + right[place + 1 :]
    return _sum_of_products([x, y], [left, right], left[:-1] + right.replace(inner, ""))


def _strong(x: Traced) -> Traced:
    return replace(x, weak=False)


def _labels(first: int, second: int) -> tuple[str, str]:
    return ascii_letters[:first], ascii_letters[first : first + second]


@compiles(np.inner, is_row_major=True)
def inner(a: Any, b: Any) -> Any:
    x, y = as_traced(a), as_traced(b)
    if not x.ndim or not y.ndim:
        return numpy_elementwise.call(np.multiply, _strong(x), _strong(y))
    x, y = _matched(np.inner, x, -1, y, -1)
    left, right = _labels(x.ndim, y.ndim)
    return _sum_of_products([x, y], [left, right[:-1] + left[-1]], left[:-1] + right[:-1])


def _ravelled(x: Traced) -> Traced:
    if x.ndim == 1:
        return x
    size = prod(x.static_shape("a product of flattened arrays"))
    return Traced(reshape(x.expr, types.tensor((size,), x.expr.element)), origins=x.origins)


@compiles(np.outer, is_row_major=True)
def outer(a: Any, b: Any) -> Traced:
    return _sum_of_products([_ravelled(as_traced(a)), _ravelled(as_traced(b))], ["i", "j"], "ij")


@compiles(np.vdot, is_row_major=True)
def vdot(a: Any, b: Any) -> Traced:
    x, y = as_traced(a), as_traced(b)
    x = as_traced(numpy_elementwise.call(np.conjugate, x)) if x.dtype.kind == "c" else x
    return _sum_of_products(_matched(np.vdot, _ravelled(x), 0, _ravelled(y), 0), ["i", "i"], "")


@compiles(np.tensordot, is_row_major=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = as_traced(a), as_traced(b)
    require_static(axes, "the axes of np.tensordot")
    ours, theirs = _summed_axes(axes)
    if len(ours) != len(theirs):
        raise ShapeError("shape-mismatch for sum")
    for i, j in zip(ours, theirs, strict=True):
        if not (-x.ndim <= i < x.ndim and -y.ndim <= j < y.ndim):
            raise StaticIndexError(f"np.tensordot: the operands have no axes {i} and {j}")
        if isinstance(x.shape[i], int) and isinstance(y.shape[j], int) and x.shape[i] != y.shape[j]:
            raise ShapeError("shape-mismatch for sum")
        x, y = _matched(np.tensordot, x, i, y, j)
    if any(len({axis % z.ndim for axis in named}) != len(named) for z, named in ((x, ours), (y, theirs))):
        raise StaticValueError("np.tensordot: an axis is named twice")
    left, right = _labels(x.ndim, y.ndim)
    summed = {y.ndim + j if j < 0 else j: left[i] for i, j in zip(ours, theirs, strict=True)}
    right = "".join(summed.get(axis, label) for axis, label in enumerate(right))
    result = "".join(label for label in left + right if (label in left) != (label in right))
    return _as_array(_sum_of_products([x, y], [left, right], result))


def _summed_axes(axes: Any) -> tuple[list[int], list[int]]:
    """The axes of the two operands of np.tensordot that are summed together."""
    with numpys_refusal():
        if not isinstance(axes, tuple | list):
            count = operator.index(axes)
            return list(range(-count, 0)), list(range(count))
        first, second = axes
        ours, theirs = ([*each] if isinstance(each, tuple | list) else [each] for each in (first, second))
        if any(len(set(each)) != len(each) for each in (ours, theirs)):
            raise StaticValueError("duplicate axes are not allowed in tensordot")
        return list(map(operator.index, ours)), list(map(operator.index, theirs))


def _as_array(x: Traced) -> Traced:
    return replace(x, zero_d=not x.ndim)


@compiles(np.einsum, view_of=1, has_own_layout=True)
def einsum(*operands: Any, optimize: Any = False) -> Traced:
    del optimize  # the compiler chooses the order of the products
    subscripts, values = _with_subscripts(operands)
    text = _without_ellipsis(subscripts.replace(" ", ""), values)
    given, arrow, result = text.partition("->")
    labels = given.split(",")
    if not arrow:  # the labels that occur once, in alphabetical order
        result = "".join(sorted(label for label in set(given) - {","} if given.count(label) == 1))
    traced = [as_traced(x) for x in values]
    known = set("".join(labels))
    if len(labels) != len(values) or any(len(own) != x.ndim for own, x in zip(labels, traced, strict=False)):
        raise _refusal_of_einsum(text, traced)
    if len(set(result)) != len(result) or not set(result) <= known or (not "".join(labels).isalpha() and known):
        raise _refusal_of_einsum(text, traced)
    known_sizes: dict[str, int] = {}
    for own, x in zip(labels, traced, strict=True):
        for label, size in zip(own, x.static_shape("np.einsum"), strict=True):
            if known_sizes.setdefault(label, size) == 1:
                known_sizes[label] = size
            elif size not in (1, known_sizes[label]):
                raise _refusal_of_einsum(text, traced)
    return _sum_of_products(traced, labels, result)


def _with_subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts and operands of either form, including `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    if operands and isinstance(operands[0], str):
        return operands[0], [as_operand(x) for x in operands[1:]]
    require_static(operands[1::2], "the subscripts of np.einsum")
    has_result = len(operands) % 2 == 1
    if len(operands) < 2 or (has_result and not isinstance(operands[-1], list | tuple)):
        raise StaticValueError("must specify the einstein sum subscripts string and at least one operand")
    lists = [*operands[1::2], *([operands[-1]] if has_result else [])]
    for each in lists:
        for label in each:
            if label is not Ellipsis and not (isinstance(label, int | np.integer) and 0 <= label < len(ascii_letters)):
                raise StaticValueError("each subscript must be either an integer or an ellipsis")
    letters = sorted(ascii_letters)
    spelled = ["".join("..." if label is Ellipsis else letters[label] for label in each) for each in lists]
    count = len(operands) // 2
    text = ",".join(spelled[:count]) + (f"->{spelled[-1]}" if has_result else "")
    return text, [as_operand(x) for x in operands[: 2 * count : 2]]


def _without_ellipsis(text: str, values: Sequence[Any]) -> str:
    """The subscripts with letters in place of `...`: the last axes of the longest."""
    if "." not in text:
        return text
    given, arrow, result = text.partition("->")
    labels = given.split(",")
    if len(labels) != len(values) or any(each.replace("...", "", 1).count(".") for each in (*labels, result)):
        raise StaticValueError("einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...')")
    counts = [len(shape_of(x)) - len(own) + 3 if "..." in own else 0 for own, x in zip(labels, values, strict=True)]
    longest = max(counts)
    free = "".join(letter for letter in ascii_letters if letter not in text)[:longest]
    if min(counts) < 0 or len(free) < longest:
        raise StaticValueError("einstein sum subscripts string contains too many subscripts for an operand")
    named = [own.replace("...", free[longest - count :]) for own, count in zip(labels, counts, strict=True)]
    if arrow and "..." not in result and longest:
        raise StaticValueError("output has fewer dimensions than the ellipsis of the operands")
    once = "".join(sorted(letter for letter in set(given) - set(",.") if given.count(letter) == 1))
    return f"{','.join(named)}->{result.replace('...', free) if arrow else free + once}"


def _refusal_of_einsum(text: str, operands: Sequence[Traced]) -> Exception:
    return _refusal(_named(lambda *arrays: np.einsum(text, *arrays), "einsum"), *operands)


def _named(function: Any, name: str) -> Any:
    function.__name__ = name
    return function
