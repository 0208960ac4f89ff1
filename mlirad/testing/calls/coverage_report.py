"""`mlirad coverage`: the table of coverage.json, for a function or for the calls in a file.

Reads: coverage.json; the ast of a file, which is not run. Writes: nothing. Gives: lines to print, and the refused
calls.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlirad.frontend.program import coverage

_MODULES = {"numpy": "np", "scipy.special": "special", "math": "math", "operator": "operator"}
_CLASSES = {"f64": "float64", "f32": "float32", "int": "integers", "bool": "booleans"}
_DERIVATIVES = {"r": "reverse", "f": "forward", "s": "second"}
# Methods of these classes may have the same name as a method of arrays.
_OTHERS = frozenset(name for kind in (str, bytes, list, tuple, dict, set, int, float, type(math)) for name in dir(kind))


@dataclass(frozen=True)
class Found:
    """A call that is not compiled, or only in part."""

    line: int
    column: int
    text: str
    is_refused: bool


def of_text(source: str, filename: str = "<text>") -> tuple[list[Found], int]:
    """The calls in a program that are not compiled, or only in part, in line order, and the number of calls of
    functions in the table. Raises SyntaxError."""
    tree = ast.parse(source, filename)
    homes = dict(_imports(tree))
    found: list[Found] = []
    count = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call | ast.Subscript):
            continue
        name = _name(node.func if isinstance(node, ast.Call) else node.value, homes)
        if name is None or not _is_listed(name):
            continue
        count += 1
        keywords = [each.arg for each in node.keywords if each.arg] if isinstance(node, ast.Call) else []
        said = _said(name, keywords)
        if said is not None:
            found.append(Found(node.lineno, node.col_offset + 1, *said))
    return sorted(found, key=lambda each: (each.line, each.column)), count


def of_file(path: Path) -> tuple[list[str], int]:
    """The lines to print on a file, and the exit code: 1 if a call in it is not compiled."""
    found, count = of_text(path.read_text(encoding="utf-8"), str(path))
    lines = [f"{path}:{each.line}:{each.column}: {'' if each.is_refused else 'note: '}{each.text}" for each in found]
    refused = sum(each.is_refused for each in found)
    lines.append(f"{count} calls of public functions; {refused} not compiled, {len(found) - refused} in part")
    return lines, 1 if refused else 0


def of_name(name: str) -> tuple[list[str], int]:
    """The lines to print on a function, and the exit code: 1 if it is not compiled."""
    name = _canonical(name) or name
    row = coverage.rows().get(name)
    if row is None:
        hint = coverage.hint(name)
        return [f"{name} is not in the table" if hint is None else f"{name}: {hint}"], 1
    lines = [f"{row['call']}"] if row["call"] else [name]
    for kind, title in _CLASSES.items():
        letters = row.get(kind, "")
        words = ["value" if "v" in letters else "", *(word for each, word in _DERIVATIVES.items() if each in letters)]
        said = ", ".join(filter(None, words)) or ("not defined in NumPy" if letters == "-" else "refused")
        lines.append(f"  {title:10}{said}")
    lines += [f"  refused ({place}): {why}" for place, why in row.get("why", {}).items()]
    if row.get("keywords"):
        lines.append(f"  refused keywords: {', '.join(row['keywords'])}")
    return lines, 0 if coverage.is_compiled(row) else 1


def summary() -> list[str]:
    """How many functions of each group are compiled."""
    lines: list[str] = []
    for group, rows in coverage.table()["groups"].items():
        compiled = sum(map(coverage.is_compiled, rows.values()))
        lines.append(f"{compiled:5} of {len(rows):4}  {group}")
    return [*lines, f"{coverage.PAGE} has the table."]


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The imported names of a file, with their dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (first := alias.name.partition(".")[0], first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _name(used: ast.expr, homes: Mapping[str, str]) -> str | None:
    """The table's name for an expression: for an imported function, or for a method that only arrays have."""
    path: list[str] = []
    node = used
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in homes:
        return _canonical(".".join([homes[node.id], *path]))
    is_method = isinstance(used, ast.Attribute) and used.attr not in _OTHERS
    return f"x.{path[-1]}" if is_method and f"x.{path[-1]}" in coverage.rows() else None


def _canonical(dotted: str) -> str | None:
    for module, short in _MODULES.items():
        if dotted.startswith(module + "."):
            return short + dotted[len(module) :]
    return None


def _is_listed(name: str) -> bool:
    return name in coverage.rows() or coverage.hint(name) is not None


def _said(name: str, keywords: list[str]) -> tuple[str, bool] | None:
    """The text to print about a call, and whether it is refused; None if there is nothing to say."""
    row: Mapping[str, Any] = coverage.rows().get(name, {})
    shown = f"the array method .{name[2:]}()" if name.startswith("x.") else name
    if not coverage.is_compiled(row):
        instead = row.get("instead") or (None if row else coverage.hint(name))
        return f"{shown} is not compiled" + ("" if instead is None else f": {instead}"), True
    refused = [each for each in keywords if each in row.get("keywords", ())]
    if refused:
        return f"{shown}({refused[0]}=) is not compiled", True
    # Not of booleans: NumPy computes most functions of them in float16.
    whys: Mapping[str, str] = row.get("why", {})
    lacking = [f"{title} ({whys[f'{kind} v']})" for kind, title in list(_CLASSES.items())[:3] if f"{kind} v" in whys]
    if lacking:
        return f"{shown} is not compiled for {', '.join(lacking)}", False
    missing = [word for each, word in _DERIVATIVES.items() if f"f64 {each}" in whys]
    return (f"{shown} has no derivative ({', '.join(missing)})", False) if missing else None
