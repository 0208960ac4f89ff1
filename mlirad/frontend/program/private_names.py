"""Mangles the private names of classes as Python does: in `class Model`, `self.__weights` is `self._Model__weights`.

Reads and writes: an ast, in place. Leaves: no private name under its short spelling.
"""

from __future__ import annotations

import ast
import re

_PRIVATE = re.compile(r"\b__\w*(?<!__)\b")


def has_private_names(text: str) -> bool:
    """Whether a text may mention a private name."""
    return _PRIVATE.search(text) is not None


def mangle(tree: ast.AST, owner: str | None = None) -> None:
    """Mangle the private names in a tree. `owner`: the class that contains it."""
    for child in ast.iter_child_nodes(tree):
        inner = owner
        if isinstance(child, ast.ClassDef):
            inner = child.name.lstrip("_") or None
        if inner is None:
            mangle(child, None)
            continue
        match child:
            case ast.Name():
                child.id = _spelled(child.id, inner)
            case ast.Attribute():
                child.attr = _spelled(child.attr, inner)
            case ast.arg() | ast.keyword() if child.arg is not None:
                child.arg = _spelled(child.arg, inner)
            case ast.FunctionDef():
                child.name = _spelled(child.name, inner)
            case ast.Global() | ast.Nonlocal():
                child.names = [_spelled(name, inner) for name in child.names]
            case ast.alias():
                child.asname = None if child.asname is None else _spelled(child.asname, inner)
        mangle(child, inner)


def _spelled(name: str, owner: str) -> str:
    is_private = name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner}{name}" if is_private else name
