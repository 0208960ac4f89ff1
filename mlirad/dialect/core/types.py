"""Element types and shapes: NumPy dtypes and MLIR types, source locations and MLIR locations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    Signedness,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute

from mlirad.location import SourceLocation
from mlirad.xdsl_support.once_per_object import once

F16 = Float16Type()
F32 = Float32Type()
F64 = Float64Type()
C64 = ComplexType(F32)
C128 = ComplexType(F64)
I1 = IntegerType(1)
I32 = IntegerType(32)
I64 = IntegerType(64)

_ELEMENT_OF_DTYPE: dict[np.dtype, Attribute] = {
    np.dtype(np.float16): F16,
    np.dtype(np.float32): F32,
    np.dtype(np.float64): F64,
    np.dtype(np.complex64): C64,
    np.dtype(np.complex128): C128,
    np.dtype(np.bool_): I1,
    **{np.dtype(f"i{bits // 8}"): IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{np.dtype(f"u{bits // 8}"): IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 16, 32, 64)},
}
_DTYPE_OF_ELEMENT = {element: dtype for dtype, element in _ELEMENT_OF_DTYPE.items()}


def from_dtype(dtype: np.dtype) -> Attribute:
    """The element type of a NumPy dtype. Raises KeyError for one that mlirad does not know."""
    return _ELEMENT_OF_DTYPE[np.dtype(dtype)]


@once
def to_dtype(element: Attribute) -> np.dtype:
    """The NumPy dtype of an element type."""
    return _DTYPE_OF_ELEMENT[element]


def has_dtype(dtype: np.dtype) -> bool:
    return np.dtype(dtype) in _ELEMENT_OF_DTYPE


@lru_cache(maxsize=1024)
def _tensor(shape: tuple[int, ...], element: Attribute) -> TensorType:
    return TensorType(element, [DYNAMIC_INDEX if size < 0 else size for size in shape])


def tensor(shape: Sequence[int], element: Attribute) -> TensorType:
    """`tensor<shape x element>`; -1 is an unknown size."""
    return _tensor(tuple(shape), element)


def of_shape(shape: Sequence[int], element: Attribute) -> Attribute:
    """A scalar for the shape (), else a tensor."""
    return tensor(shape, element) if len(shape) else element


def element_type(type: Attribute) -> Attribute:
    return type.element_type if is_tensor(type) else type


def shape(type: Attribute) -> tuple[int, ...]:
    """The sizes of a tensor (-1: unknown), () for a scalar."""
    return _shape(type) if is_tensor(type) else ()


@once
def _shape(type: TensorType[Any]) -> tuple[int, ...]:
    return tuple(-1 if size == DYNAMIC_INDEX else size for size in type.get_shape())


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """A type of the same shape and another element type."""
    return tensor(shape(type), element) if is_tensor(type) else element


def is_tensor(type: Attribute) -> TypeGuard[TensorType[Any]]:
    return type.__class__ is TensorType  # no class extends it; isinstance on xDSL's abstract classes is slow


@once
def is_static(type: Attribute) -> bool:
    return all(size >= 0 for size in shape(type))


def is_float(type: Attribute) -> bool:
    """Whether the elements are real floating-point numbers."""
    return _is_of_floats(element_type(type).__class__)


def is_complex(type: Attribute) -> bool:
    return element_type(type).__class__ is ComplexType


def is_inexact(type: Attribute) -> bool:
    """Whether the elements are real or complex floating-point numbers, and so can have a cotangent."""
    return is_float(type) or is_complex(type)


def part_type(type: Attribute) -> Attribute:
    """The type of the real part, with the same shape; for a real type, the type itself."""
    element = element_type(type)
    return with_element(type, element.element_type) if isinstance(element, ComplexType) else type


@cache
def _is_of_floats(kind: type[Attribute]) -> bool:
    return issubclass(kind, AnyFloat)


def is_integer(type: Attribute) -> bool:
    """Whether the elements are integers (bool is not)."""
    element = element_type(type)
    return isinstance(element, IntegerType) and element != I1


def is_bool(type: Attribute) -> bool:
    element = element_type(type)
    return element is I1 or (isinstance(element, IntegerType) and element.width.data == 1 and element == I1)


def is_unsigned(type: Attribute) -> bool:
    element = element_type(type)
    return isinstance(element, IntegerType) and (element == I1 or element.signedness.data == Signedness.UNSIGNED)


@once
def signless(type: Attribute) -> Attribute:
    """The type with unsigned elements made signless, as upstream ops require."""
    element = element_type(type)
    return with_element(type, IntegerType(element.width.data)) if isinstance(element, IntegerType) else type


def itemsize(type: Attribute) -> int:
    """Bytes of one element."""
    return to_dtype(element_type(type)).itemsize


@lru_cache(10_000)
def to_location(place: SourceLocation | None) -> LocationAttr:
    """The MLIR location of a source location (MLIR's columns count from 1)."""
    if place is None:
        return UnknownLoc()
    return FileLineColLoc(_string(place.filename), _integer(place.lineno), _integer(place.col_offset + 1))


_string, _integer = cache(StringAttr), cache(IntAttr)


def from_location(location: Attribute | None) -> SourceLocation | None:
    """The source location that an op came from, or None."""
    if isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, FileLineColLoc):
        return SourceLocation(location.filename.data, location.line.data, max(location.column.data - 1, 0))
    return None


def of_adjoint(location: LocationAttr) -> LocationAttr:
    """The location of an op in a reverse sweep, given the location of the op whose adjoint it belongs to."""
    return NameLoc(StringAttr(_ADJOINT), location) if isinstance(location, FileLineColLoc) else location


def sweep_of(location: Attribute | None) -> str | None:
    """The sweep that an op's location records; None for a forward sweep."""
    return location.desc.data if isinstance(location, NameLoc) else None


_ADJOINT = "adjoint"
