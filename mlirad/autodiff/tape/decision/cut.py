"""The minimum cut of a network: Dinic's maximum flow. Knows nothing of IR."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf


@dataclass
class Network:
    """A directed graph with capacities (`inf` allowed), between a source and a sink."""

    source: Hashable
    sink: Hashable
    capacity: dict[Hashable, dict[Hashable, float]] = field(default_factory=dict)

    def edge(self, start: Hashable, end: Hashable, capacity: float) -> None:
        """Add capacity between two nodes; parallel edges add up."""
        out = self.capacity.setdefault(start, {})
        out[end] = out.get(end, 0.0) + capacity
        self.capacity.setdefault(end, {}).setdefault(start, 0.0)

    def cut(self) -> set[Hashable] | None:
        """The source's side of the minimum cut, as small as possible; None if every cut has infinite capacity.

        Consumes the capacities.
        """
        while self.sink in (level := self._levels()):
            order = {node: list(self.capacity[node]) for node in level}
            position = dict.fromkeys(level, 0)
            while pushed := self._augment(level, order, position):
                if pushed == inf:
                    return None
        return set(level)

    def _levels(self) -> dict[Hashable, int]:
        """The distance from the source of every node that flow can still reach."""
        level: dict[Hashable, int] = {self.source: 0}
        queue = deque([self.source])
        while queue:
            node = queue.popleft()
            for following, left in self.capacity.get(node, {}).items():
                if left > 0 and following not in level:
                    level[following] = level[node] + 1
                    queue.append(following)
        return level

    def _augment(
        self, level: dict[Hashable, int], order: dict[Hashable, list[Hashable]], position: dict[Hashable, int]
    ) -> float:
        """Push flow along one shortest path. Returns how much; 0 if there is no path.

        position: the next edge to try at each node; the edges before it are dead ends on these levels.
        """
        path = [self.source]
        while path[-1] != self.sink:
            node = path[-1]
            if position[node] == len(order[node]):
                path.pop()
                if not path:
                    return 0.0
                position[path[-1]] += 1
                continue
            following = order[node][position[node]]
            if self.capacity[node][following] > 0 and level.get(following) == level[node] + 1:
                path.append(following)
            else:
                position[node] += 1
        steps = list(pairwise(path))
        pushed = min(self.capacity[start][end] for start, end in steps)
        for start, end in steps:
            self.capacity[start][end] -= pushed
            self.capacity[end][start] += pushed
        return pushed
