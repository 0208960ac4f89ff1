"""What a specialisation is made for: the structure of the arguments and, of each leaf, what the code depends on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from mlirad import tree


class Layout(Enum):
    """How an array lies in memory: row-major, column-major, or with other strides. What is both counts as C."""

    C = "C"
    F = "F"
    STRIDED = "strided"


@dataclass(frozen=True, slots=True)
class ArrayLeaf:
    """An ndarray, 0-d ones too."""

    dtype: np.dtype
    shape: tuple[int, ...]
    layout: Layout = Layout.C
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class ScalarLeaf:
    """A number whose value is not known. weak: it came from Python, and takes the dtype of what it meets."""

    dtype: np.dtype
    weak: bool


@dataclass(frozen=True, slots=True)
class StaticLeaf:
    """A value that the code is specialised on: a str, None, function..., or a number that is needed statically."""

    value: Any

    def _key(self) -> tuple[type, Any]:
        # 1, 1.0 and True are equal in Python, -0.0 and 0.0 too, and nan is not: floats are compared by their text.
        return type(self.value), repr(self.value) if isinstance(self.value, float) else self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


LeafSpec = ArrayLeaf | ScalarLeaf | StaticLeaf


@dataclass(frozen=True)
class Signature:
    """`structure` is that of `(args, kwargs)`; `leaves` describes its leaves in order."""

    structure: tree.Structure
    leaves: tuple[LeafSpec, ...]

    def argument_of(self) -> list[int | str]:
        """For each leaf, the positional number or the keyword of the argument that it belongs to."""
        assert isinstance(self.structure, tree.Node)
        positional, keywords = self.structure.children
        assert isinstance(positional, tree.Node) and isinstance(keywords, tree.Node)
        owners: list[int | str] = []
        for number, child in enumerate(positional.children):
            owners += [number] * tree.count(child)
        for keyword, child in zip(keywords.keys or (), keywords.children, strict=True):
            owners += [keyword] * tree.count(child)
        return owners

    def with_static(self, values: Mapping[int, Any]) -> Signature:
        """The same with the leaves of these numbers known."""
        changed = [StaticLeaf(values[i]) if i in values else leaf for i, leaf in enumerate(self.leaves)]
        return Signature(self.structure, tuple(changed))


_PYTHON_DTYPE = {bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)}
_KINDS = "biuf"


def layout_of(array: np.ndarray) -> Layout:
    flags = array.flags
    return Layout.C if flags.c_contiguous else Layout.F if flags.f_contiguous else Layout.STRIDED


def leaf_of(value: Any) -> LeafSpec:
    """What the code depends on of a leaf.

    Raises TypeError for what cannot be compiled: dtypes other than bool, intN, uintN, float32 and float64, and
    byte-swapped arrays.
    """
    if isinstance(value, np.ndarray):
        _require_dtype(value.dtype)
        return ArrayLeaf(value.dtype, value.shape, layout_of(value), not value.flags.writeable)
    if isinstance(value, np.generic):
        _require_dtype(value.dtype)
        return ScalarLeaf(value.dtype, weak=False)
    dtype = _PYTHON_DTYPE.get(type(value))
    if dtype is not None:
        return ScalarLeaf(dtype, weak=True)
    if isinstance(value, complex):
        raise TypeError("complex numbers are not supported")
    return StaticLeaf(value)


def _require_dtype(dtype: np.dtype) -> None:
    if dtype.kind not in _KINDS or dtype.itemsize > 8 or dtype == np.float16:
        raise TypeError(f"dtype {dtype} is not supported; use bool, int8..int64, uint8..uint64, float32 or float64")
    if not dtype.isnative:
        raise TypeError(f"dtype {dtype} is byte-swapped; convert it: x.astype(x.dtype.newbyteorder('='))")


_LAYOUT_AND_ACCESS = 0x403
"""Of `ndarray.flags.num`: C-contiguous, F-contiguous, writeable."""


def key_of(args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[int | str], leaves: list[Any]) -> Hashable:
    """A key that is equal for two calls just where their signatures are, made at a fraction of the cost of one.

    The leaves are appended to `leaves`. Nothing is refused here: what has no signature has a key of its own.
    """
    if not static:
        found = [_key(value, leaves) for value in args]
        if kwargs:
            found.append(dict)  # no positional argument has this key
            found += [(name, _key(value, leaves)) for name, value in kwargs.items()]
        return tuple(found)
    found = [_static_key(value, leaves) if i in static else _key(value, leaves) for i, value in enumerate(args)]
    found.append(dict)
    for name, value in kwargs.items():
        found.append((name, _static_key(value, leaves) if name in static else _key(value, leaves)))
    return tuple(found)


def _static_key(value: Any, leaves: list[Any]) -> Hashable:
    leaves.append(value)
    return StaticLeaf(value)


def _key(value: Any, leaves: list[Any]) -> Hashable:
    kind = type(value)
    if kind is np.ndarray:
        leaves.append(value)
        # Whether it is F-contiguous too follows from shape and C-contiguity.
        return kind, value.dtype, value.shape, value.flags.num & _LAYOUT_AND_ACCESS
    if kind is tuple or kind is list:
        return kind, *[_key(item, leaves) for item in value]
    if kind in _PYTHON_DTYPE:
        leaves.append(value)
        return kind
    inner = tree.children(value)
    if inner is not None:
        return kind, inner[0], *[_key(item, leaves) for item in inner[1]]
    leaves.append(value)
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype, value.shape, value.flags.num & _LAYOUT_AND_ACCESS
    return (np.generic, value.dtype) if isinstance(value, np.generic) else StaticLeaf(value)


def signature_of(args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[int | str] = ()) -> Signature:
    """The signature of a call; the arguments `static` (positions or keywords) are leaves of known value."""
    held = [StaticLeaf(value) if number in static else value for number, value in enumerate(args)]
    named = {key: StaticLeaf(value) if key in static else value for key, value in kwargs.items()}
    found, structure = tree.flatten(
        (tuple(_Opaque.wrap(held)), dict(zip(named, _Opaque.wrap(named.values()), strict=True)))
    )
    return Signature(structure, tuple(leaf.leaf if isinstance(leaf, _Opaque) else leaf_of(leaf) for leaf in found))


class _Opaque:
    """Keeps a static argument from being taken apart: it is one leaf, whatever it is."""

    def __init__(self, leaf: StaticLeaf):
        self.leaf = leaf

    @classmethod
    def wrap(cls, values: Any) -> list[Any]:
        return [cls(value) if isinstance(value, StaticLeaf) else value for value in values]
