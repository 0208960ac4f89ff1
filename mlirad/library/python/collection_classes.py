"""`collections.deque` and `defaultdict`, in Python: classes that are interpreted like the user's classes.

Reads: nothing. Writes: nothing. Leaves: classes that behave like those of `collections` inside a function. Their
objects are not returned: the caller would get another class.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from mlirad.library.spells import spells


class Deque:
    """`deque`: a list with a largest length."""

    stands_for = deque
    returned_as = "list(...)"

    def __init__(self, iterable: Any, maxlen: Any):
        self.items = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, x: Any, /) -> None:
        if self.maxlen is not None:
            if self.maxlen == 0:
                return
            if len(self.items) >= self.maxlen:
                self.items.pop(0)
        self.items.append(x)

    def appendleft(self, x: Any, /) -> None:
        if self.maxlen is not None:
            if self.maxlen == 0:
                return
            if len(self.items) >= self.maxlen:
                self.items.pop()
        self.items.insert(0, x)

    def extend(self, iterable: Any, /) -> None:
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable: Any, /) -> None:
        for x in iterable:
            self.appendleft(x)

    def pop(self) -> Any:
        if len(self.items) == 0:
            raise IndexError("pop from an empty deque")
        return self.items.pop()

    def popleft(self) -> Any:
        if len(self.items) == 0:
            raise IndexError("pop from an empty deque")
        return self.items.pop(0)

    def rotate(self, n: int = 1, /) -> None:
        size = len(self.items)
        if size > 0:
            for _ in range(n % size):
                self.items.insert(0, self.items.pop())

    def clear(self) -> None:
        self.items = []

    def copy(self) -> Any:
        return Deque(self.items, self.maxlen)

    def reverse(self) -> None:
        self.items.reverse()

    def __iter__(self) -> Any:
        return iter(self.items)

    def __reversed__(self) -> Any:
        return reversed(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, x: Any) -> bool:
        return x in self.items

    def __getitem__(self, index: Any) -> Any:
        _require_number(index)
        return self.items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        _require_number(index)
        self.items[index] = value

    def __delitem__(self, index: Any) -> None:
        _require_number(index)
        del self.items[index]


def _require_number(index: Any) -> None:
    if isinstance(index, slice):
        raise TypeError("sequence index must be integer, not 'slice'")


@spells("collections.deque", complex=True)
def deque_of(iterable: Any = (), maxlen: Any = None) -> Deque:
    return Deque(iterable, maxlen)


class DefaultDict:
    """`defaultdict`: a dict that makes missing items."""

    stands_for = defaultdict
    returned_as = "dict(...)"

    def __init__(self, default_factory: Any, stored: Any):
        self.default_factory = default_factory
        self.stored = stored

    def __getitem__(self, key: Any) -> Any:
        if key not in self.stored:
            if self.default_factory is None:
                raise KeyError(key)
            self.stored[key] = self.default_factory()
        return self.stored[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.stored[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.stored[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.stored

    def __iter__(self) -> Any:
        return iter(self.stored)

    def __reversed__(self) -> Any:
        return reversed(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def keys(self) -> Any:
        return self.stored.keys()

    def values(self) -> Any:
        return self.stored.values()

    def items(self) -> Any:
        return self.stored.items()

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self.stored.get(key, default)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        return self.stored.setdefault(key, default)

    def pop(self, key: Any, /, *default: Any) -> Any:
        return self.stored.pop(key, *default)

    def update(self, *others: Any, **named: Any) -> None:
        self.stored.update(*others, **named)

    def clear(self) -> None:
        self.stored = {}

    def copy(self) -> Any:
        return DefaultDict(self.default_factory, self.stored.copy())


@spells("collections.defaultdict", complex=True)
def defaultdict_of(default_factory: Any = None, *others: Any, **named: Any) -> DefaultDict:
    return DefaultDict(default_factory, dict(*others, **named))
