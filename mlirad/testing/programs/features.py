"""The features of a program's text: its control flow, writes, views and functions.

Reads: source text. Writes: nothing. Leaves: names of features. The judge and the program add features that the text
does not show (derivatives, layouts of arguments).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from mlirad.testing.programs.program import COMMON

Feature = tuple[str, Callable[[Any], bool]]
_LOOPS = (ast.For, ast.While)


def features_of(source: str) -> set[str]:
    """The features of the functions in a text, except for the functions of `program.py`, which every program has."""
    found: set[str] = set()
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef) and function.name not in COMMON:
            nodes = list(ast.walk(function))
            for node in nodes:
                for name, holds in _FEATURES.get(type(node), ()):
                    if name not in found and holds(node):
                        found.add(name)
            found |= _of_function(function, nodes)
            for statement in function.body:
                _nests(statement, found, in_loop=False, in_branch=False)
    return found


def pairs_of(features: set[str]) -> Iterator[tuple[str, str]]:
    return combinations(sorted(features), 2)


def _is_call(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _range(node: ast.AST) -> list[ast.expr]:
    """The arguments of `range`."""
    return node.args if isinstance(node, ast.Call) and _is_call(node, "range") else []


def _is_method(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def _is_draw(node: ast.AST) -> bool:
    """Whether a method of a generator is called."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == "rng"


def _slices(node: ast.AST) -> list[ast.Slice]:
    if not isinstance(node, ast.Subscript):
        return []
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [part for part in parts if isinstance(part, ast.Slice)]


def _is_view(node: ast.AST) -> bool:
    is_transposed = isinstance(node, ast.Attribute) and node.attr == "T"
    return bool(_slices(node)) or is_transposed or _is_method(node, "reshape", "ravel")


def _is_traced(node: ast.AST | None) -> bool:
    return node is not None and any(isinstance(each, ast.Name) for each in ast.walk(node))


def _is_negative(node: ast.AST | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _written(node: ast.AST) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []


def _bound(node: ast.AST, holds: Callable[[ast.expr], bool]) -> bool:
    """Whether a name is bound to such a value."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and holds(node.value)


def _permuted(node: ast.AST, count: int) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return False
    sides = node.targets[0], node.value
    texts = [sorted(map(ast.unparse, side.elts)) if isinstance(side, ast.Tuple) else [] for side in sides]
    return texts[0] == texts[1] and len(texts[0]) == count


def _overlaps(node: ast.AST) -> bool:
    """Whether a slice of an array is written from another part of the same array."""
    if not isinstance(node, ast.Assign | ast.AugAssign) or not isinstance(target := _written(node)[0], ast.Subscript):
        return False
    written = ast.unparse(target.value)
    parts = (each for each in ast.walk(node.value) if isinstance(each, ast.Subscript))
    return bool(_slices(target)) and any(ast.unparse(each.value) == written for each in parts)


def _is_reversed(node: ast.expr) -> bool:
    return any(_is_negative(part.step) for part in _slices(node))


def _is_list_at_place_of_data(node: ast.expr) -> bool:
    """Whether an item of a list is written at a place like `int(q[j]) % 3`."""
    return isinstance(node, ast.Subscript) and any(_is_call(each, "int") for each in ast.walk(node.slice))


def _always(_: object) -> bool:
    return True


_WRITES: tuple[Feature, ...] = (
    (
        "element write",
        lambda node: any(isinstance(each, ast.Subscript) and not _slices(each) for each in _written(node)),
    ),
    ("slice write", lambda node: any(_slices(each) for each in _written(node))),
    ("strided write", lambda node: any(part.step is not None for each in _written(node) for part in _slices(each))),
    ("overlapping write", lambda node: _overlaps(node)),
    ("list written where the run says", lambda node: any(map(_is_list_at_place_of_data, _written(node)))),
)
_LOOP_ELSE: Feature = ("loop else", lambda node: bool(node.orelse))
_FEATURES: dict[type[ast.AST], tuple[Feature, ...]] = {
    ast.For: (
        ("for", _always),
        ("for over an array", lambda node: isinstance(node.iter, ast.Name | ast.Subscript)),
        _LOOP_ELSE,
    ),
    ast.While: (("while", _always), _LOOP_ELSE),
    ast.Try: (("try", _always),),
    ast.If: (("if", _always), ("elif", lambda node: len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If))),
    ast.IfExp: (("conditional expression", _always),),
    ast.BoolOp: (("short circuit", _always),),
    ast.Compare: (("chained comparison", lambda node: len(node.ops) > 1),),
    ast.Break: (("break", _always),),
    ast.Continue: (("continue", _always),),
    ast.Nonlocal: (("nonlocal", _always),),
    ast.Dict: (("dict", _always),),
    ast.AugAssign: (("update in place", _always), *_WRITES),
    ast.Assign: (
        *_WRITES,
        ("swap", lambda node: _permuted(node, 2)),
        ("rotation", lambda node: _permuted(node, 3)),
        ("view", lambda node: _bound(node, _is_view)),
        ("reference by branch", lambda node: _bound(node, _is_reference)),
        ("alias", lambda node: _bound(node, lambda value: isinstance(value, ast.Name))),
        ("tuple", lambda node: _bound(node, lambda value: isinstance(value, ast.Tuple))),
        ("list", lambda node: _bound(node, lambda value: isinstance(value, ast.List))),
    ),
    ast.Subscript: (
        ("view of a view", lambda node: bool(_slices(node)) and _is_view(node.value)),
        ("moving view", lambda node: any(_is_traced(part.lower) for part in _slices(node))),
        ("traced length", lambda node: any(map(_is_window, _slices(node)))),
        ("mask", lambda node: isinstance(node.slice, ast.Compare | ast.UnaryOp) and not _is_negative(node.slice)),
        ("selection", lambda node: isinstance(node.slice, ast.Name) and node.slice.id[0] == "k"),
        ("index array", lambda node: isinstance(node.slice, ast.List) or _is_remainder_of(node.slice, "q")),
    ),
    ast.Name: (("captured start", lambda node: node.id in ("START", "CONFIG")),),
    ast.Attribute: (
        ("narrow dtype", lambda node: node.attr in ("int8", "uint8", "uint64")),
        ("cast", lambda node: node.attr == "astype"),
        ("transpose", lambda node: node.attr == "T"),
        ("int of NumPy", lambda node: node.attr == "int64"),
        ("accumulation at indices", lambda node: node.attr == "at"),
        ("where", lambda node: node.attr == "where"),
        ("part of a complex number", lambda node: node.attr in ("real", "imag")),
        ("checkpointed", lambda node: node.attr == "checkpointed"),
    ),
    ast.Constant: (("complex number", lambda node: isinstance(node.value, complex)),),
    ast.BinOp: (
        ("integer division", lambda node: isinstance(node.op, ast.FloorDiv | ast.Mod)),
        ("product", lambda node: isinstance(node.op, ast.MatMult)),
    ),
    ast.Call: (
        ("traced bounds", lambda node: any(map(_is_traced, _range(node)))),
        ("negative step", lambda node: any(map(_is_negative, _range(node)[2:]))),
        ("enumerate", lambda node: _is_call(node, "enumerate")),
        ("zip", lambda node: _is_call(node, "zip")),
        ("reversed", lambda node: _is_call(node, "reversed")),
        ("callback", lambda node: _is_call(node, "apply")),
        ("dataclass", lambda node: _is_call(node, "Record2")),
        ("composed closures", lambda node: _is_call(node, "compose", "twice", "shifted")),
        ("appended list", lambda node: _is_method(node, "append")),
        ("heap", lambda node: _is_method(node, "heappush")),
        ("reversed copy", lambda node: _is_method(node, "copy") and _is_reversed(node.func.value)),
        ("hidden state", lambda node: _is_method(node, "uniform", "rand") and not _is_draw(node)),
        ("draw", lambda node: _is_draw(node)),
        ("number of NumPy", lambda node: _is_method(node, "int8", "uint8", "uint64", "float32")),
        ("reshape", lambda node: _is_method(node, "reshape", "ravel")),
    ),
}


def _is_remainder_of(node: ast.expr, name: str) -> bool:
    """Whether an expression begins with `name %`."""
    while isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod):
        node = node.left
    return isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and node.left.id == name


def _base(node: ast.expr) -> ast.expr:
    """What is indexed."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_window(part: ast.Slice) -> bool:
    """Whether the length of a slice depends on a name (not so `i:i + 3`)."""
    return _is_traced(part.upper) != _is_traced(part.lower)


def _is_reference(value: ast.expr) -> bool:
    """Whether a value is one of two arrays."""
    if not isinstance(value, ast.IfExp):
        return False
    return any(isinstance(each, ast.Name) or _is_view(each) for each in (value.body, value.orelse))


def _nests(node: ast.stmt, found: set[str], in_loop: bool, in_branch: bool) -> None:
    """The nesting of statements."""
    is_loop = isinstance(node, _LOOPS)
    if is_loop and in_loop:
        found.add("loop in a loop")
    if is_loop and in_branch:
        found.add("loop in a branch")
    if in_loop and _bound(node, _is_view):
        found.add("view made in a loop")
    if isinstance(node, ast.FunctionDef):
        found.add("closure")
    if isinstance(node, ast.Return) and (in_loop or in_branch):
        found.add("early return")
    for inner in (*getattr(node, "body", ()), *getattr(node, "orelse", ())):
        _nests(inner, found, in_loop or is_loop, in_branch or isinstance(node, ast.If))


def _of_function(function: ast.FunctionDef, nodes: list[ast.AST]) -> set[str]:
    found: set[str] = set()
    names = {arg.arg for arg in function.args.args}
    bases = [_base(each) for node in nodes for each in _written(node)]
    stores = {base.id for base in bases if isinstance(base, ast.Name)}
    if any(_is_call(node, function.name) for node in nodes):
        found.add("recursion")
    elif function.name not in ("f", "apply"):
        found.add("helper")
        if names & stores:
            found.add("helper writes")
    rows = (n for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name))
    if any(node.target.id.startswith("r") for node in rows if isinstance(node.target, ast.Name)):
        found.add("rows")
    if function.name == "f" and {"g"} & names:
        found.add("float32")
    if any(isinstance(node, ast.Return) and _returns_an_array(node) for node in nodes):
        found.add("array returned")
    if function.name == "f" and {"h"} & names:
        found.add("three axes")
    if function.name == "f" and {"e"} & names:
        found.add("array of one element")
    if function.name == "f" and {"q"} & names:
        found.add("array of ints")
    if any(isinstance(node, ast.If) and _binds_maybe(node) for node in nodes):
        found.add("bound on some paths")
    return found


def _returns_an_array(node: ast.Return) -> bool:
    """Whether the name of an array is returned: an argument, a new array or a view."""
    values = node.value.elts if isinstance(node.value, ast.Tuple) else []
    return any(isinstance(each, ast.Name) and each.id[0] in "xyzmwehtv" for each in values)


def _binds_maybe(node: ast.If) -> bool:
    first = node.body[0]
    return isinstance(first, ast.Assign) and isinstance(name := first.targets[0], ast.Name) and name.id.startswith("u")
