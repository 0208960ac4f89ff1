"""Python's and NumPy's values as MLIR attributes, and back.

Reads: strings, numbers, arrays. Writes: attributes. Leaves: nothing.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.complex import ComplexNumberAttr
from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.errors import ShapeError
from mlirad.xdsl_support.once_per_object import once


@once
def ints(attribute: Attribute) -> tuple[int, ...]:
    """The values of an array-of-integers attribute."""
    assert isinstance(attribute, DenseArrayBase)
    return tuple(int(value) for value in attribute.get_values())


def attribute_of(value: Any) -> Attribute:
    """The attribute for a string, an integer (of 64 bits) or a sequence of integers."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str | int | np.integer):
        return _single(value if isinstance(value, str) else int(value))
    return _several(tuple([int(item) for item in value]))


@lru_cache(1024)
def _single(value: str | int) -> Attribute:
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(value, i64)


@lru_cache(4096)
def _several(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(values))


def dense(value: Any, type: Attribute) -> Attribute:
    """`value` as an MLIR attribute of the scalar or tensor `type`; a tensor of equal numbers is a splat."""
    dtype = types.to_dtype(types.element_type(type))
    if not types.is_tensor(type):
        # Compare bits: -0.0 is not 0.0.
        key = struct.pack("d", value) if value.__class__ is float else value
        if dtype.kind == "c":
            number = complex(np.asarray(value).astype(dtype)[()])
            return ComplexNumberAttr(number.real, number.imag, type)  # pyright: ignore[reportArgumentType]  # a complex type
        return _scalar(key, value.__class__, dtype) if value.__class__ in (bool, int, float) else _number(value, dtype)
    array = np.asarray(value).astype(dtype)
    if array.size and array.ndim and _all_same(array):
        array = array.reshape(-1)[0]
    if not array.ndim:
        return DenseIntOrFPElementsAttr.from_list(type, _items(array.reshape(1)))
    if array.shape != types.shape(type):
        raise ShapeError(f"a constant of shape {array.shape} for {type}")
    return DenseIntOrFPElementsAttr.from_list(type, _items(array.reshape(-1)))


def _items(array: np.ndarray) -> list[Any]:
    """The elements in the form that xDSL takes: a complex number is a pair."""
    return [(each.real, each.imag) for each in array.tolist()] if array.dtype.kind == "c" else array.tolist()


@lru_cache(4096)
def _scalar(key: bytes | int, kind: type, dtype: np.dtype) -> Attribute:
    """A Python number of a kind; a float is given by its bits. Cached, because the same few attributes recur."""
    return _number(struct.unpack("d", key)[0] if isinstance(key, bytes) else kind(key), dtype)


def _number(value: Any, dtype: np.dtype) -> Attribute:
    array, type = np.asarray(value).astype(dtype), types.from_dtype(dtype)
    if types.is_float(type):
        # `types` only has attributes; pyright cannot know which of them are xDSL's float and integer types.
        return FloatAttr(float(array), type)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return IntegerAttr(int(array), type)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _all_same(array: np.ndarray) -> bool:
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((raw == raw[0]).all())  # compare bits: -0.0 is not 0.0, and nan is nan


def value_of(attribute: Attribute, type: Attribute) -> np.ndarray | np.generic:
    """The number or array of a constant's attribute."""
    dtype = types.to_dtype(types.element_type(type))
    if isinstance(attribute, ComplexNumberAttr):
        return dtype.type(complex(attribute.real.data, attribute.imag.data))
    if isinstance(attribute, FloatAttr | IntegerAttr):
        data = attribute.value.data
        return dtype.type(data) if data.__class__ is float else np.array(data).astype(dtype)[()]
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    # Through object: NumPy would create a float64 array from integers that do not all fit in int64.
    items: Any = attribute.get_values()
    if dtype.kind == "c":
        items = [complex(*each) for each in items]
    values = np.array(items, object if dtype == np.uint64 else None).astype(dtype)
    shape = types.shape(type)
    return np.full(shape, values[0], dtype) if values.size and attribute.is_splat() else values.reshape(shape)


def name_of_constant(value: Attribute) -> str:
    """The name of a constant in dumps: `%c2` for the integer 2, `%true`, and `%cst` for all others, as in MLIR."""
    if not isinstance(value, IntegerAttr):
        return "cst"
    if value.type == types.I1:
        return "true" if value.value.data else "false"
    return f"c{value.value.data}"
