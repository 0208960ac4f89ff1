"""A graph of steps that grows while Python runs, and the walk back through it.

Reads: steps, and a cotangent. Writes: only the memory that it releases. Gives: the cotangents of the graph's leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Sequence
from itertools import count
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.errors import CompileError
from mlirad.jit.live.recording import place
from mlirad.jit.live.steps import errors_at
from mlirad.location import SourceLocation

_numbers = count()

Call = Callable[[Any, Any, dict[str, Any], bool], Any]
"""Calls a function and adds the call to the graph: (function, args, named arguments, whether it is compiled)."""


class GraphError(CompileError, RuntimeError):
    """A graph that cannot grow or be walked, with the line of the step in question."""

    def __init__(self, message: str, location: SourceLocation | None = None):
        super().__init__(message, location or place())


class CallNode:
    """A call in the graph; a leaf has no call, and no inputs.

    next_functions: for each input, the node that computed it, and its position among that node's results. call: its
    step, its inputs as the caller holds them, its constants, its pullback and the structure of its result. results:
    their shapes and dtypes. watchers: the receivers of the results' cotangents, by position. tapes: how many tapes
    record it.
    """

    def __init__(self, next_functions: Sequence[tuple[Any, int]] = (), call: Any = None, results: Sequence[Any] = ()):
        self.number, self.location = next(_numbers), place()
        self.next_functions: list[tuple[CallNode, int]] = list(next_functions)
        self.call, self.results = call, results
        self.watchers: dict[int, Any] = {}
        self.tapes = 0

    def cotangents(self, found: Sequence[Any], call: Call | None) -> Sequence[Any]:
        """The cotangents of the inputs, from those of the results; with `call`, as results of a call in the graph."""
        if any(each.number >= self.number for each, _ in self.next_functions):
            raise GraphError("a cycle in the graph: this step depends on its own result", self.location)
        if self.call is None:
            raise GraphError("the memory of this step is released: pass retain_graph=True before", self.location)
        step, inputs, constants, pull, structure = self.call
        pairs = zip(found, self.results, strict=True)
        whole = tree.unflatten(structure, [np.zeros(*like) if each is None else each for each, like in pairs])
        with errors_at(self.location):
            if call is None:
                return pull(whole)
            return call(step.pullback, (whole, *inputs), {"constants": constants}, step.is_compiled)


def sweep(
    begin: tuple[CallNode, int], cotangent: Any, call: Call | None, keep: bool, among: Container[CallNode] | None
) -> dict[CallNode, list[Any]]:
    """The cotangents of leaves, of watched results, and of the results of all nodes in `among`.

    Each node runs once, after all nodes that use it: later nodes have greater numbers. keep: do not release a node's
    memory when it has run. among: the nodes to walk through, besides leaves; None: all.
    """
    found: dict[CallNode, list[Any]] = {}
    queue: list[tuple[int, CallNode]] = []
    onward: list[tuple[tuple[CallNode, int], Any]] = [(begin, cotangent)]
    while onward or queue:
        for (node, index), g in onward:
            if among is None or node in among or not node.next_functions:
                if node not in found:
                    found[node] = [None] * max(len(node.results), 1)
                    heapq.heappush(queue, (-node.number, node))
                found[node][index] = g if found[node][index] is None else found[node][index] + g
        onward = []
        if not queue:
            break
        node = heapq.heappop(queue)[1]
        if node.next_functions:
            onward = list(zip(node.next_functions, node.cotangents(found[node], call), strict=True))
            node.call = node.call if keep else None
            if not node.watchers and among is None:
                del found[node]
    return found
