"""The value class of the frontend: a number or the contents of an array, known only at run time.

Reads: dtypes and shapes. Writes: nd ops at the insertion point. Leaves: Traced values. operators.py compiles Python's
operators on them, numpy_calls.py NumPy's functions; both behave as on numbers and arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mlirad.dialect.arrays.elements import ExtractOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, UnsupportedSyntaxError
from mlirad.frontend.values import nep50, sizes
from mlirad.frontend.values.nep50 import Either, Several, StandIn
from mlirad.frontend.values.python_operators import Operators, meanings
from mlirad.frontend.values.sizes import DATA, NeedStatic, Shape, Size
from mlirad.signature import weak_kind

Number = bool | int | float | complex | np.bool_ | np.number


@dataclass(frozen=True, eq=False)
class Traced(Operators):
    """A number, or the contents of an array.

    expr: a builtin scalar or a tensor. weak: from a Python number (NEP 50). zero_d: a 0-d array, not a scalar. origins:
    what an integer comes from (arguments, loops, DATA); operators unite them. either: set if a NumPy number is a Python
    number on another path. several: set if a Python number has another class on another path.
    """

    expr: Expr
    weak: bool = False
    zero_d: bool = False
    origins: frozenset[Hashable] = frozenset()
    either: Either | None = None
    several: Several | None = None

    @property
    def shape(self) -> Shape:
        return sizes.shape_of(self.expr)

    @property
    def ndim(self) -> int:
        return len(self.expr.shape)

    def static_shape(self, function: str) -> tuple[int, ...]:
        """The shape, which a function needs at compile time. Raises NeedStatic."""
        return sizes.require_static(self.shape, f"the shape of an argument of {function}")

    @property
    def size(self) -> Size:
        return sizes.total(self.shape)

    @property
    def dtype(self) -> np.dtype:
        return types.to_dtype(self.expr.element)

    @property
    def kind(self) -> type:
        """bool, int, float or complex."""
        return weak_kind(self.dtype)

    @property
    def is_array(self) -> bool:
        """Whether Python sees an ndarray rather than a number."""
        return self.zero_d or self.ndim > 0

    @property
    def contents(self) -> Expr:
        """The tensor that a cell holds for this value, even for rank 0."""
        return self.expr if self.expr.is_tensor else reshape(self.expr, types.tensor((), self.expr.element))

    @property
    def scalar(self) -> Expr:
        """The builtin scalar of a value of rank 0."""
        return emit(ExtractOp, self.expr) if self.expr.is_tensor else self.expr

    def as_operand(self) -> Traced:
        return self

    def __repr__(self) -> str:
        kind = "weak " if self.weak else "weak or strong " if self.either else "0-d " if self.zero_d else ""
        return f"<traced {kind}{self.dtype}{list(self.expr.shape) if self.ndim else ''}>"

    def __bool__(self) -> NoReturn:
        raise NeedStatic(self.origins, "a truth value")

    def __index__(self) -> NoReturn:
        raise NeedStatic(self.origins, "an integer")

    def __len__(self) -> int:
        if self.ndim:
            return operator.index(self.shape[0])
        what = f"object of type '{self.kind.__name__}' has no len()"
        raise DTypeError("len() of unsized object" if self.zero_d else what)


def is_python_number(x: Any) -> bool:
    """Whether x follows Python's rules beside a Python number (np.float64 is a float, but a NumPy scalar)."""
    if isinstance(x, Traced):
        return x.weak
    return isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)


def is_static(x: Any) -> bool:
    """Whether x contains no traced value, at any depth of lists, tuples, slices and dicts."""
    if isinstance(x, list | tuple):
        return all(is_static(item) for item in x)
    if isinstance(x, dict):
        return all(is_static(item) for item in x.values())
    if isinstance(x, slice):
        return is_static((x.start, x.stop, x.step))
    return not isinstance(x, Operators)


def require_static(x: Any, what: str) -> Any:
    """x, if it is known at compile time. Otherwise raises NeedStatic with the origins of the unknown parts."""
    if not is_static(x):
        raise NeedStatic(origins_of(x), what)
    return x


def require_axis(axis: Any, of: str) -> Any:
    """The axis of a function, or several, known at compile time. Otherwise raises NeedStatic; raises DTypeError for an
    array or a float, which no run makes an axis."""
    for each in axis if isinstance(axis, tuple | list) else (axis,):
        if isinstance(each, Traced) and (each.ndim or each.kind not in (int, bool)):
            found = f"an array with {each.ndim} {'axis' if each.ndim == 1 else 'axes'}" if each.ndim else "a float"
            hint = f"several arrays are one argument: {of}((a, b))" if each.ndim and of.startswith("np.") else None
            raise DTypeError(f"the axis of {of} is {found}, and not an int", hint=hint)
    return require_static(axis, f"the axis of {of}")


def origins_of(*values: Any) -> frozenset[Hashable]:
    """The origins of values. The elements of an array are data."""
    found: set[Hashable] = set()
    for value in values:
        if isinstance(value, Traced):
            found |= value.origins
            if value.is_array:
                found.add(DATA)
        elif isinstance(value, Operators):
            found.add(DATA)
        elif isinstance(value, list | tuple):
            found |= origins_of(*value)
        elif isinstance(value, dict):
            found |= origins_of(*value.values())
        elif isinstance(value, slice):
            found |= origins_of(value.start, value.stop, value.step)
    return frozenset(found)


def as_operand(x: Any, dtype: np.dtype | None = None) -> Traced | Number:
    """An operand as NumPy sees it: lists and tuples become arrays (of a dtype); numbers stay as they are.

    Raises DTypeError.
    """
    if isinstance(x, Traced | bool | int | float | complex | np.bool_ | np.number):
        if isinstance(x, np.generic):
            nep50.require_dtype(x.dtype, repr(x))
        return x
    if isinstance(x, np.ndarray):
        return of_array(x)
    if isinstance(x, list | tuple):
        return meanings().array(x, dtype)
    if isinstance(x, Operators):
        return x.as_operand()
    hint = "use `is None`" if x is None else None
    raise DTypeError(f"an operand of type '{type(x).__name__}' is neither a number nor an array", hint=hint)


def as_traced(x: Any) -> Traced:
    """x as a run-time value; a Python number stays weak."""
    x = as_operand(x)
    if isinstance(x, Traced):
        return x
    dtype = nep50.strong(stand_in(x))
    return Traced(constant(nep50.convert(x, dtype), types.from_dtype(dtype)), weak=isinstance(stand_in(x), type))


_LARGEST_CONSTANT = 2**24
"""Bytes. LLVM reads constants as text: much larger ones take minutes, and then all the memory."""


def of_array(x: np.ndarray) -> Traced:
    """A constant array. Raises UnsupportedSyntaxError if it is too large to be compiled into the code."""
    if x.nbytes > _LARGEST_CONSTANT:
        text = f"a constant array of {x.nbytes:,} bytes is too large to be compiled into the code"
        raise UnsupportedSyntaxError(text, hint="make it outside and pass it as an argument")
    dtype = nep50.require_dtype(x.dtype, "a constant array")
    return Traced(constant(x, types.tensor(x.shape, types.from_dtype(dtype))), zero_d=x.ndim == 0)


def stand_in(x: Traced | Number) -> StandIn:
    """A stand-in for x in questions to NumPy about dtypes. An instance of a subclass of int or float becomes an
    array."""
    if isinstance(x, Traced) and x.several is not None:
        return x.several
    if is_python_number(x):
        return python_kind(x) if isinstance(x, Traced) or type(x) in nep50.WEAK else nep50.strong(python_kind(x))
    if isinstance(x, Traced) and x.either is not None:
        return x.either
    assert isinstance(x, Traced | np.generic)
    return x.dtype


def python_kind(x: Any) -> type:
    """The kind of a Python number, also of an IntEnum: bool, int, float or complex."""
    return x.kind if isinstance(x, Traced) else nep50.kind_of_number(x)


def shape_of(x: Traced | Number) -> Shape:
    return x.shape if isinstance(x, Traced) else ()


def visible(size: Size) -> int | Traced:
    """A size as the program sees it."""
    return Traced(size.expr, weak=True, origins=size.origins) if isinstance(size, sizes.Dim) else size


def visible_shape(shape: Shape) -> tuple[int | Traced, ...]:
    return tuple(map(visible, shape))


def in_type(x: Traced | Number, dtype: np.dtype, shape: Shape) -> Expr:
    """x, cast to the dtype it is promoted to, and broadcast.

    A Python int out of the dtype's range is an OverflowError, at compile time or run time.
    """
    element = types.from_dtype(dtype)
    if not isinstance(x, Traced):
        return sizes.filled(nep50.convert(x, dtype), shape, element)
    expr = x.expr if x.ndim else x.scalar
    if nep50.must_fit(stand_in(x), dtype):
        check_range(expr, dtype)
    return sizes.stretched(cast_expr(expr, element), shape)


def check_range(value: Expr, dtype: np.dtype) -> None:
    """Raise OverflowError at run time unless the i64 `value` is in the range of an integer dtype."""
    limits = np.iinfo(dtype)
    fits = value >= int(limits.min)
    if dtype != np.uint64:
        fits = fits & (value <= int(limits.max))
    check(fits, "OverflowError", f"Python integer {{0}} out of bounds for {dtype}", value)


def cast(x: Traced | Number, dtype: np.dtype) -> Traced:
    """`x.astype(dtype)`: strong, with the same shape and kind (scalar or 0-d array)."""
    element = types.from_dtype(dtype)
    if not isinstance(x, Traced):
        return Traced(constant(nep50.convert(np.asarray(x).astype(dtype), dtype), element))
    return Traced(cast_expr(x.expr, element), zero_d=x.zero_d, origins=x.origins)
