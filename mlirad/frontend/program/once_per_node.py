"""A function's result for a node of an ast, kept with the node, so that a program's text is forgotten with the program.

Reads: nodes. Writes: entries of a node's `__dict__`, which are no fields. Leaves: what `ast` knows of a node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)
_Answer = TypeVar("_Answer")


def once(compute: Callable[[_Node], _Answer]) -> Callable[[_Node], _Answer]:
    """The function's answer is computed once for each node, whose fields no longer change."""
    key = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def remembered(node: _Node) -> _Answer:
        known = vars(node)
        try:
            return known[key]
        except KeyError:
            answer = known[key] = compute(node)
            return answer

    return remembered
