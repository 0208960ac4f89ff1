"""MLIR's types and constants as LLVM's.

Reads: attributes. Writes: LLVM type names, literals, intrinsic suffixes. Leaves: nothing.
"""

from __future__ import annotations

import struct

import numpy as np
from xdsl.dialects.builtin import (
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from mlirad.errors import TargetError
from mlirad.xdsl_support.once_per_object import once

_FLOATS: dict[type[Attribute], tuple[str, str, int]] = {
    Float16Type: ("half", "f16", 16),
    Float32Type: ("float", "f32", 32),
    Float64Type: ("double", "f64", 64),
}


def element_of(type: Attribute) -> Attribute:
    """The element type of a vector; the type itself of a scalar."""
    return type.element_type if isinstance(type, VectorType) else type


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """A type with as many lanes, but another element."""
    return VectorType(element, type.get_shape()) if isinstance(type, VectorType) else element


@once
def lanes_of(type: Attribute) -> int | None:
    """The lanes of a vector of rank 1, None for a scalar."""
    if not isinstance(type, VectorType):
        return None
    shape = type.get_shape()
    if len(shape) != 1 or any(scalable.value.data for scalable in type.scalable_dims):
        raise TargetError(f"the cpu target supports only vectors of rank 1 and fixed length, not {type}")
    return shape[0]


@once
def bits_of(type: Attribute) -> int:
    """Bits of a scalar, or of a vector's element."""
    element = element_of(type)
    if isinstance(element, IndexType):
        return 64
    if isinstance(element, IntegerType):
        return element.width.data
    if entry := _FLOATS.get(element.__class__):
        return entry[2]
    raise TargetError(f"the cpu target has no values of type {type}")


def is_float(type: Attribute) -> bool:
    return element_of(type).__class__ in _FLOATS


def _word(type: Attribute, column: int) -> str:
    """A column of `_FLOATS` for an element; integers have the same name in all columns."""
    element = element_of(type)
    entry = _FLOATS.get(element.__class__)
    return str(entry[column]) if entry else f"i{bits_of(element)}"


@once
def llvm_type(type: Attribute) -> str:
    """The type of a value in a register: `double`, `i1`, `<8 x float>`."""
    lanes, word = lanes_of(type), _word(type, 0)
    return word if lanes is None else f"<{lanes} x {word}>"


@once
def memory_type(type: Attribute) -> str:
    """The type of a value in memory: the same, except that a bool is a byte, and a complex number a pair."""
    if isinstance(type, ComplexType):
        return f"[2 x {llvm_type(type.element_type)}]"
    if bits_of(type) != 1:
        return llvm_type(type)
    lanes = lanes_of(type)
    return "i8" if lanes is None else f"<{lanes} x i8>"


@once
def suffix(type: Attribute) -> str:
    """The suffix of an overloaded intrinsic's name: `f64`, `v8f64`, `i32`."""
    lanes, word = lanes_of(type), _word(type, 1)
    return word if lanes is None else f"v{lanes}{word}"


@once
def byte_size(type: Attribute) -> int:
    """Bytes of one element in memory."""
    if isinstance(type, ComplexType):
        return 2 * byte_size(type.element_type)
    return max(1, bits_of(type) // 8)


@once
def alignment(type: Attribute) -> int:
    """The alignment of an element in memory: a complex number is aligned like its parts, as in NumPy."""
    return byte_size(type.element_type) if isinstance(type, ComplexType) else byte_size(type)


@once
def element_name(type: Attribute) -> str:
    """MLIR's name of an element type, without signedness, as used to describe slots."""
    if isinstance(type, ComplexType):
        return f"complex<{suffix(type.element_type)}>"
    return suffix(element_of(type))


def float_literal(value: float, type: Attribute) -> str:
    """LLVM's hexadecimal spelling of a float; exact, and the same digits for float and double."""
    if isinstance(type, Float16Type):
        with np.errstate(over="ignore"):
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    if isinstance(type, Float32Type):
        value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _integer_literal(value: int, bits: int) -> str:
    if bits == 1:
        return "true" if value & 1 else "false"
    return str(value)


def scalar_literal(value: float, type: Attribute) -> str:
    if is_float(type):
        return float_literal(value, element_of(type))
    return _integer_literal(int(value), bits_of(type))


def filled(value: float, type: Attribute) -> str:
    """A scalar literal, or a vector literal with `value` in all lanes."""
    literal = scalar_literal(value, type)
    return literal if lanes_of(type) is None else f"splat ({llvm_type(element_of(type))} {literal})"


@once
def literal(value: Attribute) -> str:
    """The literal of a constant attribute, scalar or vector."""
    if isinstance(value, IntegerAttr):
        return _integer_literal(value.value.data, bits_of(value.type))
    if isinstance(value, FloatAttr):
        return float_literal(value.value.data, value.type)
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(value.type, VectorType):
        values = value.get_values()
        if all(v is values[0] for v in values) or len(set(map(repr, values))) == 1:
            return filled(values[0], value.type)
        word = llvm_type(value.type.element_type)
        return "<" + ", ".join(f"{word} {scalar_literal(v, value.type)}" for v in values) + ">"
    raise TargetError(f"the cpu target has no constants such as {value}")


def constant_bytes(value: DenseIntOrFPElementsAttr) -> bytes:
    """The memory of a constant array: C order, one byte per bool, always 0 or 1."""
    data = value.data.data
    if isinstance(value.type.element_type, ComplexType):
        return data
    if bits_of(value.type.element_type) == 1:
        return (np.frombuffer(data, np.uint8) != 0).tobytes()
    return data
