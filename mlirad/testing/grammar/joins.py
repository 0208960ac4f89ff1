"""Numbers that a branch or a loop may have given another class: the rows on joins in docs/deviations.md.

Reads: the source of a program, a result of plain Python and one of the compiled function. Writes: nothing. Leaves:
which names such numbers may be bound to, and whether two results differ only in their classes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

_BLOCKS = (ast.For, ast.While, ast.If)


def joined_names(source: str) -> frozenset[str]:
    """The names that a loop or a branch binds, and those computed from them."""
    tree = ast.parse(source)
    blocks = [node for node in ast.walk(tree) if isinstance(node, _BLOCKS)]
    found = {name for block in blocks for name in _names(block, ast.Store)}
    bindings = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr)]
    grows = True
    while grows:
        more = {name for node in bindings if _names(node, ast.Load) & found for name in _names(node, ast.Store)} - found
        grows = bool(more)
        found |= more
    return frozenset(found)


def returned_names(source: str) -> Sequence[str]:
    """The names in the tuple that the program's last line returns."""
    last = source.rstrip().rsplit("\n", 1)[-1]
    return [name.strip() for name in last.strip().removeprefix("return").split(",") if name.strip()]


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def is_joined(want: Any, got: Any) -> bool:
    """Whether a result is the wanted number, or an array or container of such, in the class that a join holds: a float
    for an int, an int for a bool, NumPy's for Python's.
    """
    if isinstance(want, tuple | list):
        return type(want) is type(got) and len(want) == len(got) and all(map(is_joined, want, got))
    if isinstance(want, dict):
        return type(got) is dict and list(want) == list(got) and all(is_joined(want[key], got[key]) for key in want)
    if want is None or got is None:
        return want is got
    x, y = np.asarray(want), np.asarray(got)
    if isinstance(want, np.ndarray) != isinstance(got, np.ndarray) or x.shape != y.shape:
        return False
    is_wider = x.dtype == y.dtype or (x.dtype.kind, y.dtype.kind) in {("b", "i"), ("b", "f"), ("i", "f")}
    is_numpys = type(want) in (bool, int, float) and isinstance(got, np.generic)
    same = np.allclose(x, y, rtol=2e-5 if np.float32 in (x.dtype, y.dtype) else 1e-9, atol=0, equal_nan=True)
    return (is_wider or is_numpys) and bool(same)
