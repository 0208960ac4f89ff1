"""Memrefs in registers: static sizes and strides are Python numbers, dynamic ones are names of LLVM values.

Reads: memref types and SSA names. Writes: descriptors, their dynamic parts, and typed addresses. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ComplexType,
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from mlirad.errors import TargetError
from mlirad.targets.cpu.emit.lines import Lines
from mlirad.targets.cpu.emit.llvm_types import llvm_type, memory_type
from mlirad.xdsl_support.once_per_object import once

INDEX = IndexType()


def is_literal(word: str) -> bool:
    """Whether an operand is a number, not an SSA name."""
    return word[0] != "%"


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """The static parts of a memref's type. None: known only at run time. `strides` is None for the identity layout."""

    element: Attribute
    sizes: tuple[int | None, ...]
    offset: int | None
    strides: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class MemRef:
    """A memref: element (i, j) is at `pointer` + offset + i*strides[0] + j*strides[1], counted in elements.

    Offset, sizes and strides are decimal literals or SSA names.
    """

    element: Attribute
    pointer: str
    offset: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]

    def parts(self, type: MemRefType) -> list[tuple[str, str]]:
        """(LLVM type, name) of every dynamic part of `type`: the values that a phi, a call or a select carries."""
        facts = facts_of(type)
        words = [("ptr", self.pointer)]
        if facts.offset is None:
            words.append(("i64", self.offset))
        words += [("i64", word) for word, known in zip(self.sizes, facts.sizes, strict=True) if known is None]
        if facts.strides is not None:
            words += [("i64", word) for word, known in zip(self.strides, facts.strides, strict=True) if known is None]
        return words


@dataclass(frozen=True, slots=True)
class Parts:
    """The words of the two parts of a complex number."""

    re: str
    im: str


Value = str | Parts | MemRef


@once
def facts_of(type: MemRefType) -> TypeFacts:
    sizes = tuple(None if size == DYNAMIC_INDEX else size for size in type.get_shape())
    layout = type.layout
    if isinstance(layout, NoneAttr):
        return TypeFacts(type.element_type, sizes, 0, None)
    if isinstance(layout, StridedLayoutAttr):
        return TypeFacts(type.element_type, sizes, layout.get_offset(), tuple(layout.get_strides()))
    if isinstance(layout, AffineMapAttr) and layout.data == AffineMap.identity(len(sizes)):
        return TypeFacts(type.element_type, sizes, 0, None)
    raise TargetError(f"the cpu target has no memrefs laid out as {type}")


@once
def part_types(type: Attribute) -> tuple[str, ...]:
    """The LLVM types that carry a value of this type."""
    if isinstance(type, ComplexType):
        return (llvm_type(type.element_type),) * 2
    if not isinstance(type, MemRefType):
        return (llvm_type(type),)
    facts = facts_of(type)
    dynamic = (facts.offset is None) + facts.sizes.count(None) + (facts.strides or ()).count(None)
    return ("ptr", *["i64"] * dynamic)


def to_parts(value: Value, type: Attribute) -> list[tuple[str, str]]:
    """(LLVM type, name) of a value's dynamic parts."""
    if isinstance(value, MemRef):
        assert isinstance(type, MemRefType)
        return value.parts(type)
    if isinstance(value, Parts):
        assert isinstance(type, ComplexType)
        word = llvm_type(type.element_type)
        return [(word, value.re), (word, value.im)]
    return [(llvm_type(type), value)]


def from_parts(lines: Lines, type: Attribute, words: Iterator[str]) -> Value:
    """The value with the next of `words` as dynamic parts. May emit the strides that its sizes imply."""
    if isinstance(type, ComplexType):
        return Parts(next(words), next(words))
    if not isinstance(type, MemRefType):
        return next(words)
    facts = facts_of(type)
    pointer = next(words)
    offset = next(words) if facts.offset is None else str(facts.offset)
    sizes = tuple(next(words) if size is None else str(size) for size in facts.sizes)
    if facts.strides is None:
        strides = row_major(lines, sizes)
    else:
        strides = tuple(next(words) if stride is None else str(stride) for stride in facts.strides)
    return MemRef(facts.element, pointer, offset, sizes, strides)


def row_major(lines: Lines, sizes: Sequence[str]) -> tuple[str, ...]:
    """The strides of a C-contiguous array."""
    strides: list[str] = []
    stride = "1"
    for size in reversed(sizes):
        strides.append(stride)
        if len(strides) < len(sizes):
            stride = multiply(lines, stride, size)
    return tuple(reversed(strides))


def multiply(lines: Lines, a: str, b: str) -> str:
    if is_literal(a) and is_literal(b):
        return str(int(a) * int(b))
    if a == "0" or b == "0":
        return "0"
    if a == "1" or b == "1":
        return b if a == "1" else a
    return lines.pure(f"mul nsw i64 {a}, {b}", a, b)


def add(lines: Lines, a: str, b: str) -> str:
    if is_literal(a) and is_literal(b):
        return str(int(a) + int(b))
    if a == "0" or b == "0":
        return b if a == "0" else a
    return lines.pure(f"add nsw i64 {a}, {b}", a, b)


def linear(lines: Lines, memref: MemRef, indices: Sequence[str]) -> str:
    """The distance of an element from the pointer, in elements."""
    position = memref.offset
    for index, stride in zip(indices, memref.strides, strict=True):
        position = add(lines, position, multiply(lines, index, stride))
    return position


def address(lines: Lines, memref: MemRef, indices: Sequence[str], *, is_masked: bool = False) -> str:
    """A typed pointer to an element. With a mask, the pointer may be outside of the array, so it is not `inbounds`."""
    if not lines.is_in_vector_loop:
        return _moved(lines, memref, memref.pointer, linear(lines, memref, indices), is_inside=not is_masked)
    # In steps: first the loop-invariant part, then the varying part, and last a constant, which instructions can
    # encode.
    known, fixed, varying = 0, "0", "0"
    strides = memref.strides
    for word in (memref.offset, *[multiply(lines, *pair) for pair in zip(indices, strides, strict=True)]):
        if is_literal(word):
            known += int(word)
        elif lines.varies(word):
            varying = add(lines, varying, word)
        else:
            fixed = add(lines, fixed, word)
    steps = [step for step in (fixed, varying, str(known)) if step != "0"]
    is_inside = not is_masked and (len(steps) == 1 or _is_forward(memref))
    pointer = memref.pointer
    for step in steps:
        pointer = _moved(lines, memref, pointer, step, is_inside=is_inside)
    return pointer


def _is_forward(memref: MemRef) -> bool:
    """Whether every step towards an element stays inside the array."""
    return all(is_literal(word) and int(word) >= 0 for word in (memref.offset, *memref.strides))


def _moved(lines: Lines, memref: MemRef, pointer: str, step: str, *, is_inside: bool) -> str:
    """A pointer advanced by `step` elements."""
    if step == "0":
        return pointer
    flag = " inbounds" if is_inside else ""
    text = f"getelementptr{flag} {memory_type(memref.element)}, ptr {pointer}, i64 {step}"
    return lines.pure(text, pointer, step)
