"""Disjoint sets of items that are joined (union-find). Each set has a record.

Reads: nothing. Writes: nothing. Leaves: groups, and one record for each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Groups(Generic[Record]):
    """new: the record of a single item. absorb: adds the second record to the first when their groups are joined."""

    def __init__(self, new: Callable[[], Record], absorb: Callable[[Record, Record], None]) -> None:
        self._new, self._absorb = new, absorb
        self._parent: dict[Hashable, Hashable] = {}
        self._records: dict[Hashable, Record] = {}

    def of(self, item: Hashable) -> Record:
        """The record of the item's group; at first the item is alone in it."""
        return self._records[self._root(item)]

    def are_one(self, item: Hashable, other: Hashable) -> bool:
        return self._root(item) is self._root(other)

    def join(self, item: Hashable, other: Hashable) -> None:
        """Merge two groups into one. It keeps the record of `item`, into which the other record is absorbed."""
        root, absorbed = self._root(item), self._root(other)
        if root is not absorbed:
            self._absorb(self._records[root], self._records.pop(absorbed))
            self._parent[absorbed] = root

    def _root(self, item: Hashable) -> Hashable:
        parent = self._parent
        if item not in parent:
            parent[item] = item
            self._records[item] = self._new()
            return item
        while parent[item] is not item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item
