"""The common element of a list that a loop appends to: one type and one shape for all elements.

Reads: values. Writes: nothing. Leaves: an Element, which describes one array for each leaf of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlirad.frontend.join.numbers import number_dtype
from mlirad.frontend.values.sizes import is_static
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Ref, Static, Tuple, Value

_FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class NumberElement:
    """A Python number, if weak, or a NumPy number."""

    dtype: np.dtype
    weak: bool
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class ArrayElement:
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """A tuple (keys is None), list, dict or dataclass."""

    kind: type
    keys: tuple[Hashable, ...] | None
    parts: tuple[Element, ...]


LeafElement = NumberElement | ArrayElement
Element = LeafElement | Group
EntryOf = Callable[[Object], Entry]


def element_of(value: Value, entry_of: EntryOf) -> Element | None:
    """A value as an element; None if it cannot be stored in an array."""
    match value:
        case Static() | Traced():
            is_bool_too = isinstance(value, Traced) and value.several is not None and bool in value.several.kinds
            if is_bool_too or (isinstance(value, Traced) and value.is_array):
                return None
            known = number_dtype(value)
            return None if known is None else NumberElement(*known)
        case Ref():
            if not value.ndim or not is_static(value.shape) or 0 in value.shape:
                return None
            return ArrayElement(value.dtype, tuple(value.shape))
        case Tuple():
            return _group(value.kind, None, value.items, entry_of)
        case Object():
            entry = entry_of(value)
            if entry.poison is not None or entry.growth is not None or entry.borrowed is not None:
                return None
            return _group(entry.kind, entry.keys, entry.items, entry_of)
    return None


def _group(kind: type, keys: tuple[Hashable, ...] | None, items: Sequence[Value], entry_of: EntryOf) -> Group | None:
    parts = [element_of(item, entry_of) for item in items]
    known = tuple(part for part in parts if part is not None)
    return Group(kind, keys, known) if len(known) == len(parts) and parts else None


def joined(a: Element, b: Element) -> Element | None:
    """The common element of two; None: they have no common type and shape."""
    if a == b:
        return a
    if isinstance(a, NumberElement) and isinstance(b, NumberElement):
        return NumberElement(_FLOAT, False) if a.dtype == b.dtype == _FLOAT else None
    if isinstance(a, Group) and isinstance(b, Group):
        if (a.kind, a.keys, len(a.parts)) != (b.kind, b.keys, len(b.parts)):
            return None
        parts = [joined(x, y) for x, y in zip(a.parts, b.parts, strict=True)]
        known = tuple(part for part in parts if part is not None)
        return Group(a.kind, a.keys, known) if len(known) == len(parts) else None
    return None


def element_of_list(entry: Entry, entry_of: EntryOf) -> Element | None:
    """The common element of a list; None: there is none, or the list is empty."""
    if entry.growth is not None:
        return entry.growth.element
    found: Element | None = None
    for number, item in enumerate(entry.items):
        element = element_of(item, entry_of)
        found = element if number == 0 or found is None or element is None else joined(found, element)
        if found is None:
            return None
    return found


def common_element(left: Entry, right: Entry, left_of: EntryOf, right_of: EntryOf) -> Element | None:
    """The common element of a list in two states; None: it cannot grow in arrays."""
    if (left.kind, right.kind) != (list, list) or left.borrowed is not None:
        return None
    found = [
        element_of_list(entry, entry_of)
        for entry, entry_of in ((left, left_of), (right, right_of))
        if entry.items or entry.growth is not None
    ]
    known = [element for element in found if element is not None]
    if not known or len(known) < len(found):
        return None
    return known[0] if len(known) == 1 else joined(*known)


def leaves(element: Element) -> Iterator[LeafElement]:
    if isinstance(element, Group):
        for part in element.parts:
            yield from leaves(part)
    else:
        yield element
