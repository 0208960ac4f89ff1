"""The signature of a specialisation: the structure of the arguments, and what the code depends on in each leaf."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import FunctionType, MappingProxyType, ModuleType, UnionType
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.errors import DEVIATIONS


class Layout(Enum):
    """How an array lies in memory: row-major, column-major, or with other strides. An array that is both counts as
    C."""

    C = "C"
    F = "F"
    STRIDED = "strided"


@dataclass(frozen=True, slots=True)
class ArrayLeaf:
    """An ndarray, including 0-d arrays."""

    dtype: np.dtype
    shape: tuple[int, ...]
    layout: Layout = Layout.C
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class ScalarLeaf:
    """A number with an unknown value. weak: it came from Python, and takes the dtype of the other operand."""

    dtype: np.dtype
    weak: bool


@dataclass(frozen=True, slots=True)
class StaticLeaf:
    """A value that the code is specialised on: a str, None, function..., or a number that must be known statically.

    is_declared: named in static_argnums or static_argnames, so compared by `==`. Other mutable objects are compared by
    identity: two objects that are equal now may differ when the code runs.
    """

    value: Any
    is_declared: bool = False

    def _key(self) -> tuple[type, Any]:
        value = self.value
        # 1, 1.0 and True are equal in Python, so are -0.0 and 0.0, but nan is not: floats are compared by their text.
        if isinstance(value, float | np.floating):
            return type(value), text_of_number(value)
        return type(value), id(value) if not self.is_declared and may_change(value) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


_CHANGING = (bytearray, memoryview, set, MappingProxyType)
_UNCHANGING = (numbers.Number, str, bytes, tuple, frozenset, Enum, type, UnionType, FunctionType, ModuleType)
_HOMES_OF_UNCHANGING = ("builtins", "numpy", "math", "mlirad", "functools", "operator", "datetime", "pathlib", "re")


def may_change(value: Any) -> bool:
    """Whether an object may behave differently in operators and functions at the next call."""
    if isinstance(value, _CHANGING):
        return True
    return not isinstance(value, _UNCHANGING) and type(value).__module__.split(".")[0] not in _HOMES_OF_UNCHANGING


# Static values that Python's `is` and `==` do not distinguish as needed: True and 1, 0.0 and -0.0, nan and nan.
NUMBERS = (int, float, complex, np.generic)
COMPARABLE = (str, bytes, tuple, range, slice, np.dtype)


def text_of_number(value: Any) -> str:
    """A text that differs for any two of NUMBERS. (The `repr` of a derived class may say anything.)"""
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    kinds: tuple[Any, ...] = (int, float, complex)
    return next(kind.__repr__(value) for kind in kinds if isinstance(value, kind))


def is_same_static(a: Any, b: Any) -> bool:
    """Whether two objects known at compile time are the same to the code."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, NUMBERS):
        return text_of_number(a) == text_of_number(b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(is_same_static(x, y) for x, y in zip(a, b, strict=True))
    return isinstance(a, COMPARABLE) and a == b


LeafSpec = ArrayLeaf | ScalarLeaf | StaticLeaf


@dataclass(frozen=True)
class Signature:
    """`structure` is the structure of `(args, kwargs)`; `leaves` describes its leaves in order."""

    structure: tree.Structure
    leaves: tuple[LeafSpec, ...]

    def argument_of(self) -> list[int | str]:
        """For each leaf, the positional number or the keyword of its argument."""
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
        """The same signature with the leaves of these numbers known."""
        changed = [StaticLeaf(values[i]) if i in values else leaf for i, leaf in enumerate(self.leaves)]
        return Signature(self.structure, tuple(changed))


PYTHON_DTYPES = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
"""The dtypes in which code holds Python's numbers."""
_KINDS = "biufc"


def weak_kind(dtype: np.dtype) -> type:
    """bool, int, float or complex: the Python number that a dtype holds."""
    return {"b": bool, "f": float, "c": complex}.get(dtype.kind, int)


def layout_of(array: np.ndarray) -> Layout:
    flags = array.flags
    return Layout.C if flags.c_contiguous else Layout.F if flags.f_contiguous else Layout.STRIDED


def as_passed(value: Any) -> Any:
    """A leaf as code takes it: for an object with `__array_interface__` or `__dlpack__`, an array of the same memory.

    Raises TypeError for an array that is not in the memory of the processor.
    """
    if isinstance(value, np.ndarray | np.generic | type):
        return value
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if not hasattr(value, "__dlpack__"):
        return value
    kind = type(value).__name__
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"an object of class {kind} cannot be passed as an array: {error}") from None
    # Older DLPack cannot say whether memory is writeable; if the object itself gives the same memory, that can.
    other = np.asarray(value) if not array.flags.writeable and hasattr(value, "__array__") else array
    is_same = other.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    return other if is_same and (other.shape, other.strides) == (array.shape, array.strides) else array


def leaf_of(value: Any) -> LeafSpec:
    """The properties of a leaf that the code depends on.

    Raises TypeError for unsupported leaves: dtypes other than bool, intN, uintN, floatN of 16 to 64 bits and complexN
    of 64 and 128 bits, byte-swapped arrays, and subclasses of ndarray with operators of their own.
    """
    value = as_passed(value)
    if isinstance(value, np.ndarray):
        dtype = _required_dtype(value.dtype)
        if not is_plain_array(value):
            kind = type(value).__name__
            raise TypeError(
                f"{kind} is a subclass of ndarray with operators of its own; pass np.asarray(x) (see {DEVIATIONS})"
            )
        return ArrayLeaf(dtype, value.shape, layout_of(value), not value.flags.writeable)
    if isinstance(value, np.generic):
        return ScalarLeaf(_required_dtype(value.dtype), weak=False)
    dtype = PYTHON_DTYPES.get(type(value))
    if dtype is not None:
        return ScalarLeaf(dtype, weak=True)
    return StaticLeaf(value)


def is_plain_array(value: Any) -> bool:
    """Whether a value is an array, and not of a class that gives NumPy's operations another meaning, as np.matrix."""
    return type(value) is np.ndarray or (isinstance(value, np.ndarray) and _means_the_same(type(value)))


_HARMLESS = ("new", "init", "del", "module", "doc", "dict", "weakref", "array_finalize", "reduce", "setstate", "repr")


@cache
def _means_the_same(kind: type) -> bool:
    """Whether a subclass of ndarray computes like ndarray."""
    if kind is np.ndarray or kind is np.memmap:
        return True
    changed = {name for name in vars(kind) if hasattr(np.ndarray, name)} - {f"__{name}__" for name in _HARMLESS}
    return not changed and all(_means_the_same(base) for base in kind.__bases__ if issubclass(base, np.ndarray))


def _required_dtype(dtype: np.dtype) -> np.dtype:
    """NumPy's own object for a dtype: an unpickled array has another object, which is equal to it."""
    if dtype.kind not in _KINDS or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        known = "bool, int8..int64, uint8..uint64, float16..float64, complex64 or complex128"
        raise TypeError(f"dtype {dtype} is not supported; use {known}")
    if not dtype.isnative:
        raise TypeError(f"dtype {dtype} is byte-swapped; convert it: x.astype(x.dtype.newbyteorder('='))")
    return np.dtype(dtype.char)


_LAYOUT_AND_ACCESS = 0x403
"""Of `ndarray.flags.num`: C-contiguous, F-contiguous, writeable."""


def key_and_leaves(
    args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[int | str]
) -> tuple[Hashable, list[Any]]:
    """A key that is equal for two calls exactly if their signatures are equal, and the leaves of the arguments.

    It takes a fraction of the time of a signature. Only a container that contains itself is refused (TypeError): a call
    without a signature has its own key.
    """
    try:
        return _key_and_leaves(args, kwargs, static)
    except RecursionError:
        tree.require_finite([*args, *kwargs.values()])
        raise


def _key_and_leaves(
    args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[int | str]
) -> tuple[Hashable, list[Any]]:
    leaves: list[Any] = []
    if not static:
        keys = [_key(value, leaves) for value in args]
        if kwargs:
            keys.append(dict)  # no positional argument has this key
            keys += [(name, _key(value, leaves)) for name, value in kwargs.items()]
        return tuple(keys), leaves
    keys = [_static_key(value, leaves) if i in static else _key(value, leaves) for i, value in enumerate(args)]
    keys.append(dict)
    for name, value in kwargs.items():
        keys.append((name, _static_key(value, leaves) if name in static else _key(value, leaves)))
    return tuple(keys), leaves


def _static_key(value: Any, leaves: list[Any]) -> Hashable:
    leaves.append(value)
    made = StaticLeaf(value, is_declared=True)
    try:
        hash(made)
    except TypeError as error:
        raise TypeError(f"a static argument must be hashable, such as a tuple in place of a list: {error}") from None
    return made


def _key(value: Any, leaves: list[Any]) -> Hashable:
    """The key of one argument. Appends its leaves to `leaves`."""
    kind = type(value)
    if kind is np.ndarray:
        leaves.append(value)
        # Shape and C-contiguity determine whether it is also F-contiguous.
        return kind, value.dtype, value.shape, value.flags.num & _LAYOUT_AND_ACCESS
    if kind is tuple or kind is list:
        return kind, *[_key(item, leaves) for item in value]
    if kind in PYTHON_DTYPES:
        leaves.append(value)
        return kind
    inner = tree.children(value)
    if inner is not None:
        return kind, inner[0], *[_key(item, leaves) for item in inner[1]]
    value = as_passed(value)
    leaves.append(value)
    if isinstance(value, np.ndarray):
        kind = np.ndarray if is_plain_array(value) else kind
        return kind, value.dtype, value.shape, value.flags.num & _LAYOUT_AND_ACCESS
    return (np.generic, value.dtype) if isinstance(value, np.generic) else StaticLeaf(value)


def signature_of(args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[int | str] = ()) -> Signature:
    """The signature of a call; the arguments `static` (positions or keywords) are leaves of known value.

    Raises TypeError, with the argument, for unsupported leaves.
    """
    held = [StaticLeaf(value, True) if number in static else value for number, value in enumerate(args)]
    named = {key: StaticLeaf(value, True) if key in static else value for key, value in kwargs.items()}
    found, structure = tree.flatten(
        (tuple(_Opaque.wrap(held)), dict(zip(named, _Opaque.wrap(named.values()), strict=True)))
    )
    try:
        leaves = tuple(leaf.leaf if isinstance(leaf, _Opaque) else leaf_of(leaf) for leaf in found)
    except TypeError as error:
        given = (*((f"argument {number}", value) for number, value in enumerate(held)), *named.items())
        refused = next((name for name, value in given if not _has_leaves(value)), None)
        raise TypeError(str(error) if refused is None else f"{refused}: {error}") from None
    return Signature(structure, leaves)


def _has_leaves(argument: Any) -> bool:
    """Whether an argument has only supported leaves."""
    if isinstance(argument, StaticLeaf):
        return True
    try:
        for leaf in tree.flatten(argument)[0]:
            leaf_of(leaf)
    except TypeError:
        return False
    return True


def leaves_of(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The leaves of a call's arguments, in the order of the signature."""
    leaves = tree.flatten_up_to(signature.structure, (tuple(args), dict(kwargs)))
    pairs = zip(signature.leaves, leaves, strict=True)
    return [as_passed(leaf) if isinstance(spec, ArrayLeaf) else leaf for spec, leaf in pairs]


class _Opaque:
    """Keeps a static argument whole: it is one leaf, whatever it is."""

    def __init__(self, leaf: StaticLeaf):
        self.leaf = leaf

    @classmethod
    def wrap(cls, values: Any) -> list[Any]:
        return [cls(value) if isinstance(value, StaticLeaf) else value for value in values]
