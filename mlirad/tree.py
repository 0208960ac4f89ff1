"""Pytrees: tuples, lists, dicts, named tuples, dataclasses, matrices of scipy.sparse and NumPy's random generators.

No class needs to be registered."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Leaf:
    """The structure of a leaf."""

    def __repr__(self) -> str:
        return "*"


@dataclass(frozen=True, slots=True, repr=False)
class Node:
    """The structure of a container: its class, its keys (or field names), and the structures of its items."""

    kind: type
    keys: tuple[Any, ...] | None
    children: tuple[Structure, ...]

    def __repr__(self) -> str:
        """Python's syntax, for messages: `(*, [*, *])`."""
        items = [repr(each) for each in self.children]
        if self.kind is dict and self.keys is not None:
            return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip(self.keys, items, strict=True)) + "}"
        if self.kind is list:
            return f"[{', '.join(items)}]"
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(items)}{',' if len(items) == 1 and not name else ''})"


Structure = Leaf | Node
LEAF = Leaf()


class SparseParts(tuple[str, ...]):
    """The keys of a matrix of scipy.sparse: the names of its arrays, the data first; and its shape."""

    shape: tuple[int, ...]

    def __new__(cls, names: Sequence[str], shape: Sequence[int]) -> SparseParts:
        made = super().__new__(cls, names)
        made.shape = tuple(map(int, shape))
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is SparseParts and tuple.__eq__(self, other) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((tuple(self), self.shape))

    def __reduce__(self) -> Any:
        return SparseParts, (tuple(self), self.shape)


_COMPRESSED, _COORDINATES = ("data", "indices", "indptr"), ("data", "row", "col")
_SPARSE = {
    f"{form}_{kind}": _COORDINATES if form == "coo" else _COMPRESSED
    for form in ("csr", "csc", "coo")
    for kind in ("array", "matrix")
}


def sparse_names(kind: type) -> tuple[str, ...] | None:
    """The names of the arrays of a matrix of scipy.sparse; None for other classes."""
    names = _SPARSE.get(kind.__name__)
    return names if names is not None and kind.__module__.startswith("scipy.sparse.") else None


# --- random generators ------------------------------------------------------------------------------------------

GENERATOR_WORDS = "_bitgen_words"
"""The name of a generator's only item in compiled code."""
WORDS, SCRATCH = 32, 5
"""How many words a generator's item has, and the number of the first word after its `bitgen_t`."""


class GeneratorParts(tuple[str, ...]):
    """The keys of a `numpy.random.Generator`. Its only item is an array of words (int64): a copy of its `bitgen_t`,
    which points to its state, and zeros, which are scratch memory for NumPy's C functions."""

    def __reduce__(self) -> Any:
        return GeneratorParts, (tuple(self),)


class _Words(bytearray):
    """The memory of a generator's words."""

    generator: Any


_KEYS_OF_GENERATOR = GeneratorParts((GENERATOR_WORDS,))
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def is_generator(kind: type) -> bool:
    """Whether a class is `numpy.random.Generator`."""
    return kind.__name__ == "Generator" and kind.__module__ == "numpy.random._generator"


def words_of(generator: Any) -> np.ndarray:
    """The words of a generator: a separate array that no other code may write, and that keeps the generator alive."""
    held = _Words(WORDS * 8)
    held.generator = generator
    address = _pointer_in(generator.bit_generator.capsule, b"BitGenerator")
    held[: SCRATCH * 8] = ctypes.string_at(address or 0, SCRATCH * 8)
    words = np.frombuffer(held, np.int64)
    words.flags.writeable = False
    return words


def is_words(value: Any) -> bool:
    """Whether an array is the words of a generator."""
    base = value.base if type(value) is np.ndarray else None
    return isinstance(base, memoryview) and isinstance(base.obj, _Words)


def generator_of(words: np.ndarray) -> Any:
    """The generator of these words. Raises TypeError for other arrays."""
    if not is_words(words):
        raise TypeError("a random generator cannot be made of an array")
    held: Any = words.base
    return held.obj.generator


def children(value: Any) -> tuple[tuple[Any, ...] | None, Sequence[Any]] | None:
    """(keys, items) of a container, or None for a leaf. Dicts keep their order."""
    kind = type(value)
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return None, value
    if isinstance(value, dict) and kind is dict:
        return tuple(value), list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return names, [getattr(value, name) for name in names]
    parts = sparse_names(kind)
    if parts is None:
        return (_KEYS_OF_GENERATOR, [words_of(value)]) if is_generator(kind) else None
    matrix: Any = value
    return None if len(matrix.shape) != 2 else (SparseParts(parts, matrix.shape), [getattr(matrix, x) for x in parts])


def build(kind: type, keys: tuple[Any, ...] | None, items: Sequence[Any]) -> Any:
    """A container of class `kind`."""
    if kind is tuple or kind is list:
        return kind(items)
    if keys is None:
        return kind(*items)
    if isinstance(keys, SparseParts):
        data, *places = items
        return kind((data, tuple(places)) if keys[1] == "row" else tuple(items), shape=keys.shape)
    if isinstance(keys, GeneratorParts):
        return None if items[0] is None else generator_of(items[0])  # a generator has no cotangent
    named = dict(zip(keys, items, strict=True))
    return named if kind is dict else kind(**named)


# --- pytrees ----------------------------------------------------------------------------------------------------


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a pytree, in order, and its structure. Raises TypeError for a container that contains itself."""
    found: list[Any] = []
    try:
        return found, _flatten(value, found)
    except RecursionError:
        require_finite(value)
        raise


def require_finite(value: Any) -> None:
    """Raises TypeError if a container of a pytree contains itself."""
    around: dict[int, Any] = {}
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        each, is_left = pending.pop()
        if is_left:
            del around[id(each)]
        elif id(each) in around:
            raise TypeError(f"a {type(each).__name__} that contains itself is passed; keep the reference outside")
        elif (inner := children(each)) is not None:
            around[id(each)] = each
            pending.append((each, True))
            pending += [(item, False) for item in inner[1]]


def _flatten(value: Any, found: list[Any]) -> Structure:
    inner = children(value)
    if inner is None:
        found.append(value)
        return LEAF
    keys, items = inner
    return Node(type(value), keys, tuple(_flatten(item, found) for item in items))


def opaque_kind_in(structure: Structure) -> type | None:
    """The class of a sparse matrix, or of a random generator, in a structure, if there is one."""
    if isinstance(structure, Leaf):
        return None
    if isinstance(structure.keys, SparseParts | GeneratorParts):
        return structure.kind
    return next(filter(None, (opaque_kind_in(child) for child in structure.children)), None)


def of_tangents(structure: Structure) -> Structure:
    """The structure of the tangents of a pytree with this structure: a random generator becomes one leaf, None."""
    if isinstance(structure, Leaf) or isinstance(structure.keys, GeneratorParts):
        return LEAF
    return Node(structure.kind, structure.keys, tuple(of_tangents(child) for child in structure.children))


def flatten_up_to(structure: Structure, value: Any) -> list[Any]:
    """The parts of `value` at the leaves of `structure`, which may be containers themselves."""
    if isinstance(structure, Leaf):
        return [value]
    inner = children(value)
    if inner is None or type(value) is not structure.kind or inner[0] != structure.keys:
        raise ValueError(f"{type(value).__name__} where the structure has {structure.kind.__name__}")
    pairs = zip(structure.children, inner[1], strict=True)
    return [leaf for child, item in pairs for leaf in flatten_up_to(child, item)]


def unflatten(structure: Structure, found: Sequence[Any]) -> Any:
    """The pytree with this structure and these leaves. Raises ValueError if their number is wrong."""
    rest = iter(found)
    try:
        value = _unflatten(structure, rest)
    except StopIteration:
        raise ValueError(f"{len(found)} leaves are too few for {structure}") from None
    for _ in rest:
        raise ValueError(f"{len(found)} leaves are too many for {structure}")
    return value


def _unflatten(structure: Structure, rest: Iterator[Any]) -> Any:
    if isinstance(structure, Leaf):
        return next(rest)
    # A list: in a generator, StopIteration would become a RuntimeError.
    items = [next(rest) if isinstance(child, Leaf) else _unflatten(child, rest) for child in structure.children]
    return build(structure.kind, structure.keys, items)


def leaves(value: Any) -> list[Any]:
    """The leaves of a pytree, in order."""
    return flatten(value)[0]


def map(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """Applies `function` to corresponding leaves of pytrees. Raises ValueError if their structures differ."""
    first, structure = flatten(value)
    columns = [first]
    for other in others:
        column, other_structure = flatten(other)
        if other_structure != structure:
            raise ValueError(f"pytrees differ in structure: {structure} and {other_structure}")
        columns.append(column)
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def count(structure: Structure) -> int:
    """How many leaves a structure has."""
    return 1 if isinstance(structure, Leaf) else sum(count(child) for child in structure.children)
