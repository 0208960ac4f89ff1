"""The syntax trees of the package's files, which the tests of the house rules share.

Reads: the files of `mlirad`. Writes: nothing. Gives: trees, and their nodes.
"""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "mlirad"


@cache
def trees() -> dict[Path, ast.Module]:
    """The tree of each file, which stays: the collector need not look at a million nodes again."""
    found = {path: ast.parse(path.read_text(), str(path)) for path in sorted(PACKAGE.rglob("*.py"))}
    gc.freeze()
    return found


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, the outer ones first. `ast.walk` would look for them in each test."""
    return tuple(ast.walk(tree))
