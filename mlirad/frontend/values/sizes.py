"""Sizes of arrays known only at run time: how to compute them, which are equal, and how shapes broadcast.

Reads: shapes, i64 values. Writes: nd.dim, and run-time checks that sizes are equal. Leaves: shapes made of ints and
Dims. Asking a Dim for its number raises NeedStatic, so code for static shapes never computes with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.core.expr import full as full_of
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import DimOp, broadcast, reshape, size_of
from mlirad.errors import ShapeError
from mlirad.frontend.values import affine
from mlirad.frontend.values.known_facts import recall, remember
from mlirad.frontend.values.poison import Unresolved
from mlirad.frontend.values.shapes import broadcast_shapes as broadcast_static

# The origin of a number read from an array: neither unrolling nor specialisation makes it static.
DATA = "data"
# A size known only at run time, in a type or a pattern.
TRACED = -1
# A stand-in for an unknown size, in questions to NumPy that do not depend on it.
STAND_IN = 2

Pattern = tuple[int, ...]


class NeedStatic(Unresolved):
    """A traced number is used where it must be known at compile time.

    origins: the arguments and loops it comes from, or DATA. what: what it is needed for ("the shape of np.zeros").
    """

    def __init__(self, origins: Iterable[Hashable], what: str):
        super().__init__(f"{what} must be known at compile time")
        self.origins = frozenset(origins)
        self.what = what


@dataclass(frozen=True, eq=False)
class Dim:
    """A size known only at run time: an i64 that is not negative. origins: as in Traced."""

    expr: Expr
    origins: frozenset[Hashable] = frozenset()

    def __eq__(self, other: object) -> bool:
        """Whether two sizes are certainly equal."""
        return isinstance(other, int | Dim) and affine.difference(self.expr, value_of(other)) == 0

    def __mul__(self, other: Size) -> Dim:
        factor = value_of(other)
        origins = self.origins | (other.origins if isinstance(other, Dim) else frozenset())
        return Dim(affine.as_expr(affine.multiply(self.expr, factor)), origins)

    __rmul__ = __mul__

    def _refuse(self, *_: Any) -> NoReturn:
        raise NeedStatic(self.origins, "the size of an array")

    __hash__ = __index__ = __int__ = __float__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = _refuse

    def __repr__(self) -> str:
        return "?"


Size = int | Dim
Shape = tuple[Size, ...]


def value_of(size: Size) -> affine.Int:
    return size.expr if isinstance(size, Dim) else size


def as_size(value: affine.Int, origins: frozenset[Hashable]) -> Size:
    """A number as a size: an int if known."""
    number = affine.form_of(value).number
    return Dim(affine.as_expr(value), origins) if number is None else number


def is_static(shape: Sequence[Size]) -> TypeGuard[Sequence[int]]:
    return Dim not in map(type, shape)


def pattern(shape: Sequence[Size]) -> Pattern:
    """The shape as types write it, with TRACED for run-time sizes."""
    if is_static(shape):
        return tuple(shape)
    return tuple(TRACED if isinstance(size, Dim) else size for size in shape)


def lengths(shape: Sequence[Size]) -> list[Expr]:
    """The run-time sizes of the pattern, in order."""
    return [size.expr for size in shape if type(size) is Dim]


def stand_in(shape: Sequence[Size]) -> tuple[int, ...]:
    """The shape in ints, for questions to NumPy that do not depend on the unknown sizes."""
    if is_static(shape):
        return tuple(shape)
    return tuple(STAND_IN if isinstance(size, Dim) else size for size in shape)


def origins_of(shape: Sequence[Size]) -> frozenset[Hashable]:
    return frozenset().union(*[size.origins for size in shape if type(size) is Dim])


def require_static(shape: Sequence[Size], what: str) -> tuple[int, ...]:
    """The shape, if it is all ints. Raises NeedStatic."""
    if not is_static(shape):
        raise NeedStatic(origins_of(shape), what)
    return tuple(shape)


def require_known(shape: Sequence[Size], what: str) -> Pattern:
    """The shape of a result: sizes that depend on data stay open, others must be known. Raises NeedStatic."""
    require_static([size for size in shape if not (isinstance(size, Dim) and DATA in size.origins)], what)
    return pattern(shape)


def of_shape(shape: Sequence[Size], element: Attribute) -> Attribute:
    """The type of a value of this shape: a scalar for the shape ()."""
    return types.of_shape(pattern(shape), element)


# --- sizes of values --------------------------------------------------------------------------------------------


def remember_shape(contents: Expr, shape: Sequence[Size]) -> None:
    """Remember the shape of an array, with the Dims that the code around it knows."""
    if is_static(shape):
        return
    remember(("shape", contents.value), tuple(shape))
    for size in shape:
        if isinstance(size, Dim):
            remember(("origins", size.expr.value), size.origins)


def shape_of(x: Expr) -> Shape:
    """The shape of a value."""
    known = x.shape
    if TRACED not in known:
        return known
    return tuple(_size_of(x, axis) if size < 0 else size for axis, size in enumerate(known))


def _size_of(x: Expr, axis: int) -> Dim:
    source = size_of(x.value, axis)
    if isinstance(source, SSAValue):
        return Dim(Expr(source), recall(("origins", source)) or frozenset({DATA}))
    array, place = source
    known = recall(("shape", array))
    if known is not None and isinstance(known[place], Dim):
        return known[place]
    return Dim(emit(DimOp, Expr(array), axis=place), frozenset({DATA}))


def full(value: Expr, shape: Sequence[Size]) -> Expr:
    """An array filled with one number; the number itself for the shape ()."""
    return full_of(value, pattern(shape), lengths(shape)) if len(shape) else value


def filled(number: Any, shape: Sequence[Size], element: Attribute) -> Expr:
    """A constant of any shape."""
    if is_static(shape):
        return constant(number, of_shape(shape, element))
    return full(constant(number, element), shape)


def fitted(x: Expr, shape: Sequence[Size]) -> Expr:
    """x, cast to the type of this shape, which x is known to have."""
    if x.shape == pattern(shape):
        return x
    zero = constant(0, types.I64)
    return extract_slice(x, [zero] * len(shape), [value_of(size) for size in shape])


def stretched(x: Expr, shape: Sequence[Size]) -> Expr:
    """x broadcast to `shape`, which is known to be possible. Axes of size 1 are stretched, new axes come first."""
    if x.shape == pattern(shape):
        return x
    offset = len(shape) - len(x.shape)
    kept = [axis for axis, size in enumerate(x.shape) if size != 1 or pattern(shape)[offset + axis] == 1]
    squeezed = reshape(x, types.of_shape([x.shape[axis] for axis in kept], x.element))
    squeezed = fitted(squeezed, [shape[offset + axis] for axis in kept])
    return broadcast(squeezed, [offset + axis for axis in kept], pattern(shape), lengths(shape))


# --- equal sizes ------------------------------------------------------------------------------------------------


def require_equal(x: Size, y: Size, message: str, error: str = "ValueError") -> None:
    """Raise an exception at run time unless two sizes are equal; the message shows them as {0} and {1}."""
    if x == y:
        return
    first, second = affine.as_expr(value_of(x)), affine.as_expr(value_of(y))
    check(first == second, error, message, first, second)


def text(shape: Sequence[Size], axis: int | None = None, place: int = 0) -> str:
    """A shape in a message; the size of `axis` is argument number `place` of the check."""
    parts = [f"{{{place}}}" if own == axis else repr(size) for own, size in enumerate(shape)]
    return f"({','.join(parts)}{',' if len(parts) == 1 else ''})"


OPERANDS = ("ValueError", "operands could not be broadcast together with shapes")


def broadcast_shapes(*shapes: Shape, mismatch: tuple[str, str] = OPERANDS) -> Shape:
    """The broadcast shape. Raises ShapeError; sizes that may differ are compared at run time.

    Only a size that is 1 at compile time is stretched. mismatch: the exception at run time, and the start of its
    message.
    """
    static = [tuple(shape) for shape in shapes if is_static(shape)]
    if len(static) == len(shapes):
        if static.count(static[0]) == len(static):
            return static[0]  # the usual case; asking NumPy takes time
        return broadcast_static(*static)
    rank = max(map(len, shapes))
    return tuple(_broadcast_axis(shapes, axis - rank, mismatch) for axis in range(rank))


def _broadcast_axis(shapes: Sequence[Shape], axis: int, mismatch: tuple[str, str]) -> Size:
    """The size of one axis, counted from the end."""
    there = [shape for shape in shapes if len(shape) >= -axis and not _is_one(shape[axis])]
    sizes = [shape[axis] for shape in there]
    known = [size for size in sizes if isinstance(size, int)]
    if not sizes:
        return 1
    if any(size != known[0] for size in known):
        raise ShapeError(f"{mismatch[1]} {' '.join(map(text, shapes))}")
    chosen = known[0] if known else sizes[0]
    model = there[sizes.index(chosen)] if known else there[0]
    for shape in there:
        if shape is not model:
            message = f"{text(model, len(model) + axis)} {text(shape, len(shape) + axis, 1)}"
            require_equal(chosen, shape[axis], f"{mismatch[1]} {message}", mismatch[0])
    return chosen


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def require_broadcast(own: Shape, shape: Shape, message: str) -> bool:
    """Whether an array of shape `own` may broadcast to `shape`, which stays as it is.

    Sizes that may differ are compared at run time. The message contains {own} and {shape}.
    """
    offset = len(shape) - len(own)
    if offset < 0:
        return False
    pairs = [(axis, x, shape[offset + axis]) for axis, x in enumerate(own) if not _is_one(x)]
    if any(isinstance(x, int) and isinstance(y, int) and x != y for _, x, y in pairs):
        return False
    for axis, x, y in pairs:
        require_equal(x, y, message.format(own=text(own, axis), shape=text(shape, offset + axis, 1)))
    return True


def total(shape: Sequence[Size]) -> Size:
    """The number of elements."""
    result: Size = 1
    for size in shape:
        result = size * result if isinstance(size, Dim) else result * size
    return result


def number(size: Size, element: Attribute) -> Expr | float:
    """A size as a floating-point number."""
    return cast(size.expr, element) if isinstance(size, Dim) else float(size)
